"""Memory that visitors leave behind goes back to the system; allocators keep it otherwise.

Where the allocator is not glibc's, there is nothing to do.
"""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

import pyarrow

# Of glibc's malloc.h: how many heaps the threads share, and from how many bytes a block lies outside of them.
M_ARENA_MAX, ARENAS = -8, 2
M_MMAP_THRESHOLD, LARGE = -3, 128 * 1024


def keep_together() -> None:
    """Have all threads share few heaps, and keep large blocks out of them, so that heaps get few holes.

    By itself each thread gets a heap, and what counts as large grows with what was freed, up to 32 MB.
    """
    with suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(M_ARENA_MAX, ARENAS)
        libc.mallopt(M_MMAP_THRESHOLD, LARGE)


def give_back() -> None:
    """Return what has been freed."""
    gc.collect()
    pyarrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
