"""Where the missing outputs begin: unknown, at the nearest labelled point's, at w_0's, or anywhere."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .drawing import in_order
from .inference import allowed_codes, best_listed
from .inputs import Inputs, tokens_of
from .labelsets import LabelSets
from .sequences import Sequences
from .shared import Shared
from .spaces import ListedSpace, OutputSpace


def require_complete(init: str, labeled: np.ndarray) -> None:
    """Refuse a start that learns from whole outputs where there is none."""
    if len(labeled) == 0 and init in ("nearest", "global"):
        raise ValueError(
            f'init="{init}" learns from completely given outputs, and all are given only in part; '
            'use init="spread".'
        )


def spread_start(
    space: OutputSpace, given: np.ndarray, keys: np.ndarray, starts: np.ndarray, seed: int
) -> np.ndarray:
    """Only the given outputs are known.

    If none is given completely, the partly given ones are completed at random: without a single
    known output nothing could spread.
    """
    complete = space.complete(given, starts)
    if not complete.any():
        complete = partly_given(space, given, starts)
        given = random_start(space, given, keys, starts, seed)
    Y = given.copy()
    if isinstance(space, Sequences):
        Y[np.repeat(~complete, np.diff(starts))] = -1
    else:
        Y[~complete] = -1
    return Y


def partly_given(space: OutputSpace, given: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Mask of the points with some but not all of their output given."""
    if isinstance(space, ListedSpace):
        return given >= len(space)
    known = given >= 0
    anything = known.any(axis=1) if known.ndim == 2 else np.logical_or.reduceat(known, starts[:-1])
    return anything & ~space.complete(given, starts)


def random_start(
    space: OutputSpace, given: np.ndarray, keys: np.ndarray, starts: np.ndarray, seed: int
) -> np.ndarray:
    """Missing outputs drawn uniformly among the allowed ones, for one input after the other by their keys."""
    rng = np.random.default_rng(seed)
    tokens = tokens_of(starts, in_order(keys, np.arange(len(keys))))[0]
    if isinstance(space, ListedSpace):
        drawn = np.empty((len(given), len(space)))
        drawn[tokens] = rng.random(drawn.shape)
        return best_listed(space, drawn, given)
    drawn = np.empty_like(given)
    drawn[tokens] = rng.integers(0, 2 if isinstance(space, LabelSets) else len(space), given.shape)
    return np.where(given >= 0, given, drawn)


def nearest_start(
    space: OutputSpace, given: np.ndarray, inputs: Inputs, points: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Missing outputs taken from the nearest labelled point that has an allowed one.

    Sequences differ in length, so each token takes the tag of the nearest labelled token.
    """
    starts = inputs.starts
    labeled = np.flatnonzero(space.complete(given, starts))
    if isinstance(space, Sequences):
        sources, rows = tokens_of(starts, labeled)[0], inputs.rows
    else:
        sources, rows = labeled, points
    Y = given.copy()
    for wanted, allowed in _requests(space, given, sources):
        if len(allowed) == 0 and isinstance(space, ListedSpace):
            # No example of an allowed output: the lowest of them.
            Y[wanted] = best_listed(space, np.zeros((len(wanted), len(space))), given[wanted])
            continue
        search = NearestNeighbors(n_neighbors=1, n_jobs=n_jobs).fit(rows[allowed])
        nearest = allowed[search.kneighbors(rows[wanted], return_distance=False).ravel()]
        Y[wanted] = given[nearest]
    return np.where(given >= 0, given, Y) if not isinstance(space, ListedSpace) else Y


def _requests(space, given, sources):
    """Pairs (who needs an output, where an allowed one may come from)."""
    missing = given.min(axis=1) < 0 if given.ndim == 2 else given < 0
    if missing.any():
        yield np.flatnonzero(missing), sources
    if isinstance(space, ListedSpace):
        for group, mask in enumerate(space.groups):
            wanted = np.flatnonzero(given == len(space) + group)
            if len(wanted):
                yield wanted, sources[mask[given[sources]]]


def shared_start(space: OutputSpace, given: np.ndarray, inputs: Inputs, shared: Shared) -> np.ndarray:
    """Missing outputs predicted by w_0 among the allowed ones."""
    return allowed_codes(space, shared.scores(space, inputs), shared.transitions, inputs.starts, given)
