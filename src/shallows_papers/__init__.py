"""The reproduction of the papers: datasets, planned runs, baselines, comparison with published values, report.

It uses the library `shallows` as any other program does. The library never imports this package.
"""
