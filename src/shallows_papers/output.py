"""Output to a reader that may stop reading."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """End the block without a message if the reader of the output, such as ``head``, has closed it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes again at the end, which would print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
