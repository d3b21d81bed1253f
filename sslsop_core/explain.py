"""Why a point has its output: the neighborhoods that voted and the labelled points behind them.

The score of an output under a local predictor is a sum over the points of its neighborhood and, if it
started from one, a shared predictor: w_i.Phi(x, y) = a w_0.Phi(x, y) + sum_j K(x, x_j) alpha_ij[y]. So the
score that put the output there can be traced: to those with a positive part in it, in proportion. At the
shared predictor, which all labelled points trained, the trace ends, and so it does at a labelled point; from
a learned one it goes on from that point's own output.
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
from .starts import partly_given

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
    sources : pairs (labelled point, weight), largest first. Points whose outputs are partly given are among
        them where the trace leads no further.
    shared : the weight of the shared predictor that the local ones started from. It and the weights of the
        sources sum to 1; all are 0 for a point never reached, and for one that nothing but itself supports.
    """

    output: Any
    runner_up: Any
    votes: tuple[Vote, ...]
    sources: tuple[tuple[int, float], ...]
    shared: float = 0.0


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
    sources = _follow(engine, Y, given, mass, 0.0)
    q = len(engine.space)
    transitions = [engine.T[h] if isinstance(engine, ChainEngine) else np.zeros((q, q)) for h in hoods]
    return _explanation(engine.space, code, blocks, transitions, hoods, weights, *sources)


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
    blocks, shared = [voice.products @ voice.coefficients for voice in voices], 0.0
    if points.start_scores is not None:
        # All predictors were trained for the same number of turns: w_0 weighs the same in each.
        start = engine.start_weight * points.start_scores
        blocks = [block + start for block in blocks]
        shared = max(float(np.sum(indicator * _centred(engine.space, start))), 0.0)
    total = max(mass.sum() + shared, np.finfo(float).tiny)
    sources = _follow(engine, Y, given, mass / total, shared / total)
    return _explanation(
        engine.space, code, blocks, [v.transitions for v in voices], [v.neighborhood for v in voices],
        [v.weight for v in voices], *sources,
    )  # fmt: skip


def _explanation(space, code, blocks, transitions, hoods, weights, sources, shared) -> Explanation:
    if not blocks:
        return Explanation(space.decode(code, np.array([0, len(code)]))[0], None, (), sources, shared)
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
    return Explanation(space.decode(code, starts)[0], runner_up, tuple(votes), sources, shared)


def _indicator(space, codes) -> np.ndarray:
    """What an output reads off the scores of its tokens: 1 at its tag or class; of labels, + or - each."""
    if isinstance(space, LabelSets):
        return np.where(codes < 0, 0.0, codes - 0.5)  # a label is absent because its score is negative
    marks = np.zeros((len(codes), len(space)))
    known = np.flatnonzero(codes >= 0)
    marks[known, codes[known]] = 1.0
    return marks


def _centred(space, scores: np.ndarray) -> np.ndarray:
    """Scores as those of the local predictors are: over all classes or tags of a token they sum to 0."""
    return scores if isinstance(space, LabelSets) else scores - scores.mean(axis=1, keepdims=True)


def _start_parts(engine: Engine, indicator: np.ndarray) -> np.ndarray:
    """What w_0 adds to the score that gave each point its output; 0 where it speaks against it."""
    if not len(engine.start_scores):
        return np.zeros(len(engine.inputs))
    own = np.sum(indicator * _centred(engine.space, engine.start_weight * engine.start_scores), axis=1)
    starts, voters = engine.voters
    heard = np.where(engine.learned[voters // engine.graph.k], engine.share.ravel()[voters], 0.0)
    weight = np.concatenate([[0.0], np.cumsum(heard)])[starts]
    return np.maximum(np.add.reduceat(own, engine.inputs.starts[:-1]) * np.diff(weight), 0.0)


def _follow(
    engine: Engine, Y: np.ndarray, given: np.ndarray, mass: np.ndarray, shared: float
) -> tuple[tuple[tuple[int, float], ...], float]:
    """Send the mass on every learned point back to its supporters until it rests.

    Returns
    -------
    sources : the labelled points where it rests, with their weights.
    shared : the weight that rests at the shared predictor, `shared` of which was there before.
    """
    space, starts = engine.space, engine.inputs.starts
    labeled, partly = space.complete(given, starts), partly_given(space, given, starts)
    indicator, mixed = _indicator(space, Y), engine.A @ engine.mixing
    start = _start_parts(engine, indicator)
    everything = mass.sum() + shared
    rested = np.where(labeled, mass, 0.0)
    moving = mass - rested
    for _ in range(MOST_STEPS):
        if moving.sum() <= LEFT_OVER * everything:
            break
        received, stuck = np.zeros_like(moving), np.zeros_like(moving)
        shared += _pass_back(
            moving, *engine.voters, engine.graph.neighbors, engine.share, engine.at, starts, *engine.gram,
            indicator, mixed, start, received, stuck,
        )  # fmt: skip
        rested += np.where(labeled, received, 0.0) + np.where(partly, stuck, 0.0)
        moving = np.where(labeled, 0.0, received)
    rested += np.where(partly, moving, 0.0)
    total = rested.sum() + shared
    if total == 0:
        return (), 0.0
    found = np.flatnonzero(rested)
    order = found[np.argsort(-rested[found], kind="stable")]
    return tuple((int(j), float(rested[j] / total)) for j in order), float(shared / total)


@njit(nogil=True, cache=True)
def _pass_back(
    moving, voter_starts, voters, neighbors, share, at, starts, G, gram_at, indicator, mixed, start, received,
    stuck,
):  # fmt: skip
    """Give the mass of each point to the other points with a positive part in its score, and to w_0.

    Returns what w_0 gets; what has no supporter is stuck.
    """
    k, q = neighbors.shape[1], mixed.shape[1]
    shared = 0.0
    for i in range(len(moving)):
        if moving[i] <= 0:
            continue
        total = start[i]
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
        if total > 0:
            shared += moving[i] * start[i] / total
        else:
            stuck[i] += moving[i]
    return shared
