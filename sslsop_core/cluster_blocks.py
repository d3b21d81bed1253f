"""One block of neighborhoods on a worker of a Dask cluster: pure functions from state to state.

The inputs of a block are the points of its part, then the neighbors that lie in other parts.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .cluster_parts import Hood, join
from .engine import Engine, Start, engine_for
from .estimator import compact
from .inputs import Inputs, tokens_of
from .kernels import Kernel
from .neighbors import Graph, shares
from .shared import Shared
from .spaces import OutputSpace
from .votes import Ballots, Votes, added, cheapest

State = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Reach:
    """The points that a block has a say on.

    Attributes
    ----------
    own : the number of its part, all of whose points it has a say on.
    points : by part, the points in it, numbered within it.
    tokens : where their tokens lie in it.
    edges : where the points of each part begin among the inputs of the block, and end: (parts, 2).
    """

    own: int
    points: list[np.ndarray]
    tokens: list[np.ndarray]
    edges: np.ndarray


def outside(hood: Hood, edges: np.ndarray, own: int) -> list[np.ndarray]:
    """The neighbors of a block that lie in other parts, by part, numbered within it."""
    used = np.unique(hood[0])
    cuts = np.searchsorted(used, edges)
    return [
        used[lo:hi] - edge if part != own else used[:0]
        for part, (lo, hi, edge) in enumerate(zip(cuts, cuts[1:], edges, strict=False))
    ]


def take_for(rows: Inputs, points: list[np.ndarray], part: int) -> tuple[Inputs, np.ndarray]:
    """The inputs that a block needs of another part, and where their tokens lie in it."""
    return rows.take(points[part]), tokens_of(rows.starts, points[part])[0]


def build(
    space: OutputSpace,
    rows: Inputs,
    fetched: list[tuple[Inputs, np.ndarray]],
    hood: Hood,
    points: list[np.ndarray],
    edges: np.ndarray,
    own: int,
    settings: tuple[str, float, Kernel, Shared | None, bool, int],
) -> tuple[Engine, State, Reach]:
    """An engine for the neighborhoods of one part without what changes, the first of that, and its reach."""
    weights, bandwidth, kernel, shared, anchor, seed = settings
    inputs = join([rows, *(there for there, _ in fetched)])
    others = np.concatenate([some + edge for some, edge in zip(points, edges, strict=False)])
    first, m = edges[own], len(rows)
    inside = (hood[0] >= first) & (hood[0] < first + m)
    local = np.where(inside, hood[0] - first, m + np.searchsorted(others, hood[0])).astype(np.int32)
    start = None
    if shared is not None:
        scores = shared.scores(space, inputs)
        start = Start(scores, shared.square_norm, shared.transitions, anchor or shared.anchored)
    share, graph = shares(hood[1], weights, bandwidth), Graph(local, hood[1], bandwidth)
    engine = engine_for(space)(space, inputs, graph, share, kernel, start, seed, 1)
    engine.prepare(None)
    engine.find_two_best()
    state = {name: getattr(engine, name) for name in (*engine.observed, *engine.moved)}
    for name in (*state, "tokens"):
        engine.__dict__.pop(name, None)
    engine.inputs = _without_features(inputs)
    _ = engine.vote_shares, engine._vote_hoods  # with the voters, found once and not in every turn
    return engine, state, _reach(own, rows, points, [tokens for _, tokens in fetched])


def _reach(own: int, rows: Inputs, points: list[np.ndarray], tokens: list[np.ndarray]) -> Reach:
    ends = len(rows) + np.cumsum([0, *map(len, points)])
    edges = np.array([*pairwise(ends)])
    edges[own] = 0, len(rows)
    points, tokens = points.copy(), tokens.copy()
    points[own], tokens[own] = np.arange(len(rows)), np.arange(rows.starts[-1])
    return Reach(own, points, tokens, edges)


def _without_features(inputs: Inputs) -> Inputs:
    """What turns need of the inputs: their lengths and keys. Features have gone into the Gram blocks."""
    bare = Inputs(np.empty((inputs.rows.shape[0], 0), dtype=inputs.rows.dtype), inputs.starts)
    bare.__dict__["keys"] = inputs.keys
    return bare


def _engine_in(engine: Engine, state: State, changing: tuple[str, ...] = ()) -> Engine:
    """The engine in a state; what is going to change is a copy."""
    whole = copy.copy(engine)
    whole.__dict__.update(state)
    for name in changing:
        setattr(whole, name, copy.copy(state[name]))
    return whole


def observe(engine: Engine, state: State, outputs: list[np.ndarray], reach: Reach) -> State:
    """The state after the bounds for these outputs of all parts (eqs. 6 and 7)."""
    there = [
        codes[tokens]
        for part, (codes, tokens) in enumerate(zip(outputs, reach.tokens, strict=True))
        if part != reach.own
    ]
    Y = np.concatenate([outputs[reach.own], *there]).astype(state["Z"].dtype)
    whole = _engine_in(engine, state, engine.observed)
    whole.upper_bounds(Y)
    return state | {name: getattr(whole, name) for name in engine.observed} | {"Y": Y}


def advance(engine: Engine, state: State, eta: float, C: float) -> State:
    """The state after a step on the predictors (eq. 12)."""
    whole = _engine_in(engine, state, engine.moved)
    whole.update_predictors(state["Y"], eta, C)
    whole.find_two_best()
    return state | {name: getattr(whole, name) for name in engine.moved}


def cast(engine: Engine, state: State, exact: bool, reach: Reach) -> list[tuple[np.ndarray, Votes]]:
    """Per part the points that this block has a say on, and its votes."""
    votes = _engine_in(engine, state).sum_votes(exact)
    return [
        (points, votes.between(lo, hi, engine.starts))
        for points, (lo, hi) in zip(reach.points, reach.edges, strict=True)
    ]


def decide(
    space: OutputSpace, given: np.ndarray, Y: np.ndarray, starts: np.ndarray, parcels: list[Any]
) -> np.ndarray:
    """The next outputs of one part from the votes of all blocks (eq. 16, or the minimiser of eq. 9)."""
    votes = added(parcels, starts)
    Y_new = engine_for(space).choose(space, votes, Y.astype(given.dtype), given, starts)
    return compact(Y_new, len(space))


def propose(
    space: OutputSpace, given: np.ndarray, Y: np.ndarray, starts: np.ndarray, parcels: list[Any]
) -> Ballots:
    """The outputs of one part that come into question."""
    votes = added(parcels, starts)
    return engine_for(space).propose(space, votes, Y.astype(given.dtype), given, starts)


def ask(
    engine: Engine, state: State, candidates: list[Ballots], reach: Reach
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Per part the candidates that this block has a say on, and what they cost it."""
    whole, answers = _engine_in(engine, state), []
    for there, points, (first, _) in zip(candidates, reach.points, reach.edges, strict=True):
        which = np.flatnonzero(np.isin(there.points, points))
        mine = there.only(which)
        mine = replace(mine, points=first + np.searchsorted(points, mine.points))
        answers.append((which, whole.costs(mine)))
    return answers


def settle(
    space: OutputSpace, candidates: Ballots, Y: np.ndarray, starts: np.ndarray, answers: list[Any]
) -> np.ndarray:
    """The next outputs of one part from what candidates cost all blocks."""
    costs = np.zeros(len(candidates))
    for which, cost in answers:
        costs[which] += cost
    return compact(cheapest(candidates, costs, Y, starts), len(space))


def sums(state: State) -> tuple[float, float]:
    """What the objective needs of a block."""
    return float(state["bounds"].sum()), float(state["square_norm"].sum())


def kept(hood: Hood, engine: Engine, state: State) -> tuple[Hood, np.ndarray, State]:
    """What a model needs of a block after training."""
    names = {"A", "T", "learned", "known", "square_norm", "start_weight"} & set(state)
    return hood, engine.share, {name: state[name] for name in names}
