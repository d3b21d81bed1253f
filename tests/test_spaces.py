"""Output spaces answer like a search over all their outputs, and refuse what is not one."""

import itertools

import numpy as np
import pytest
from hypothesis import given as draw_given
from hypothesis import settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from sslsop_core import Classes, LabelSets, Sequences, TreeLeaves
from sslsop_core.chains import best_other, best_path, path_score, posterior
from sslsop_core.inference import best_codes, code_scores, other_codes

from . import reference
from .problems import KINDS, TREE, make


@pytest.mark.parametrize("kind", KINDS)
def test_a_space_agrees_with_a_search_over_its_outputs(kind):
    rng = np.random.default_rng(0)
    twin = make(kind, rng, n=20)
    space = twin.space
    for x, y in zip(twin.X, twin.truth, strict=True):
        w = rng.normal(size=space.dim(3))
        outputs = twin.outputs_of(x)
        for other in outputs[:5]:
            assert np.allclose(space.joint_feature(x, other), twin.phi(x, other))
            assert space.loss(y, other) == pytest.approx(twin.delta(y, other))
        assert space.argmax(x, w) == reference.predict_one(twin.phi, outputs, w, x)
        z = reference.z_star(twin.phi, twin.delta, outputs, w, x, y)
        assert space.loss_augmented_argmax(x, y, w) == z


@pytest.mark.parametrize("kind", KINDS)
def test_argmax_respects_what_is_partly_given(kind):
    rng = np.random.default_rng(1)
    twin = make(kind, rng, n=20)
    for i, (x, y) in enumerate(zip(twin.X, twin.truth, strict=True)):
        w, given = rng.normal(size=twin.space.dim(3)), twin.partly(rng, y)
        expected = reference.predict_one(twin.phi, twin.allowed(i, given), w, x)
        assert twin.space.argmax(x, w, given) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_at_zero_weights_z_is_drawn_among_all_tied_outputs(kind):
    rng = np.random.default_rng(2)
    twin = make(kind, rng, n=1)
    x, y = twin.X[0], twin.truth[0]
    worst = max(twin.delta(y, other) for other in twin.outputs_of(x))
    tied = {other for other in twin.outputs_of(x) if twin.delta(y, other) == worst}
    w = np.zeros(twin.space.dim(3))
    drawn = {twin.space.loss_augmented_argmax(x, y, w, rng) for _ in range(40 * len(tied))}
    assert drawn == tied


@pytest.mark.parametrize("kind", KINDS)
def test_codes_round_trip_and_losses_match(kind):
    rng = np.random.default_rng(3)
    twin = make(kind, rng)
    starts = np.concatenate([[0], np.cumsum([len(x) for x in twin.X])]) if "seq" in kind else np.arange(13)
    others = [twin.random_output(rng, i) for i in range(len(twin.X))]
    codes, other_codes_ = twin.space.encode(twin.truth, starts), twin.space.encode(others, starts)
    assert twin.space.decode(codes, starts) == twin.truth
    expected = [twin.delta(a, b) for a, b in zip(twin.truth, others, strict=True)]
    assert np.allclose(twin.space.losses(codes, other_codes_, starts), expected)
    unequal = [a != b for a, b in zip(twin.truth, others, strict=True)]
    assert twin.space.changed(codes, other_codes_, starts).tolist() == unequal
    missing = [None, *twin.truth[1:]]
    known = twin.space.known(twin.space.encode(missing, starts), starts)
    assert known.tolist() == [False] + [True] * (len(missing) - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_batched_inference_agrees_with_a_search(kind):
    rng = np.random.default_rng(4)
    twin = make(kind, rng)
    space, q = twin.space, len(twin.space)
    starts = np.concatenate([[0], np.cumsum([len(x) for x in twin.X])]) if "seq" in kind else np.arange(13)
    S, T = rng.normal(size=(starts[-1], q)), rng.normal(size=(q, q))
    codes = space.encode(twin.truth, starts)
    best = space.decode(best_codes(space, S, T, starts), starts)
    other = space.decode(other_codes(space, S, T, starts, codes), starts)
    values = code_scores(space, S, T, starts, codes)
    for i, x in enumerate(twin.X):

        def value(y, rows=slice(starts[i], starts[i + 1])):
            return listed_score(space, S[rows], T, y)

        outputs = twin.outputs_of(x)
        assert best[i] == max(outputs, key=value)
        assert other[i] == max((y for y in outputs if y != twin.truth[i]), key=value)
        assert values[i] == pytest.approx(value(twin.truth[i]))


def listed_score(space, rows, T, y):
    if space.kind == "labelsets":
        return rows[0] @ np.array(y)
    codes = [space.names.index(name) for name in (y if space.kind == "sequences" else [y])]
    return sum(rows[t, c] for t, c in enumerate(codes)) + sum(T[a, b] for a, b in itertools.pairwise(codes))


@settings(max_examples=60, deadline=None)
@draw_given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 4))
def test_two_best_paths_equal_brute_force(seed, length, q):
    rng = np.random.default_rng(seed)
    U, T = rng.normal(size=(length, q)), rng.normal(size=(q, q))
    ranked = sorted(
        itertools.product(range(q), repeat=length),
        key=lambda y: -path_score(U, T, np.array(y, dtype=np.int16)),
    )
    path, other = np.empty(length, dtype=np.int16), np.empty(length, dtype=np.int16)
    best_path(U, T, path)
    value = best_other(U, T, path, other)
    assert tuple(path) == ranked[0]
    if len(ranked) > 1:
        assert tuple(other) == ranked[1]
        assert value == pytest.approx(path_score(U, T, other))
    else:
        assert value == -np.inf


def test_tied_paths_go_to_the_lowest():
    path = np.empty(3, dtype=np.int16)
    best_path(np.zeros((3, 4)), np.zeros((4, 4)), path)
    assert path.tolist() == [0, 0, 0]


@pytest.mark.parametrize("size", [1.0, 30.0, 1000.0])
def test_posterior_equals_the_sum_over_all_paths(size):
    rng = np.random.default_rng(5)
    U, T = size * rng.normal(size=(4, 3)), size * rng.normal(size=(3, 3))
    marginals, pairs = np.empty((4, 3)), np.zeros((3, 3))
    log_z = posterior(U, T, marginals, pairs, 2.0)
    paths = np.array(list(itertools.product(range(3), repeat=4)))
    scores = np.array([path_score(U, T, y) for y in paths])
    total = logsumexp(scores)
    expected, expected_pairs = np.zeros((4, 3)), np.zeros((3, 3))
    for y, share in zip(paths, np.exp(scores - total), strict=True):
        expected[np.arange(4), y] += share
        np.add.at(expected_pairs, (y[:-1], y[1:]), share)
    assert log_z == pytest.approx(total)
    assert np.allclose(marginals, expected)
    assert np.allclose(pairs, 2 * expected_pairs)


def test_uneven_trees_have_the_heights_of_first_common_ancestors():
    space = TreeLeaves(TREE)
    assert set(space.names) == {"cat", "dog", "wolf", "car", 7}
    assert space.loss("cat", "dog") == 1
    assert space.loss("cat", "wolf") == 2
    assert space.loss("wolf", 7) == 3
    assert space.loss("car", 7) == 3


@settings(max_examples=50, deadline=None)
@draw_given(seed=st.integers(0, 10_000), n=st.integers(2, 30))
def test_losses_of_any_tree_are_heights_of_first_common_ancestors(seed, n):
    rng = np.random.default_rng(seed)
    label = rng.permutation(n)  # so that nodes come in any order
    parents = {int(label[i]): int(label[rng.integers(i)]) for i in range(1, n)}
    parents = dict(sorted(parents.items()))
    space, loss = TreeLeaves(parents), reference.tree_loss(parents)
    expected = [[loss(a, b) for b in space.names] for a in space.names]
    assert np.array_equal(space.loss_matrix, expected)


@pytest.mark.parametrize(
    ("parents", "named"),
    [
        ({"a": "b", "b": "c", "c": "a"}, "a -> b -> c -> a"),
        ({"a": "a"}, "a -> a"),
        ({"a": "r", "b": "s"}, "2 roots: r, s"),
        ({}, "empty"),
    ],
)
def test_what_is_not_a_tree_is_refused_by_name(parents, named):
    with pytest.raises(ValueError, match=named):
        TreeLeaves(parents)


@pytest.mark.parametrize(
    ("space", "output", "named"),
    [
        (Classes(["a", "b"]), "c", r"y\[0\] = 'c' is not an output"),
        (Classes([1, 2]), "1", r"y\[0\] = '1'"),
        (TreeLeaves(TREE), "bird", r"y\[0\] = 'bird'"),
        (TreeLeaves(TREE), ["cat"], r"y\[0\] = \['cat'\]"),
        (Sequences(["N"]), ("N", "X"), "tag 'X'"),
        (Sequences(["N"]), ("N", ["N"]), r"tag \['N'\]"),
        (Sequences(["N"]), 5, r"y\[0\] = 5"),
        (LabelSets(["a", "b"]), (1,), "tuple of 2"),
        (LabelSets(["a", "b"]), (1, 2), "0, 1 or None"),
        (LabelSets(["a", "b"]), (1, -1), "0, 1 or None"),
        (LabelSets(["a", "b"]), {"c"}, "'c'"),
    ],
)
def test_unknown_outputs_are_named(space, output, named):
    with pytest.raises(ValueError, match=named):
        space.encode([output], np.array([0, 2]))


def test_names_must_be_distinct_and_present():
    with pytest.raises(ValueError, match="twice: a"):
        Classes(["a", "b", "a"])
    with pytest.raises(ValueError, match="at least one"):
        Sequences([])
    with pytest.raises(ValueError, match="loss"):
        Sequences(["a"], loss="square")


def test_classes_know_three_markers_for_missing():
    space = Classes([0, 1])
    assert space.encode([0, None, float("nan"), -1, 1]).tolist() == [0, -1, -1, -1, 1]
    assert Classes([-1, 1]).encode([-1, 1, None]).tolist() == [0, 1, -1]


def test_spaces_compare_by_content():
    assert Classes(["a"]) == Classes(["a"])
    assert Classes(["a"]) != Classes(["b"])
    assert Sequences(["a"]) != Sequences(["a"], loss="hamming")
    assert hash(TreeLeaves(TREE)) == hash(TreeLeaves(dict(TREE)))


def test_a_point_without_an_output_pays_the_most():
    space = TreeLeaves({"cat": "pet", "dog": "pet", "pet": "thing", "car": "thing"})
    true, predicted = space.encode(["cat", "car", "cat"]), space.encode([None, None, "dog"])
    assert space.losses(true, predicted, np.arange(4)).tolist() == [2.0, 2.0, 1.0]
