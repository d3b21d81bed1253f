"""Hidden outputs and folds: nobody tested is trained on, every class is shown where possible."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sslsop_core import Classes, Sequences, TreeLeaves
from sslsop_core.datasets import Problem, load
from sslsop_core.splits import choose_labeled, folds, symbols_of

names = st.lists(st.sampled_from("abcd"), min_size=1, max_size=60)
with_gaps = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=60).filter(any)


def problem_of(y, groups=None, space=None):
    X = np.arange(float(len(y)))[:, None]
    return Problem("test", y, space or Classes("abcd"), X, groups=groups)


@given(y=with_gaps, share=st.floats(0.01, 1.0), seed=st.integers(0, 5))
def test_the_share_is_kept_and_missing_outputs_stay_missing(y, share, seed):
    mask = choose_labeled(y, share, rng=np.random.default_rng(seed))
    known = sum(output is not None for output in y)
    assert mask.sum() == max(1, round(share * known))
    assert not any(keep and output is None for keep, output in zip(mask, y, strict=True))


@given(y=names, share=st.floats(0.01, 1.0))
def test_every_class_has_an_example_when_there_is_room(y, share):
    mask = choose_labeled(y, share)
    shown = {output for output, keep in zip(y, mask, strict=True) if keep}
    assert len(shown) == min(len(set(y)), mask.sum())


def test_classes_keep_their_proportions():
    y = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    kept = Counter(output for output, keep in zip(y, choose_labeled(y, 0.1), strict=True) if keep)
    assert kept == {"a": 60, "b": 30, "c": 10}


@given(y=names, per_class=st.integers(1, 4))
def test_per_class_keeps_that_many_of_each_or_all(y, per_class):
    mask = choose_labeled(y, per_class=per_class)
    kept = Counter(output for output, keep in zip(y, mask, strict=True) if keep)
    assert kept == {name: min(per_class, count) for name, count in Counter(y).items()}


def test_every_tag_is_shown_even_the_rarest():
    y = [("O", "O")] * 99 + [("O", "B")]
    assert choose_labeled(y, 0.02)[99]


def test_every_label_is_shown_by_label_sets():
    y = [(1, 0)] * 99 + [(0, 1)]
    assert choose_labeled(y, 0.02)[99]


@pytest.mark.parametrize(
    ("output", "symbols"),
    [("a", {"a"}), (("B", None, "O"), {"B", "O"}), ((0, 1, 1, None), {1, 2}), ((0, 0), set())],
)
def test_symbols_of_each_kind_of_output(output, symbols):
    assert symbols_of(output) == symbols


def test_hiding_depends_on_the_seed_and_only_on_it():
    problem = load("moons")
    assert problem.hide(seed=1) == problem.hide(seed=1)
    assert problem.hide(seed=1) != problem.hide(seed=2)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"labeled": 0}, "labeled must be"),
        ({"labeled": 1.5}, "labeled must be"),
        ({"labeled": float("nan")}, "labeled must be"),
        ({"per_class": 0}, "per_class must be"),
        ({"per_class": 1.5}, "per_class must be"),
    ],
)
def test_nonsense_shares_are_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        load("moons").hide(**arguments)


def test_all_outputs_missing_is_refused():
    with pytest.raises(ValueError, match="all are missing"):
        choose_labeled([None, None])


@settings(max_examples=40)
@given(y=st.lists(st.sampled_from(["a", "b", None]), min_size=6, max_size=40), seed=st.integers(0, 3))
def test_folds_test_every_known_row_once_and_train_on_all_others(y, seed):
    known = [i for i, output in enumerate(y) if output is not None]
    if len(known) < 3:
        return
    tested = []
    for fold in folds(problem_of(y), n_folds=3, labeled=0.5, seed=seed):
        assert sorted([*fold.train, *fold.test]) == list(range(len(y)))
        assert len(fold.labeled) == len(fold.train)
        assert all(y[i] is not None for i in fold.train[fold.labeled])
        tested += fold.test.tolist()
    assert sorted(tested) == known


def test_folds_are_stratified_and_label_the_share():
    problem = load("digits")
    for fold in folds(problem, n_folds=10, labeled=0.3):
        counts = Counter(problem.y[i] for i in fold.test)
        assert set(counts) == set(problem.space.names)
        assert max(counts.values()) - min(counts.values()) <= 2
        assert fold.labeled.sum() == round(0.3 * len(fold.train))


def test_folds_never_cut_a_group():
    groups = np.repeat(np.arange(10), 3)
    y = [["a", "b"][g % 2] for g in groups]
    y[0] = None
    for fold in folds(problem_of(y, groups), n_folds=5):
        assert not set(groups[fold.train]) & set(groups[fold.test])


def test_rows_that_are_given_in_part_are_never_tested():
    space = TreeLeaves({"a": "n", "b": "n", "n": "root", "c": "root"})
    y = ["a", "b", "c", "n"] * 5
    assert all(y[i] != "n" for fold in folds(problem_of(y, space=space), n_folds=3) for i in fold.test)
    tags = [("x", "y"), ("x", None)] * 5
    problem = Problem("tags", tags, Sequences("xy"), [np.ones((2, 1))] * 10)
    assert all(None not in tags[i] for fold in folds(problem, n_folds=3) for i in fold.test)


def test_a_class_smaller_than_the_folds_is_no_obstacle():
    y = ["a"] * 20 + ["b"] * 2
    assert sum(len(fold.test) for fold in folds(problem_of(y), n_folds=10)) == 22


@pytest.mark.parametrize("n_folds", [1, 7, 2.5, True])
def test_a_wrong_number_of_folds_is_refused(n_folds):
    with pytest.raises(ValueError, match="n_folds must be"):
        list(folds(problem_of(list("aabbcc")), n_folds=n_folds))
