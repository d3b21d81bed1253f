"""Statistics over folds, against scipy where the correction vanishes and by hand where it does not."""

import numpy as np
import pytest
from scipy import stats

from sslsop_core.evaluation.statistics import corrected_t_test, interval, paired, signed_rank_test

A = np.array([0.31, 0.28, 0.35, 0.30, 0.33, 0.27, 0.36, 0.29, 0.32, 0.34])
B = np.array([0.33, 0.31, 0.34, 0.35, 0.36, 0.30, 0.36, 0.33, 0.31, 0.39])


def test_without_correction_it_is_the_paired_t_test():
    assert corrected_t_test(B - A, test_share=0.0) == pytest.approx(stats.ttest_rel(B, A).pvalue, rel=1e-12)


def test_without_correction_it_is_the_usual_interval():
    found = interval(A, test_share=0.0)
    expected = stats.t.interval(0.95, len(A) - 1, loc=A.mean(), scale=stats.sem(A))
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-12)
    assert found.mean == A.mean()


def test_correction_is_that_of_nadeau_and_bengio():
    d = B - A
    t = d.mean() / np.sqrt((1 / 10 + 1 / 9) * d.var(ddof=1))  # 10 folds: n_test / n_train = 1/9
    assert corrected_t_test(d, test_share=1 / 9) == pytest.approx(2 * stats.t.sf(t, 9), rel=1e-12)
    assert corrected_t_test(d, 1 / 9) > corrected_t_test(d, 0.0)


def test_interval_of_the_difference_and_test_agree():
    # The 95 % interval just touches zero where the p-value is 0.05.
    d = B - A
    shift = interval(d, 1 / 9).low
    assert corrected_t_test(d - shift, 1 / 9) == pytest.approx(0.05, rel=1e-9)


def test_signed_ranks_are_scipys():
    assert signed_rank_test(B - A) == stats.wilcoxon(B - A).pvalue
    assert signed_rank_test(np.zeros(5)) == 1.0


def test_wins_ties_and_losses_are_the_other_methods():
    found = paired([0.2, 0.2, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4], test_share=1 / 3)
    assert (found.wins, found.ties, found.losses) == (1, 1, 2)
    assert found.difference.mean == pytest.approx(0.05)


def test_no_variation_leaves_no_doubt():
    assert corrected_t_test([0.1] * 4, 1 / 3) == 0.0
    assert corrected_t_test([0.0] * 4, 1 / 3) == 1.0


def test_one_fold_says_nothing_of_the_spread():
    found = interval([0.3], 1 / 9)
    assert found.mean == 0.3
    assert np.isnan(found.low)
    assert np.isnan(corrected_t_test([0.3], 1 / 9))
