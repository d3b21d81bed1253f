"""Algorithms 1 and 2 as a user meets them: results, invariants, corners, scikit-learn."""

import warnings
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import given as draw_given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sslsop_core import SSLSOP, Classes, LabelSets, Sequences, TreeLeaves, datasets
from sslsop_core.datasets.problem import take
from sslsop_core.learner import CHOICES

from . import reference
from .problems import KINDS, TREE, make

INITS = ["guided", "spread", "nearest", "global", "random"]
# Features as they are and a constant one: predictors that the literal equations can follow.
LITERAL = {"scale": 1.0, "intercept": True, "transitions": 1.0}


def hidden(twin, rng, share=0.5):
    """The truth with some outputs hidden, the first one kept."""
    return [y if i == 0 or rng.random() < share else None for i, y in enumerate(twin.truth)]


@parametrize_with_checks([SSLSOP(), SSLSOP(init="global", kernel="rbf", output_step="paper")])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@draw_given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(KINDS),
    init=st.sampled_from(INITS),
    step=st.sampled_from(["paper", "exact"]),
    kernel=st.sampled_from(["linear", "rbf"]),
    weights=st.sampled_from(["uniform", "heat"]),
    include_self=st.booleans(),
)
def test_given_outputs_never_move_and_partly_given_ones_stay_allowed(
    seed, kind, init, step, kernel, weights, include_self
):
    rng = np.random.default_rng(seed)
    twin = make(kind, rng)
    given = hidden(twin, rng)
    given = [twin.partly(rng, y) if g is None else g for g, y in zip(given, twin.truth, strict=True)]
    model = SSLSOP(
        twin.space, k=4, max_iter=5, init=init, output_step=step, kernel=kernel, weights=weights,
        include_self=include_self,
    )  # fmt: skip
    for turn in model.iter_fit(twin.X, given):
        outputs = twin.space.decode(turn.outputs, model._engine.inputs.starts)
        assert turn.n_unreached == outputs.count(None)
        for i, (g, y) in enumerate(zip(given, outputs, strict=True)):
            assert y is None or y in twin.allowed(i, g)
            assert g != twin.truth[i] or y == g
    assert np.isfinite([turn.objective for turn in model.history_]).all()


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_the_mean_scores_of_the_nearest_predictors(kind, init):
    rng = np.random.default_rng(1)
    twin = make(kind, rng, n=20)
    fresh = make(kind, rng, n=10).X
    model = SSLSOP(twin.space, k=4, init=init, max_iter=3, own_predictor=False, **LITERAL)
    model.fit(twin.X, hidden(twin, rng))
    points = model._meet(fresh, None)
    W = explicit_weights(model)
    predicted = model.predict(fresh)
    for i, x in enumerate(fresh):
        nearest, share = points.nearest[i], points.share[i]
        outputs, phi = twin.outputs_of(x), twin.phi
        assert predicted[i] == reference.predict_new(phi, outputs, W, with_one(x), nearest, share)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_point_gets_a_predictor_trained_like_the_others(kind):
    rng = np.random.default_rng(2)
    twin = make(kind, rng, n=20)
    fresh = make(kind, rng, n=10).X
    # From a shared start no z is drawn, so that the literal steps can be followed.
    model = SSLSOP(twin.space, k=4, init="global", max_iter=3, weights="uniform", **LITERAL)
    model.fit(twin.X, hidden(twin, rng))
    nearest = model._meet(fresh, None).nearest
    W, predicted = explicit_weights(model), model.predict(fresh)
    for i, x in enumerate(fresh):
        w = shared_weights(model)
        X, Y = [with_one(twin.X[j]) for j in nearest[i]], [model.outputs_[j] for j in nearest[i]]
        for _ in range(model.n_iter_):
            z = [
                reference.z_star(twin.phi, twin.delta, twin.outputs_of(a), w, a, b)
                for a, b in zip(X, Y, strict=True)
            ]
            w = reference.w_next(twin.phi, w, X, Y, z, range(4), [0.25] * 4, model.C, model.eta)
        all_w = np.vstack([W[nearest[i]], w])
        share = [0.125] * 4 + [0.5]
        outputs, phi = twin.outputs_of(x), twin.phi
        assert predicted[i] == reference.predict_new(phi, outputs, all_w, with_one(x), range(5), share)


def with_one(x):
    """The input with a constant feature, which is what an intercept is."""
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def shared_weights(model):
    """w_0 as one vector."""
    parts = [model._shared.weights.W.ravel()]
    return np.concatenate(
        parts + ([model._shared.weights.T.ravel()] if model.space_.kind == "sequences" else [])
    )


def explicit_weights(model):
    """w_i of every neighborhood on features `with_one`, from coefficients and shared start."""
    engine, space, k = model._engine, model.space_, model.k_
    W = []
    for i in range(len(engine.inputs)):
        rows = slice(engine.at[i * k], engine.at[(i + 1) * k])
        columns = engine.A[rows] @ space.embedding if hasattr(space, "embedding") else engine.A[rows]
        w = with_one(engine.inputs.rows[engine.tokens[rows]]).T @ columns
        if model._shared is not None:
            w = w + engine.start_weight * model._shared.weights.W
        parts = [w.ravel()] + ([engine.T[i].ravel()] if space.kind == "sequences" else [])
        W.append(np.concatenate(parts))
    return np.array(W)


def test_sparse_rows_out_of_order_and_read_only_are_welcome_and_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = sp.random_array((40, 9), density=0.5, rng=rng, format="csr")
    y = [*"abab", *[None] * 36]
    expected = SSLSOP(k=4, init="guided").fit(X, y).predict(X)
    shuffled = X.copy()
    for a, b in pairwise(shuffled.indptr):
        order = rng.permutation(b - a)
        shuffled.indices[a:b], shuffled.data[a:b] = shuffled.indices[a:b][order], shuffled.data[a:b][order]
    shuffled.has_sorted_indices = False
    before = shuffled.indices.copy()
    for part in (shuffled.data, shuffled.indices, shuffled.indptr):
        part.setflags(write=False)
    model = SSLSOP(k=4, init="guided").fit(shuffled, y)
    assert list(model.predict(shuffled)) == list(expected)
    assert np.array_equal(shuffled.indices, before)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_inputs_give_the_same_result_as_dense_ones(kind):
    # By features alone: a generative model takes sparse numbers for counts.
    rng = np.random.default_rng(2)
    twin = make(kind, rng, n=40)
    y = hidden(twin, rng)
    sparse = [sp.csr_matrix(x) for x in twin.X] if "sequences" in kind else sp.csr_matrix(twin.X)
    table = np.array([rng.permutation(40)[:5] for _ in range(40)])
    options = {"max_iter": 5, "init": "guided", "latent": 2}
    dense_model = SSLSOP(twin.space, **options).fit(twin.X, y, neighbors=table)
    sparse_model = SSLSOP(twin.space, **options).fit(sparse, y, neighbors=table)
    assert list(dense_model.outputs_) == list(sparse_model.outputs_)
    assert list(dense_model.predict(twin.X, neighbors=table)) == list(
        sparse_model.predict(sparse, neighbors=table)
    )


@settings(max_examples=30, deadline=None)
@draw_given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(KINDS),
    init=st.sampled_from([*INITS, "hybrid", "auto"]),
    step=st.sampled_from(["paper", "exact"]),
    kernel=st.sampled_from(["linear", "rbf"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_number_of_jobs_changes_no_bit(seed, kind, init, step, kernel, dtype):
    rng = np.random.default_rng(seed)
    twin = make(kind, rng, n=30)
    X, y = [x.astype(dtype) for x in twin.X], hidden(twin, rng)
    options = {"k": 5, "init": init, "output_step": step, "kernel": kernel, "latent": 2, "max_iter": 4}
    with patch("sslsop_core.parallel.SMALL", 0):  # thread even these few points
        one, three = (SSLSOP(twin.space, n_jobs=j, **options).fit(X, y) for j in (1, 3))
    for a, b in zip(one.history_, three.history_, strict=True):
        assert a.objective == b.objective
        assert np.array_equal(a.outputs, b.outputs)
    assert np.array_equal(one._engine.A, three._engine.A)
    assert list(one.predict(X)) == list(three.predict(X))


@settings(max_examples=20, deadline=None)
@draw_given(st.integers(0, 1000), st.sampled_from(KINDS), st.sampled_from(CHOICES["init"]))
def test_a_permutation_of_the_data_permutes_the_result(seed, kind, init):
    rng = np.random.default_rng(seed)
    twin = make(kind, rng, n=30)
    y, order = hidden(twin, rng), rng.permutation(30)
    X = [twin.X[i] for i in order] if "sequences" in kind else twin.X[order]
    model = SSLSOP(twin.space, k=5, init=init, latent=2, max_iter=5)
    first, second = clone(model).fit(twin.X, y), clone(model).fit(X, [y[i] for i in order])
    assert second.init_ == first.init_
    assert list(second.outputs_) == [first.outputs_[i] for i in order]
    objectives = [[turn.objective for turn in fitted.history_] for fitted in (first, second)]
    np.testing.assert_allclose(*objectives, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_given_inside_the_loop_count_from_the_next_turn(kind):
    twin = make(kind, np.random.default_rng(0), n=30)
    y = [output if i % 5 == 0 else None for i, output in enumerate(twin.truth)]
    options = {"k": 4, "init": "spread", "tol": 0}
    inside = SSLSOP(twin.space, max_iter=4, **options)
    for turn in inside.iter_fit(twin.X, y):
        if turn.t == 1:  # some of these have no output yet
            inside.relabel({i: twin.truth[i] for i in (1, 2, 3)})
    between = SSLSOP(twin.space, max_iter=1, **options).fit(twin.X, y)
    between.relabel({i: twin.truth[i] for i in (1, 2, 3)}).resume(3)
    assert [turn.objective for turn in inside.history_] == [turn.objective for turn in between.history_]
    assert np.array_equal(inside._engine.A, between._engine.A)


@settings(max_examples=15, deadline=None)
@draw_given(
    st.integers(0, 1000),
    st.sampled_from(KINDS),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([0.9, "auto"]),
)
def test_resuming_equals_one_longer_run(seed, kind, a, b, eta):
    rng = np.random.default_rng(seed)
    twin = make(kind, rng)
    y = hidden(twin, rng)
    model = SSLSOP(twin.space, k=4, eta=eta, max_iter=a).fit(twin.X, y).resume(b)
    whole = SSLSOP(twin.space, k=4, eta=eta, max_iter=a + b).fit(twin.X, y)
    assert [turn.objective for turn in model.history_] == [turn.objective for turn in whole.history_]
    assert list(model.outputs_) == list(whole.outputs_)
    assert model.n_iter_ == whole.n_iter_
    assert model.stop_reason_ == whole.stop_reason_


def test_an_abandoned_fit_leaves_a_model_that_works():
    X, y = make_moons(100, noise=0.05, random_state=0)
    given = [int(v) if i % 10 == 0 else None for i, v in enumerate(y)]
    model = SSLSOP(k=5)
    for turn in model.iter_fit(X, given):
        if turn.t == 3:
            break
    assert model.n_iter_ == 3
    assert model.stop_reason_ == "interrupted"
    model.predict(X)
    whole = SSLSOP(k=5).fit(X, given)
    assert model.resume(47).outputs_.tolist() == whole.outputs_.tolist()


@pytest.mark.parametrize("init", ["spread", "guided"])
def test_outputs_spread_step_by_step_along_the_graph(init):
    """On a line with neighborhoods of three, a turn carries each end's output two points further."""
    X = np.arange(30.0)[:, None]
    y = ["left", *[None] * 28, "right"]
    model = SSLSOP(k=3, weights="uniform", init=init, max_iter=40)
    unreached = [turn.n_unreached for turn in model.iter_fit(X, y)]
    assert unreached[:7] == [24, 20, 16, 12, 8, 4, 0]


@pytest.mark.parametrize("init", ["spread", "guided"])
def test_points_that_no_neighborhood_reaches_stay_none(init):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 100])
    y = ["a", "b"] + [None] * 38
    model = SSLSOP(k=4, init=init).fit(X, y)
    assert model.history_[-1].n_unreached == 20
    assert all(output is None for output in model.outputs_[20:])
    assert all(output is not None for output in model.outputs_[:20])
    assert model.predict([[100.0, 100.0]]).tolist() == [None]
    assert model.predict([[0.0, 0.0]])[0] in ("a", "b")


def test_two_moons_are_learned_from_two_points_each():
    X, y = make_moons(300, noise=0.05, random_state=0)
    labeled = np.concatenate([np.flatnonzero(y == c)[:2] for c in (0, 1)])
    given = [int(v) if i in labeled else None for i, v in enumerate(y)]
    model = SSLSOP(k=10, intercept=True).fit(X, given)
    assert np.mean(model.outputs_ == y) > 0.95


def test_the_exact_step_settles_and_says_so():
    X, y = make_blobs(120, centers=3, random_state=0)
    given = [int(v) if i % 6 == 0 else None for i, v in enumerate(y)]
    model = SSLSOP(k=8, eta="auto", C=0.1, max_iter=2000, tol=1e-2).fit(X, given)
    assert model.stop_reason_ == "converged"
    assert model.history_[-1].n_changed == 0
    assert model.n_iter_ < 2000
    assert model.resume(5).n_iter_ == model.n_iter_


def test_the_letter_of_the_paper_is_one_call_away():
    model = SSLSOP.paper(Classes([0, 1]), k=3)
    chosen = model.get_params()
    assert (chosen["output_step"], chosen["weights"], chosen["kernel"]) == ("paper", "uniform", "linear")
    assert (chosen["scale"], chosen["intercept"], chosen["k"]) == (1.0, False, 3)


# --- corners ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", INITS)
def test_constant_features_and_duplicates_give_finite_results(init):
    X = np.ones((20, 3))
    model = SSLSOP(k=5, init=init).fit(X, [0, 1] + [None] * 18)
    assert np.isfinite([turn.objective for turn in model.history_]).all()
    assert set(model.predict(X)) <= {0, 1, None}


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("zeros", [np.zeros((10, 2)), sp.csr_matrix((10, 2))])
def test_all_zero_inputs_have_an_answer(zeros, init):
    model = SSLSOP(k=3, init=init, metric="cosine", kernel="linear").fit(zeros, ["a", "b"] + [None] * 8)
    assert set(model.outputs_) <= {"a", "b", None}


@pytest.mark.parametrize("init", INITS)
def test_a_single_class_spreads_to_all(init):
    X = np.random.default_rng(0).normal(size=(15, 2))
    model = SSLSOP(k=5, init=init, max_iter=20).fit(X, ["only"] + [None] * 14)
    assert set(model.outputs_) <= {"only", None}
    assert model.predict(X[:1]).tolist() == ["only"]


@pytest.mark.parametrize("init", INITS)
def test_all_points_labelled_trains_predictors_only(init):
    X, y = make_blobs(60, centers=3, cluster_std=0.4, random_state=0)
    model = SSLSOP(k=8, init=init).fit(X, y)
    assert model.outputs_.tolist() == y.tolist()
    assert all(turn.n_changed == 0 for turn in model.history_)
    assert np.mean(model.predict(X) == y) > 0.95


def test_no_labelled_point_is_an_error_that_says_what_to_do():
    with pytest.raises(ValueError, match="at least one output"):
        SSLSOP(Classes([0, 1])).fit(np.eye(3), [None] * 3)
    with pytest.raises(ValueError, match="at least one output"):
        SSLSOP().fit(np.eye(3), [None] * 3)


def test_more_neighbors_than_points_is_a_warning():
    with pytest.warns(UserWarning, match="k=4 is used"):
        model = SSLSOP(k=50).fit(np.eye(4), [0, 1, None, None])
    assert model.k_ == 4


def test_two_points_suffice():
    with pytest.warns(UserWarning, match="k=2"):
        assert SSLSOP().fit([[0.0], [1.0]], ["a", None]).outputs_.tolist() == ["a", "a"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"C": -1}, "C must be"),
        ({"C": float("nan")}, "C must be"),
        ({"eta": 0}, "eta must be"),
        ({"eta": "fast"}, "eta must be"),
        ({"eta": 200.0, "C": 0.01}, "at most 1"),
        ({"eta": "auto", "C": 0}, "needs C > 0"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"output_step": "best"}, 'output_step must be one of "exact", "paper"'),
        ({"init": "zero"}, "init must be"),
        ({"kernel": "poly"}, "kernel must be"),
        ({"metric": "manhattan"}, "metric must be"),
        ({"space": "classes"}, "space must be"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"tol": -1}, "tol must be"),
        ({"latent": -1}, "latent must be"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, message):
    with pytest.raises(ValueError, match=message):
        SSLSOP(**parameters).fit(np.eye(4), [0, 1, None, None])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(3), [0, 1], r"\[3, 2\]"),
        (np.eye(2), [0.5, 1.7], "Unknown label type"),
        (np.array([[np.nan, 1.0], [0.0, 1.0]]), [0, 1], "NaN"),
        (np.eye(3), [-1, None, 2], "-1 and None"),
        (np.eye(3), np.array(["a", -1, "b"]), "holds '-1'"),
        (np.eye(3), np.array(["a", np.nan, "b"]), "holds 'nan'"),
        (np.eye(2), None, "y is None"),
    ],
)
def test_bad_data_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        SSLSOP(k=2).fit(X, y)


def test_overflow_is_said():
    X = np.random.default_rng(0).normal(size=(10, 2)) * 1e200
    with pytest.raises(ValueError, match=r"finite|infinity|too large"), np.errstate(all="ignore"):
        SSLSOP(k=3, scale=1.0).fit(X, [0, 1] + [None] * 8)


def test_sequences_must_match_their_inputs():
    X = [np.zeros((2, 3)), np.zeros((4, 3))]
    with pytest.raises(ValueError, match=r"y\[1\] has 2 tags but x\[1\] has 4 tokens"):
        SSLSOP(Sequences(["a", "b"]), k=2).fit(X, [("a", "b"), ("a", "b")])
    model = SSLSOP(Sequences(["a", "b"]), k=2).fit(X, [("a", "b"), None])
    with pytest.raises(ValueError, match="same number of features"):
        model.predict([np.zeros((2, 5))])


# --- partly given outputs -----------------------------------------------------------------------------


def test_an_inner_node_narrows_the_answer():
    X = np.array([[0.0, 1], [0.1, 1], [0.2, 1], [5.0, 1], [5.1, 1]])
    y = ["car", "animal", None, "dog", None]
    model = SSLSOP(TreeLeaves(TREE), k=5, weights="uniform").fit(X, y)
    assert model.outputs_[1] in ("cat", "dog", "wolf")
    assert SSLSOP(TreeLeaves(TREE), k=3).fit(X, ["car", None, None, "dog", None]).outputs_[1] == "car"


@pytest.mark.parametrize("space", [Sequences(["N", "V"]), Sequences(["N", "V"], "hamming")])
def test_sequences_given_only_in_part_can_be_learned_from(space):
    rng = np.random.default_rng(0)
    tags = [tuple(rng.choice(["N", "V"], size=6)) for _ in range(40)]
    X = [np.array([[1.0, 0.0] if tag == "N" else [0.0, 1.0] for tag in y]) for y in tags]
    X = [x + 0.1 * rng.normal(size=x.shape) for x in X]
    given = [tuple(tag if rng.random() < 0.5 else None for tag in y) for y in tags]
    model = SSLSOP(space, k=10, max_iter=30).fit(X, given)
    right = np.mean(
        [a == b for y, z in zip(tags, model.outputs_, strict=True) for a, b in zip(y, z, strict=True)]
    )
    assert right > 0.9
    with pytest.raises(ValueError, match="in part"):
        SSLSOP(space, init="global").fit(X, [(None, *y[1:]) for y in tags])


def test_label_sets_keep_their_given_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    truth = [tuple(int(v > 0) for v in x) for x in X]
    given = [y if i % 3 == 0 else (y[0], None, None) for i, y in enumerate(truth)]
    model = SSLSOP(LabelSets("abc"), k=15, max_iter=30).fit(X, given)
    assert [y[0] for y in model.outputs_] == [y[0] for y in truth]
    assert np.mean(np.array(model.outputs_) == np.array(truth)) > 0.8


# --- a person relabels --------------------------------------------------------------------------------


def test_a_hand_given_output_holds_and_spreads():
    X = np.arange(20.0)[:, None]
    model = SSLSOP(k=3, max_iter=30, kernel="rbf").fit(X, ["a"] + [None] * 18 + ["b"])
    model.relabel({10: "b", 9: "a"}).resume(40)
    assert model.outputs_[9] == "a"
    assert model.outputs_[10] == "b"
    assert set(model.outputs_[11:]) == {"b"}
    model.relabel({10: None, 9: None}).resume(1)
    assert model.n_iter_ > 30
    with pytest.raises(ValueError, match="points 0 to 19"):
        model.relabel({20: "a"})
    with pytest.raises(ValueError, match="not an output"):
        model.relabel({3: "c"})
    with pytest.raises(ValueError, match="no output"):
        model.relabel({0: None, 19: None})


# --- scikit-learn -------------------------------------------------------------------------------------


def test_the_estimator_works_in_pipelines_searches_and_clones():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    pipeline = make_pipeline(StandardScaler(), SSLSOP(k=8, max_iter=10))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8
    search = GridSearchCV(SSLSOP(max_iter=10), {"k": [5, 10]}, cv=2).fit(X, y)
    assert search.best_params_["k"] in (5, 10)
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_decision_scores_rank_the_prediction_first():
    X, y = make_blobs(90, centers=3, random_state=0)
    model = SSLSOP(k=8).fit(X, y)
    assert np.array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))
    binary = SSLSOP(k=8).fit(X, y == 0)
    assert np.array_equal(binary.decision_function(X) > 0, binary.predict(X))
    assert not hasattr(SSLSOP(Sequences(["a"])), "decision_function")


@pytest.mark.parametrize("kind", KINDS)
def test_only_sequences_are_pulled_towards_a_shared_start_unless_asked(kind):
    rng = np.random.default_rng(3)
    twin = make(kind, rng)
    y = hidden(twin, rng)

    def objectives(**asked):
        model = SSLSOP(twin.space, k=4, C=0.1, max_iter=5, init="guided", **asked).fit(twin.X, y)
        return [turn.objective for turn in model.history_]

    assert objectives() == objectives(anchor=kind.startswith("sequences"))
    assert objectives(anchor=True) != objectives(anchor=False)


@pytest.mark.parametrize("marker", [None, -1, float("nan")])
def test_three_markers_mean_missing(marker):
    X, y = make_blobs(60, centers=3, random_state=0)
    given = [int(v) if i % 4 == 0 else marker for i, v in enumerate(y)]
    outputs = SSLSOP(k=6).fit(X, given).outputs_
    assert (
        outputs.tolist() == SSLSOP(k=6).fit(X, [None if g is marker else g for g in given]).outputs_.tolist()
    )


def test_names_go_with_every_marker_in_a_list_and_with_a_search_for_parameters():
    X, y = make_blobs(60, centers=3, random_state=0)
    names = [f"class {v}" for v in y]
    expected = None
    for marker in (None, -1, float("nan")):
        given = [name if i % 4 == 0 else marker for i, name in enumerate(names)]
        model = SSLSOP(k=6).fit(X, given)
        assert model.classes_.tolist() == ["class 0", "class 1", "class 2"]
        expected = model.outputs_.tolist() if expected is None else expected
        assert model.outputs_.tolist() == expected
        search = GridSearchCV(
            SSLSOP(max_iter=3, init="spread"), {"k": [4, 6]}, cv=KFold(2), error_score="raise"
        )
        assert search.fit(X, given).best_score_ > 0.8


def test_string_classes_and_pandas_frames_are_welcome():
    pandas = pytest.importorskip("pandas")
    X, y = make_blobs(40, centers=2, random_state=0)
    frame = pandas.DataFrame(X, columns=["width", "height"])
    given = pandas.Series([("cat", "dog")[v] if i % 4 == 0 else None for i, v in enumerate(y)])
    model = SSLSOP(k=6).fit(frame, given)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert model.classes_.tolist() == ["cat", "dog"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"width": "depth"}))


def test_minus_one_and_one_are_two_classes_with_a_warning():
    with pytest.warns(UserWarning, match="two classes"):
        assert SSLSOP(k=2).fit(np.eye(3), [-1, 1, 1]).classes_.tolist() == [-1, 1]


def test_float32_stays_float32():
    X, y = make_blobs(50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SSLSOP(k=5).fit(X.astype(np.float32), y)
    assert model._engine.A.dtype == np.float32
    assert model._engine.S.dtype == np.float32
    assert model.decision_function(X).dtype == np.float32


@pytest.mark.parametrize("init", ["guided", "spread"])
def test_a_point_far_from_all_others_still_learns_from_its_neighbors(init):
    problem = datasets.load("moons", n=60)
    X, y = problem.X.copy(), problem.hide(0.4)
    far = y.index(None)
    X[far] *= 1000
    assert SSLSOP(k=5, init=init).fit(X, y).outputs_[far] is not None
    assert SSLSOP(k=5, init=init).fit(problem.X, y).predict(X[[far]])[0] is not None


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_outputs_of_pandas_are_missing(missing):
    y = pd.Series(["a", "b"] + [missing] * 8)
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), columns=list("uvw"))
    for outputs in (y, y.convert_dtypes(), y.tolist()):
        model = SSLSOP(k=3, init="spread", max_iter=2).fit(X, outputs)
        assert model.classes_.tolist() == ["a", "b"]
        assert list(model.outputs_[:2]) == ["a", "b"]


def test_label_sets_may_come_in_a_frame():
    X = np.random.default_rng(0).normal(size=(6, 2))
    y = pd.DataFrame({"red": [1, 0, 1, None, 0, None], "round": [0, 0, 1, 1, None, None]})
    model = SSLSOP(LabelSets(["red", "round"]), k=2, init="spread", max_iter=2).fit(X, y)
    assert model.outputs_[:3] == [(1, 0), (0, 0), (1, 1)]


def gappy(output):
    """The output with less of it given."""
    if isinstance(output, tuple):
        return (None, *output[1:])
    return "animal" if output in ("cat", "dog", "wolf") else None


@pytest.mark.parametrize("kind", KINDS)
def test_only_complete_outputs_are_scored(kind):
    twin = make(kind, np.random.default_rng(0), n=30)
    model = SSLSOP(twin.space, k=4, init="spread", max_iter=3).fit(twin.X, twin.truth)
    whole = list(range(0, 30, 3))
    y = [output if i in whole else None if i % 2 else gappy(output) for i, output in enumerate(twin.truth)]
    expected = model.score(take(twin.X, whole), [twin.truth[i] for i in whole])
    assert model.score(twin.X, y) == pytest.approx(expected)
    with pytest.raises(ValueError, match="at least one complete output"):
        model.score(twin.X, [None] * 30)


def test_errors_of_relabelling_name_the_point():
    model = SSLSOP(k=2, max_iter=1).fit([[0.0], [0.1], [3.0], [3.1]], ["a", None, "b", None])
    with pytest.raises(ValueError, match=r"changes\[3\] = 'zzz'"):
        model.relabel({3: "zzz"})
