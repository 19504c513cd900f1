"""Touches memory once and gives it back.

A virtual machine's host may have taken back what no process held; the first who asks for it then waits for the host
(seconds a gigabyte were seen). So that no program pays for that, it is done before each measurement of a program that
needs much memory, and before those that it is held against.
"""

import json
import mmap
import sys

n_bytes = json.loads(sys.argv[1])["n_bytes"]
memory = mmap.mmap(-1, n_bytes)
if hasattr(mmap, "MADV_HUGEPAGE"):
    memory.madvise(mmap.MADV_HUGEPAGE)
for place in range(0, n_bytes, mmap.PAGESIZE):
    memory[place] = 1
print(json.dumps({"n_bytes": n_bytes}))
