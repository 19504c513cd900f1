from shallows.experiments.running import fork_server

fork_server.hand_over()

from pathlib import Path

from shallows.experiments.running.journal import journal
from shallows.report import page

with journal(snakemake.log[0]):
    tables = [Path(meta).with_suffix("") for meta in snakemake.input.meta]
    pictures = {Path(path).stem: path for path in snakemake.input if path.endswith(".svg")}
    page.write(
        [
            (
                table.with_suffix(".csv"),
                table.with_suffix(".json"),
                table.with_suffix(".html"),
                pictures.get(table.name),
            )
            for table in tables
        ],
        snakemake.output[0],
        getattr(snakemake.input, "findings", ()),
        getattr(snakemake.input, "summaries", ()),
        getattr(snakemake.params, "title", ""),
        getattr(snakemake.params, "leaderboards", None),
    )
    print(f"The report: {Path(snakemake.output[0]).resolve()}", flush=True)
