"""Reading a run: how wrong the learned outputs are, how sure, and what to change when they misbehave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .engine import ChainEngine
from .inference import code_scores, other_codes
from .learner import SSLSOP, Iteration
from .spaces import ListedSpace, OutputSpace

# Outputs are restless when, over the last turns, this share of them still moves in each.
LAST_TURNS = 3
RESTLESS_SHARE = 0.05
# Outputs have collapsed when one of them takes this share, and far more than among those given.
COLLAPSED_SHARE = 0.95


@dataclass(frozen=True)
class Advice:
    """What is wrong with a run, in words, and the parameters that help."""

    text: str
    remedy: dict[str, Any]


def token_starts(X: Any) -> np.ndarray:
    """Where the tokens of each input begin, as the spaces ask for it: n + 1 offsets."""
    if isinstance(X, list):
        return np.concatenate([[0], np.cumsum([x.shape[0] for x in X])]).astype(np.int64)
    return np.arange(X.shape[0] + 1, dtype=np.int64)


def point_losses(space: OutputSpace, codes: np.ndarray, truth: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Delta to the true output, per point: NaN where the truth is unknown, the largest loss where no
    output was reached.

    Parameters
    ----------
    codes, truth : codes of the outputs and of the truth, as the space lays them out.
    """
    told, reached = space.complete(truth, starts), space.known(codes, starts)
    worst = float(space.loss_matrix.max()) if isinstance(space, ListedSpace) else 1.0
    losses = np.full(len(told), np.nan)
    if isinstance(space, ListedSpace):  # codes of inner nodes are no leaves: leave them out
        truth = np.where(told, truth, 0)
    losses[told] = space.losses(codes, truth, starts)[told]
    losses[told & ~reached] = worst
    return losses


def margins(model: SSLSOP) -> np.ndarray:
    """By how much the mean score of each output beats its runner-up; NaN where nothing was reached."""
    engine, space, Y = model._engine, model.space_, model._Y
    starts, k = engine.inputs.starts, engine.graph.k
    pair_weight = engine.share.ravel() * np.repeat(engine.learned, k)
    row_weight = np.repeat(pair_weight, np.diff(engine.at))
    scores = np.zeros((engine.inputs.rows.shape[0], engine.S.shape[1]))
    np.add.at(scores, engine.tokens, row_weight[:, None] * engine.S)
    voted = np.bincount(engine.graph.neighbors.ravel(), pair_weight, minlength=len(engine.inputs))
    result = np.full(len(engine.inputs), np.nan)
    reached = space.known(Y, starts) & (voted > 0)
    if isinstance(engine, ChainEngine):
        voter_starts, voters = engine.voters
        for i in np.flatnonzero(reached):
            pairs = voters[voter_starts[i] : voter_starts[i + 1]]
            T = np.tensordot(pair_weight[pairs], engine.T[pairs // k], axes=1)
            own, ends = slice(starts[i], starts[i + 1]), np.array([0, starts[i + 1] - starts[i]])
            result[i] = _gap(space, scores[own], T, ends, Y[own])[0]
    else:
        q, ends = len(space), np.arange(reached.sum() + 1)
        result[reached] = _gap(space, scores[reached], np.zeros((q, q)), ends, Y[reached])
    return result / np.where(voted > 0, voted, 1.0)


def _gap(space, scores, T, starts, codes) -> np.ndarray:
    other = other_codes(space, scores, T, starts, codes)
    return code_scores(space, scores, T, starts, codes) - code_scores(space, scores, T, starts, other)


def advise(model: SSLSOP) -> Advice | None:
    """The most pressing trouble of the run so far, if there is any."""
    history = model.history_
    n = len(model.graph_.neighbors)
    if model.output_step == "paper" and _restless(history, n):
        moving = history[-1].n_changed / n
        return Advice(
            f"{moving:.0%} of the outputs still change in every iteration. The paper's step holds z fixed "
            "while y moves, which settles only once the scores have outgrown the loss: the exact step does "
            "not have this trouble, and a larger eta helps.",
            {"output_step": "exact"},
        )
    if history and history[-1].n_unreached > 0 and history[-1].n_changed == 0:
        return Advice(
            f"{history[-1].n_unreached} points have no output: no chain of neighborhoods leads to them from "
            "a labelled point. A larger k joins the pieces of the graph.",
            {"k": min(2 * model.k_, n)},
        )
    if history and (name := _collapsed(model)) is not None:
        return Advice(
            f"Nearly every output is {name!r} now, far more than among those given: the predictors have "
            "collapsed. The start from a predictor trained on the labelled points, with the pull towards it, "
            "keeps them apart.",
            {"init": "global", "anchor": True},
        )
    return None


def _restless(history: Sequence[Iteration], n: int) -> bool:
    last = [turn.n_changed / n for turn in history[-LAST_TURNS:]]
    return len(history) > 2 * LAST_TURNS and min(last) > RESTLESS_SHARE


def _collapsed(model: SSLSOP) -> Any:
    """The name of the class or tag that nearly all outputs have become, or None."""
    if model.space_.kind == "labelsets" or len(model.space_) < 2:
        return None
    now, given = _counts(model._Y, len(model.space_)), _counts(model._given, len(model.space_))
    top = int(now.argmax())
    before = given[top] / max(given.sum(), 1)
    collapsed = now[top] > COLLAPSED_SHARE * now.sum() and now[top] / max(now.sum(), 1) > before + 0.1
    return model.space_.names[top] if collapsed else None


def _counts(codes: np.ndarray, q: int) -> np.ndarray:
    return np.bincount(codes[(codes >= 0) & (codes < q)], minlength=q)
