from shallows.experiments.running import fork_server

fork_server.hand_over()

from shallows.datasets.user_data import describe
from shallows.datasets.user_data.request import Request
from shallows.experiments.running.journal import journal

with journal(snakemake.log[0]):
    print(describe.write(Request(**snakemake.params.request), snakemake.output[0])["told"], flush=True)
