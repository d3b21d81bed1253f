"""Runs of the Train page, entered into the store when they begin and whenever they come to rest."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from sslsop_core.evaluation import Store, training_settings
from sslsop_core.evaluation.store import NoSuchRunError

from .runs import Run

log = logging.getLogger(__name__)

STATUSES = {
    "running": "unfinished", "finished": "finished", "paused": "stopped", "stopped": "stopped",
    "failed": "failed",
}  # fmt: skip


def keeper(store: Callable[[], Store], owner: str) -> Callable[[Run, str], None]:
    """What a run calls with its status; trouble with the store is told by the run, and does not stop it."""

    def keep(run: Run, status: str) -> None:
        try:
            _enter(store(), owner, run, status)
            run.not_kept = ""
        except NoSuchRunError:
            log.info("a run was deleted from the store while it worked")
        except (ValueError, OSError) as error:
            log.exception("a run could not be entered into the store")
            run.not_kept = str(error)

    return keep


def _enter(store: Store, owner: str, run: Run, status: str) -> None:
    settings = _settings(owner, run)
    if not run.record:
        run.record = store.start("train", run.problem, settings, seed=run.settings.random_state)
    losses = [turn.loss for turn in run.turns if turn.loss is not None]
    curves: dict[str, Any] = {
        "objective": [turn.iteration.objective for turn in run.turns],
        "changed": [turn.iteration.n_changed for turn in run.turns],
        "hidden loss": losses,
    }
    found = {"hidden loss": losses[-1]} if losses else {}
    store.change(
        run.record, status=STATUSES[status], seconds=run.busy_seconds, settings=settings, losses=found,
        curves=curves,
    )  # fmt: skip


def _settings(owner: str, run: Run) -> dict[str, Any]:
    """What opens the run in the app, and what repeats it without."""
    now = run.settings
    repeated = training_settings(
        run.problem, run.model, labeled=now.labeled, seed=now.data_seed, edits=run.relabelings
    )
    return {"app": asdict(now), "owner": owner, "source": run.source, "run": run.id} | repeated
