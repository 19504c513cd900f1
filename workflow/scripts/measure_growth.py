import subprocess
import sys

with open(snakemake.log[0], "w", encoding="utf-8") as log:
    subprocess.run(
        [
            *(sys.executable, snakemake.input.program),
            *("--share", str(snakemake.params.share)),
            *("--seeds", str(snakemake.params.seeds)),
            *("--out", snakemake.output[0]),
        ],
        stdout=log,
        stderr=subprocess.STDOUT,
        check=True,
    )
