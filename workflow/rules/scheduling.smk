"""A job starts as soon as there is room for it, and the scheduler sleeps until one ends."""


# Snakemake starts at most 100 jobs in a second unless told otherwise. For the sake of that limit each look at the waiting
# jobs sets a timer for another look a second later, and so does that one: after n jobs it looks n times a second, and
# a run of hours loses a fifth of a core to it. A limit that a person gives is kept.
onstart:
    limiter = workflow.scheduler.job_rate_limiter
    if limiter is not None and (limiter.max_jobs, limiter.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
