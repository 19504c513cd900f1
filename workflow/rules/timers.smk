"""Timers of Snakemake's scheduler, for which Python would wait at the end: see the limit of jobs in profiles/default."""

import threading


def end_timers():
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()


onsuccess:
    end_timers()
    command_line.print_report(COMPARISON)


onerror:
    end_timers()
