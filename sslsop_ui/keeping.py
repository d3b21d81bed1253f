"""Runs of the Train page, entered into the store whenever they come to rest."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from sslsop_core.evaluation import Store

from .runs import Run

log = logging.getLogger(__name__)

STATUSES = {"finished": "finished", "paused": "stopped", "stopped": "stopped"}


def keeper(store: Store, owner: str) -> Callable[[Run, str], None]:
    """What a run calls with its status; trouble with the store is no trouble of the training."""

    def keep(run: Run, status: str) -> None:
        try:
            if run.turns:
                _enter(store, owner, run, status)
        except (ValueError, OSError):
            log.exception("a run could not be entered into the store")

    return keep


def _enter(store: Store, owner: str, run: Run, status: str) -> None:
    if not run.record:
        app = asdict(run.settings)
        settings = {"app": app, "owner": owner, "source": run.source, "run": run.id}
        run.record = store.start("train", run.problem, settings, seed=run.settings.random_state)
    losses = [turn.loss for turn in run.turns if turn.loss is not None]
    curves: dict[str, Any] = {
        "objective": [turn.iteration.objective for turn in run.turns],
        "changed": [turn.iteration.n_changed for turn in run.turns],
        "hidden loss": losses,
    }
    found = {"hidden loss": losses[-1]} if losses else {}
    store.change(run.record, status=STATUSES[status], seconds=run.busy_seconds, losses=found, curves=curves)
