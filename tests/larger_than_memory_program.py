"""Trains on a file of ten times the memory that it may use, and prints what it held: FILE BYTES ROWS."""

import gc
import json
import sys
import threading
import time

import numpy as np

from forms import centers_regressor
from shallows import arrays


def fit(X, centres, **options):
    model = centers_regressor(centers=centres, bandwidth=30.0, alpha=0.0, random_state=0, **options)
    return model.fit(X, np.asarray(X[:, 0], dtype=np.float64))


class Watch(threading.Thread):
    """Notes the peak of the process's own memory, without the pages of files that it maps."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.watching = 0, True

    def run(self):
        while self.watching:
            self.peak = max(self.peak, arrays.resident_memory())
            time.sleep(0.002)


if __name__ == "__main__":
    X = np.load(sys.argv[1], mmap_mode="r")
    # A small fit first, after which all modules and threads are there that a fit needs.
    fit(np.random.default_rng(0).normal(size=(1200, 5)), 50, max_epochs=1)
    gc.collect()
    own = arrays.resident_memory()
    watch = Watch()
    watch.start()
    model = fit(X, 150, max_epochs=1, tol=0.0, memory=own + int(sys.argv[2]))
    watch.watching = False
    watch.join()
    print(json.dumps({"held": watch.peak - own, "losses": model.losses_, "batch": model.report_["batch_size"]}))
