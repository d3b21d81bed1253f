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
TRIED = ("hybrid", "spread", "hinted")
TRIAL_TURNS = 20
MOST_TRIED = 10_000
FALLBACK = "guided"
# Into how many folds the given outputs are cut, and how often: what few of them tell depends on how they are
# cut. `benchmarks/starts.py` compares others, and other starts to choose from.
FOLDS = 5
CUTS = 2
# Fewer given outputs than these tell nothing.
LEAST = 6
# Trials end when so many hidden outputs have been judged.
ENOUGH = 1000


def tried(space: OutputSpace) -> tuple[str, ...]:
    """What init="auto" tries; of level ones it takes the first.

    Neighbors seldom share whole sequences, and a hint does not keep the commonest tag from spreading
    everywhere: those are tried from the structural SVM.
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
    """The start with the lowest loss on given outputs that it was not told; of level ones the first.

    Parameters
    ----------
    names : the names to choose from.
    trial : runs Algorithm 1 from the named start with these given codes; returns the codes it ends with.

    Returns
    -------
    None if too few outputs are given completely to hide some of them.
    """
    if space.complete(given, inputs.starts).sum() < LEAST:
        return None
    return names[int(np.argmin(trial_losses(names, trial, space, given, inputs, seed)))]


def trial_losses(
    names: Sequence[str],
    trial: Callable[[str, np.ndarray], np.ndarray],
    space: OutputSpace,
    given: np.ndarray,
    inputs: Inputs,
    seed: int,
) -> np.ndarray:
    """The mean loss of every start on given outputs that are hidden from all in turn."""
    starts = inputs.starts
    labeled = in_order(inputs.keys, np.flatnonzero(space.complete(given, starts)))
    losses, judged = np.zeros(len(names)), 0
    for part in _parts(len(labeled), seed):
        held = labeled[part]
        hidden = given.copy()
        hidden[tokens_of(starts, held)[0] if isinstance(space, Sequences) else held] = -1
        true, begins = space.take(given, held, starts), tokens_of(starts, held)[1]
        for i, name in enumerate(names):
            losses[i] += space.losses(true, space.take(trial(name, hidden), held, starts), begins).sum()
        judged += len(held)
        if judged >= ENOUGH:
            break
    return losses / judged


def _parts(n: int, seed: int) -> Iterator[np.ndarray]:
    """The folds of every cut."""
    for cut in range(CUTS):
        for _, part in KFold(FOLDS, shuffle=True, random_state=(seed + cut) % 2**32).split(np.arange(n)):
            yield part
