"""What a new server does once: compile before anybody waits, and keep its memory in order.

The first fit of every kind, and UMAP, take seconds in a new process.
"""

from __future__ import annotations

import threading
import time

from .background import for_ever, step_aside

DELAY = 3.0  # seconds: the first page comes first
TIDY = 15.0  # seconds between two rounds of giving memory back: each halts pages for a fifth of one
SETS = ("blobs", "gaussian_tree", "hmm", "label_mixture")


def start() -> None:
    """Warm up in a thread."""
    threading.Thread(target=_warm_up, daemon=True, name="warm-up").start()


def _warm_up() -> None:
    from . import memory

    memory.keep_together()
    for_ever(memory.give_back, every=TIDY)  # what visitors who left, and forgotten runs, had
    step_aside()
    time.sleep(DELAY)
    from sslsop_core import SSLSOP, datasets

    from . import state

    for name in SETS:
        problem = datasets.load(name, n=40)
        model = SSLSOP(problem.space, k=5, max_iter=2).fit(problem.X, problem.hide(labeled=0.5))
        model.explain(0)
    state.maps().warm_up(problem, model.graph_)
