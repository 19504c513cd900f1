from shallows.datasets.own import describe
from shallows.datasets.own.request import Request
from shallows.experiments.running.journal import journal

with journal(snakemake.log[0]):
    print(describe.write(Request(**snakemake.params.request), snakemake.output[0])["told"], flush=True)
