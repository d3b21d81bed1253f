"""Choosing how missing outputs and predictors start: by trial runs in which some given outputs are hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from sklearn.model_selection import KFold

from .drawing import in_order
from .inputs import Inputs, tokens_of
from .sequences import Sequences
from .spaces import OutputSpace

# What init="auto" tries, for how many turns, on at most how many points; and what it is otherwise.
TRIED = ("spread", "guided", "hybrid")
TRIAL_TURNS = 20
MOST_TRIED = 10_000
FALLBACK = "guided"
# Into how many folds the given outputs are cut, and how often: what few of them tell depends on how they are
# cut. And by how many standard errors a start must be better than the preferred one. `benchmarks/starts.py`
# compares others.
FOLDS = 5
CUTS = 2
ERRORS = 1.0
# Fewer given outputs than these tell nothing.
LEAST = 6
# Trials end when so many hidden outputs have been judged.
ENOUGH = 1000


def tried(space: OutputSpace) -> tuple[str, ...]:
    """What init="auto" tries, the preferred one first.

    That is what assumes least. But neighbors seldom share whole sequences, and what spreads among them by
    itself is the commonest tag: there it comes last.
    """
    return ("guided", "hybrid", "spread") if isinstance(space, Sequences) else TRIED


def choose(
    names: Sequence[str],
    trial: Callable[[str, np.ndarray], np.ndarray],
    space: OutputSpace,
    given: np.ndarray,
    inputs: Inputs,
    seed: int,
) -> str | None:
    """The first start, unless another does better on given outputs that it was not told.

    Parameters
    ----------
    names : the names to choose from, the preferred one first.
    trial : runs Algorithm 1 from the named start with these given codes; returns the codes it ends with.

    Returns
    -------
    None if too few outputs are given completely to hide some of them.
    """
    starts = inputs.starts
    labeled = in_order(inputs.keys, np.flatnonzero(space.complete(given, starts)))
    if len(labeled) < LEAST:
        return None
    losses, judged = np.zeros((len(names), len(labeled))), np.zeros(len(labeled))
    for part in _parts(len(labeled), seed):
        held = labeled[part]
        hidden = given.copy()
        hidden[tokens_of(starts, held)[0] if isinstance(space, Sequences) else held] = -1
        true, begins = space.take(given, held, starts), tokens_of(starts, held)[1]
        for row, name in zip(losses, names, strict=True):
            row[part] += space.losses(true, space.take(trial(name, hidden), held, starts), begins)
        judged[part] += 1
        if judged.sum() >= ENOUGH:
            break
    return preferred_or_better(names, losses[:, judged > 0] / judged[judged > 0])


def preferred_or_better(names: Sequence[str], losses: np.ndarray, errors: float | None = None) -> str:
    """The first name, unless the mean loss of the best is lower by so many standard errors.

    Parameters
    ----------
    losses : a row per name, a column per output that was hidden from all of them.
    errors : by default `ERRORS`.
    """
    best = int(np.argmin(losses.mean(axis=1)))
    behind = losses[0] - losses[best]
    error = behind.std(ddof=1) / np.sqrt(len(behind))
    return names[0] if behind.mean() <= (ERRORS if errors is None else errors) * error else names[best]


def _parts(n: int, seed: int) -> Iterator[np.ndarray]:
    """The folds of every cut."""
    for cut in range(CUTS):
        for _, part in KFold(FOLDS, shuffle=True, random_state=(seed + cut) % 2**32).split(np.arange(n)):
            yield part
