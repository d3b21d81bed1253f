"""How sure a comparison over folds is.

Folds share most of their training data, so their results are not independent and the usual standard
error is too small. Nadeau and Bengio (2003) replace 1/n in it by 1/n + n_test/n_train; intervals and
tests here do the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


@dataclass(frozen=True)
class Interval:
    """A mean and the bounds between which it lies with the confidence asked for; NaN with one fold."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Paired:
    """Differences of two methods over the same folds.

    Attributes
    ----------
    difference : mean of (other - reference), with its interval.
    p_value : corrected resampled t-test of "no difference".
    wilcoxon : p-value of the signed-rank test, which assumes less and sees less.
    wins, ties, losses : folds on which the other method is lower, level, higher.
    """

    difference: Interval
    p_value: float
    wilcoxon: float
    wins: int
    ties: int
    losses: int


def corrected_error(values: np.ndarray, test_share: float) -> float:
    """Standard error of the mean over folds; `test_share` is n_test / n_train."""
    if len(values) < 2:
        return float("nan")
    return float(np.sqrt((1 / len(values) + test_share) * values.var(ddof=1)))


def interval(values: ArrayLike, test_share: float, confidence: float = 0.95) -> Interval:
    """The mean over folds and its corrected interval.

    >>> interval([0.25, 0.5, 0.75], test_share=0.5).mean
    0.5
    """
    folds = np.asarray(values, dtype=float)
    mean, error = float(folds.mean()), corrected_error(folds, test_share)
    reach = error * float(stats.t.ppf((1 + confidence) / 2, max(len(folds) - 1, 1)))
    return Interval(mean, mean - reach, mean + reach)


def corrected_t_test(differences: ArrayLike, test_share: float) -> float:
    """Two-sided p-value of the corrected resampled t-test of Nadeau and Bengio.

    >>> corrected_t_test([0.0, 0.0, 0.0], test_share=0.5)
    1.0
    """
    folds = np.asarray(differences, dtype=float)
    mean, error = float(folds.mean()), corrected_error(folds, test_share)
    if error == 0:  # the same difference on every fold: no doubt either way
        return 1.0 if mean == 0 else 0.0
    return float(2 * stats.t.sf(abs(mean) / error, max(len(folds) - 1, 1)))


def signed_rank_test(differences: ArrayLike) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test; 1 if nothing differs."""
    return float(stats.wilcoxon(differences).pvalue) if np.any(differences) else 1.0


def paired(reference: ArrayLike, other: ArrayLike, test_share: float) -> Paired:
    """Compare two methods that saw the same folds."""
    differences = np.asarray(other, dtype=float) - np.asarray(reference, dtype=float)
    return Paired(
        interval(differences, test_share),
        corrected_t_test(differences, test_share),
        signed_rank_test(differences),
        int((differences < 0).sum()),
        int((differences == 0).sum()),
        int((differences > 0).sum()),
    )
