"""Why a point has its output: the neighborhoods that voted and the labelled points behind them.

The score of an output under a local predictor is a sum over the points of its neighborhood,
w_i.Phi(x, y) = sum_j K(x, x_j) alpha_ij[y]. So the score that put the output there can be traced to
points: those with a positive part in it, in proportion. Where such a point was labelled the trace
ends; where it was learned, it goes on from that point's own output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from .engine import ChainEngine, Engine
from .inference import best_codes, code_scores, other_codes
from .labelsets import LabelSets
from .prediction import NewPoints

# The trace stops when this share of the weight is still on its way, or after so many steps.
LEFT_OVER = 1e-3
MOST_STEPS = 100


@dataclass(frozen=True)
class Vote:
    """One neighborhood's vote: its weight, its own best output, its scores of the two finalists.

    `neighborhood` is the training point at its centre, None for a new point's own.
    """

    neighborhood: int | None
    weight: float
    output: Any
    score: float
    runner_up_score: float


@dataclass(frozen=True)
class Explanation:
    """Why a point has its output.

    Attributes
    ----------
    output, runner_up : the output, and the best other under the summed scores (None if there is none).
    votes : one per neighborhood that contains the point, strongest support first.
    sources : pairs (labelled point, weight), largest first; weights sum to 1. Empty if nothing
        labelled supports the output, as for a point never reached.
    """

    output: Any
    runner_up: Any
    votes: tuple[Vote, ...]
    sources: tuple[tuple[int, float], ...]


def explain_training_point(engine: Engine, Y: np.ndarray, given: np.ndarray, i: int) -> Explanation:
    """Through the neighborhoods that contain point i."""
    starts, voters = engine.voters
    pairs = voters[starts[i] : starts[i + 1]]
    pairs = pairs[engine.learned[pairs // engine.graph.k]]
    code = engine.space.take(Y, np.array([i]), engine.inputs.starts)
    blocks = [engine.S[engine.at[p] : engine.at[p + 1]] for p in pairs]
    hoods, weights = (pairs // engine.graph.k).tolist(), engine.share.ravel()[pairs].tolist()
    if np.min(code, initial=-1) < 0 and engine.space.decode(code)[0] is None:
        return Explanation(None, None, (), ())
    mass = np.zeros(len(engine.inputs))
    mass[i] = 1.0
    labeled = engine.space.complete(given, engine.inputs.starts)
    sources = _follow(engine, Y, labeled, mass)
    q = len(engine.space)
    transitions = [engine.T[h] if isinstance(engine, ChainEngine) else np.zeros((q, q)) for h in hoods]
    return _explanation(engine.space, code, blocks, transitions, hoods, weights, sources)


def explain_new_point(points: NewPoints, Y: np.ndarray, given: np.ndarray) -> Explanation:
    """Through the neighborhoods of its nearest training points and, if trained, its own."""
    engine, voices = points.engine, list(points.voices())
    if not voices:
        return Explanation(None, None, (), ())
    code = points.codes()
    indicator = _indicator(engine.space, code)
    mass = np.zeros(len(engine.inputs))
    for voice in voices:
        parts = np.einsum("tq,ts,sq->s", indicator, voice.products, voice.coefficients)
        supporting = (parts > 0) & (voice.owners >= 0)
        np.add.at(mass, voice.owners[supporting], voice.weight * parts[supporting])
    labeled = engine.space.complete(given, engine.inputs.starts)
    sources = _follow(engine, Y, labeled, mass / max(mass.sum(), np.finfo(float).tiny))
    blocks = [voice.products @ voice.coefficients for voice in voices]
    if points.start_scores is not None:
        # All predictors were trained for the same number of turns: w_0 weighs the same in each.
        blocks = [block + engine.start_weight * points.start_scores for block in blocks]
    return _explanation(
        engine.space, code, blocks, [v.transitions for v in voices], [v.neighborhood for v in voices],
        [v.weight for v in voices], sources,
    )  # fmt: skip


def _explanation(space, code, blocks, transitions, hoods, weights, sources) -> Explanation:
    if not blocks:
        return Explanation(space.decode(code, np.array([0, len(code)]))[0], None, (), sources)
    starts = np.array([0, len(blocks[0])])
    total = sum(w * block.astype(float) for w, block in zip(weights, blocks, strict=True))
    total_T = sum(w * T.astype(float) for w, T in zip(weights, transitions, strict=True))
    other = other_codes(space, total, total_T, starts, code)
    votes = [
        Vote(
            hood,
            float(weight),
            space.decode(best_codes(space, block, T, starts), starts)[0],
            float(code_scores(space, block, T, starts, code)[0]),
            float(code_scores(space, block, T, starts, other)[0]),
        )
        for hood, weight, block, T in zip(hoods, weights, blocks, transitions, strict=True)
    ]
    votes.sort(key=lambda vote: vote.weight * (vote.runner_up_score - vote.score))
    runner_up = None if np.array_equal(other, code) else space.decode(other, starts)[0]
    return Explanation(space.decode(code, starts)[0], runner_up, tuple(votes), sources)


def _indicator(space, codes) -> np.ndarray:
    """What an output reads off the scores of its tokens: 1 at its tag, class or labels."""
    if isinstance(space, LabelSets):
        return np.maximum(codes, 0).astype(float)
    marks = np.zeros((len(codes), len(space)))
    known = np.flatnonzero(codes >= 0)
    marks[known, codes[known]] = 1.0
    return marks


def _follow(engine: Engine, Y: np.ndarray, labeled: np.ndarray, mass: np.ndarray):
    """Send the mass on every learned point back to its supporters until it rests on labelled ones."""
    indicator, mixed = _indicator(engine.space, Y), engine.A @ engine.mixing
    rested = np.where(labeled, mass, 0.0)
    moving = mass - rested
    for _ in range(MOST_STEPS):
        if moving.sum() <= LEFT_OVER * mass.sum():
            break
        received = np.zeros_like(moving)
        _pass_back(
            moving, engine.voters[0], engine.voters[1], engine.graph.neighbors, engine.share, engine.at,
            engine.inputs.starts, *engine.gram, indicator, mixed, received,
        )  # fmt: skip
        rested += np.where(labeled, received, 0.0)
        moving = np.where(labeled, 0.0, received)
    found = np.flatnonzero(rested)
    if len(found) == 0:
        return ()
    order = found[np.argsort(-rested[found], kind="stable")]
    return tuple((int(j), float(rested[j] / rested.sum())) for j in order)


@njit(nogil=True, cache=True)
def _pass_back(
    moving, voter_starts, voters, neighbors, share, at, starts, G, gram_at, indicator, mixed, received
):
    """Give the mass of each point to the other points with a positive part in its score."""
    k, q = neighbors.shape[1], mixed.shape[1]
    for i in range(len(moving)):
        if moving[i] <= 0:
            continue
        total = 0.0
        for giving in range(2):  # first the sum of all positive parts, then each point's share of it
            for v in range(voter_starts[i], voter_starts[i + 1]):
                hood, own = voters[v] // k, voters[v]
                top = at[hood * k]
                m = at[(hood + 1) * k] - top
                for pair in range(hood * k, (hood + 1) * k):
                    j = neighbors[hood, pair - hood * k]
                    if j == i:
                        continue
                    part = 0.0
                    for t in range(at[own], at[own + 1]):
                        mine = starts[i] + t - at[own]
                        for s in range(at[pair], at[pair + 1]):
                            product = G[gram_at[hood] + (t - top) * m + s - top]
                            for y in range(q):
                                part += product * indicator[mine, y] * mixed[s, y]
                    part *= share[hood, own - hood * k]
                    if part > 0 and giving == 0:
                        total += part
                    elif part > 0:
                        received[j] += moving[i] * part / total
