from shallows_papers.experiments.running import fork_server

fork_server.hand_over()

from shallows_papers.datasets.user_data import describe
from shallows_papers.datasets.user_data.request import FileRequest
from shallows_papers.experiments.running.journal import journal

with journal(snakemake.log[0]):
    print(describe.write(FileRequest(**snakemake.params.request), snakemake.output[0])["told"], flush=True)
