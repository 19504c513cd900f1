"""No timers of Snakemake's scheduler, where the user gives no limit of jobs in a timespan.

With a limit, which Snakemake has by default, each look at the waiting jobs sets a timer for another look: a run of hours
would lose a fifth of a core to them, and the end would wait for the last one.
"""

import sys


def set_no_timers():
    """Remove the default limit; to be called when the scheduler exists."""
    if not any("--max-jobs-per" in word for word in sys.argv):
        workflow.scheduler.job_rate_limiter = None
