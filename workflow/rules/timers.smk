"""Timers of Snakemake's scheduler, for which Python would wait at the end: see the limit of jobs in profiles/default."""

import threading


def end_timers():
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()


onsuccess:
    end_timers()


onerror:
    end_timers()
