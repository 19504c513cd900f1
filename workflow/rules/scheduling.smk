"""At the end the scheduler's timers are ended too, for which Python would wait."""

import threading


# See the limit of jobs in a timespan in profiles/default.
def end_timers():
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()


onsuccess:
    end_timers()


onerror:
    end_timers()
