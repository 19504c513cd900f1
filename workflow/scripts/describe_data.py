from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

import sys

from shallows_papers.datasets.user_data import describe
from shallows_papers.datasets.user_data.request import FileRequest
from shallows_papers.experiments.running.journal import journal

with journal(snakemake.log[0]):
    description = describe.write(FileRequest(**snakemake.params.request), snakemake.output[0])
    print(description["told"], file=sys.stderr, flush=True)
