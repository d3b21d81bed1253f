"""Who is labelled and who is tested: hiding outputs, and the folds of the paper's protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from .bounds import require_between
from .quiet import quiet


class Fold(NamedTuple):
    """Rows to train on, rows to test on, and which of the training rows keep their output."""

    train: np.ndarray
    test: np.ndarray
    labeled: np.ndarray  # boolean, one entry per training row


def choose_labeled(
    outputs: Sequence[Any],
    labeled: float = 0.3,
    per_class: int | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Mask of the outputs that stay given: a random share that shows every class where possible.

    A class is a name, a tag that a sequence contains or a label that a set holds. Outputs that are
    `None` are never chosen.

    Parameters
    ----------
    labeled : share of the known outputs, in (0, 1]. Single names are drawn class by class.
    per_class : in place of the share, the number of examples of every class.
    """
    if isinstance(labeled, bool) or not 0 < labeled <= 1:
        raise ValueError(f"labeled must be a share above 0 and at most 1; got labeled={labeled!r}.")
    if per_class is not None:
        require_between("per_class", per_class, 1, 10**9)
    known = [i for i, y in enumerate(outputs) if y is not None]
    if not known:
        raise ValueError("y must hold at least one known output; all are missing.")
    rng = rng if rng is not None else np.random.default_rng(0)
    order = [known[i] for i in rng.permutation(len(known))]
    symbols = {i: symbols_of(outputs[i]) for i in order}
    mask = np.zeros(len(outputs), dtype=bool)
    if per_class is not None:
        mask[_cover(order, symbols, per_class, len(order))] = True
        return mask
    n_labeled = max(1, round(labeled * len(order)))
    if any(isinstance(outputs[i], tuple) for i in order):
        chosen = _cover(order, symbols, 1, n_labeled)
        chosen += [i for i in order if i not in set(chosen)]
    else:
        chosen = _stratified(order, outputs, labeled)
    mask[chosen[:n_labeled]] = True
    return mask


def symbols_of(output: Any) -> frozenset[Any]:
    """The classes that an output shows: itself, its tags, or the positions of its labels."""
    if not isinstance(output, tuple):
        return frozenset([output])
    if set(output) <= {0, 1, None}:
        return frozenset(i for i, bit in enumerate(output) if bit == 1)
    return frozenset(tag for tag in output if tag is not None)


def _cover(order: list[int], symbols: dict[int, frozenset[Any]], times: int, most: int) -> list[int]:
    """Members of `order`, at most `most`, that show every symbol `times` times where possible."""
    counts = Counter(symbol for i in order for symbol in symbols[i])
    shown: Counter[Any] = Counter()
    chosen: dict[int, None] = {}
    # The rarest first: what shows a rare symbol often shows a frequent one too.
    for symbol in sorted(counts, key=lambda s: (counts[s], str(s))):
        for i in order:
            if shown[symbol] >= times or len(chosen) >= most:
                break
            if symbol in symbols[i] and i not in chosen:
                chosen[i] = None
                shown.update(symbols[i])
    return list(chosen)


def _stratified(order: list[int], outputs: Sequence[Any], share: float) -> list[int]:
    """`order` rearranged: first one of each class, then each class in proportion, then the rest."""
    rank: Counter[Any] = Counter()
    totals = Counter(outputs[i] for i in order)
    keys = {}
    for place, i in enumerate(order):
        c = outputs[i]
        # The r-th of a class with m members stands at (r + 1/2) / m: equal shares of every class.
        keys[i] = (rank[c] > 0, (rank[c] + 0.5) / totals[c], place)
        rank[c] += 1
    return sorted(order, key=keys.__getitem__)


def is_complete(output: Any, names: Container[Any]) -> bool:
    """Whether an output is given in full: neither missing, nor an inner node, nor with gaps."""
    if isinstance(output, tuple):
        return None not in output
    return output is not None and output in names


def folds(problem: Any, n_folds: int = 10, labeled: float = 0.3, seed: int = 0) -> Iterator[Fold]:
    """The paper's protocol: test on each fold in turn, train on the rest with few outputs given.

    Single names are spread evenly over the folds where every class has members enough; groups are
    never cut. Only rows with a complete output are tested; the others train in every fold, unless
    they belong to a group that is tested.

    Parameters
    ----------
    problem : has `y`, `space` and `groups` (or None).
    n_folds : number of folds, from 2.
    labeled : share of the training outputs that are given.
    """
    names = frozenset(problem.space.names)
    complete = np.array([is_complete(y, names) for y in problem.y])
    rows = np.flatnonzero(complete)
    groups = None if problem.groups is None else np.asarray(problem.groups)
    most = len(rows) if groups is None else len(np.unique(groups[rows]))
    what = "rows with a complete output" if groups is None else "groups"
    require_between("n_folds", n_folds, 2, most, f" (the number of {what})")
    for f, tested in enumerate(_tested([problem.y[i] for i in rows], groups, rows, n_folds, seed)):
        test = rows[tested]
        out = np.isin(np.arange(len(complete)), test)
        if groups is not None:
            out |= np.isin(groups, groups[test])
        train = np.flatnonzero(~out)
        rng = np.random.default_rng([seed, f])
        yield Fold(train, test, choose_labeled([problem.y[i] for i in train], labeled, rng=rng))


def _tested(
    outputs: list[Any], groups: np.ndarray | None, rows: np.ndarray, n_folds: int, seed: int
) -> list[np.ndarray]:
    """Positions in `rows` that each fold tests."""
    listed = not isinstance(outputs[0], tuple)
    names = [str(y) if listed else "" for y in outputs]
    codes = np.unique(names, return_inverse=True)[1]
    possible = listed and np.bincount(codes).max() >= n_folds
    kind: Any
    if groups is None:
        kind = StratifiedKFold if possible else KFold
    else:
        kind = StratifiedGroupKFold if possible else GroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=seed)
    within = None if groups is None else groups[rows]
    with quiet():  # a class with fewer members than folds is spread as far as it goes
        return [tested for _, tested in splitter.split(codes, codes, within)]
