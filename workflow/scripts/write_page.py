from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows_papers.experiments.running.journal import journal
from shallows_papers.report import page

with journal(snakemake.log[0]):
    pictures = {Path(path).stem: path for path in snakemake.input if path.endswith(".svg")}
    tables = (Path(meta).with_suffix(".csv") for meta in snakemake.input.meta)
    page.write(
        [(table, pictures.get(table.stem)) for table in tables],
        snakemake.output[0],
        getattr(snakemake.input, "findings", ()),
        getattr(snakemake.input, "summaries", ()),
        getattr(snakemake.params, "title", ""),
        getattr(snakemake.params, "leaderboards", None),
        log=next(iter(getattr(snakemake.input, "verdict_log", ())), None),
    )
    print(f"The report: {Path(snakemake.output[0]).resolve()}", flush=True)
