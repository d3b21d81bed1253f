"""Choosing how missing outputs and predictors start: by trial runs in which some given outputs are hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.model_selection import KFold

from .inputs import tokens_of
from .sequences import Sequences
from .spaces import OutputSpace

# What init="auto" tries, for how many turns, on at most how many points; and what it is otherwise.
TRIED = ("spread", "guided", "hybrid")
TRIAL_TURNS = 20
MOST_TRIED = 10_000
FALLBACK = "guided"
FOLDS = 3
# By so many standard errors a start must be better than one that is preferred: a one-sided test at 5 %.
ERRORS = 1.645
# Trials end when so many hidden outputs have been judged.
ENOUGH = 1000


def tried(space: OutputSpace) -> tuple[str, ...]:
    """What init="auto" tries, the preferred ones first.

    That is what assumes least. But neighbors seldom share whole sequences, and what spreads among them by
    itself is the commonest tag: there it comes last.
    """
    return ("guided", "hybrid", "spread") if isinstance(space, Sequences) else TRIED


def choose(
    names: Sequence[str],
    trial: Callable[[str, np.ndarray], np.ndarray],
    space: OutputSpace,
    given: np.ndarray,
    starts: np.ndarray,
    seed: int,
) -> str | None:
    """The first start that does as well as the best on given outputs that it was not told.

    As well means: its mean loss is higher by at most `ERRORS` standard errors of the difference. So the
    others must show that they are better than the first, which few given outputs hardly can.

    Parameters
    ----------
    names : the names to choose from, the preferred ones first.
    trial : runs Algorithm 1 from the named start with these given codes; returns the codes it ends with.

    Returns
    -------
    None if too few outputs are given completely to hide some of them.
    """
    labeled = np.flatnonzero(space.complete(given, starts))
    if len(labeled) < 2 * FOLDS:
        return None
    losses: list[list[np.ndarray]] = [[] for _ in names]
    judged = 0
    for _, part in KFold(FOLDS, shuffle=True, random_state=seed).split(labeled):
        held = labeled[part]
        hidden = given.copy()
        hidden[tokens_of(starts, held)[0] if isinstance(space, Sequences) else held] = -1
        true, begins = space.take(given, held, starts), tokens_of(starts, held)[1]
        for column, name in zip(losses, names, strict=True):
            column.append(space.losses(true, space.take(trial(name, hidden), held, starts), begins))
        judged += len(held)
        if judged >= ENOUGH:
            break
    table = np.array([np.concatenate(column) for column in losses])
    behind = table - table[np.argmin(table.mean(axis=1))]
    error = behind.std(axis=1, ddof=1) / np.sqrt(judged)
    return names[int(np.argmax(behind.mean(axis=1) <= ERRORS * error))]
