"""The competitors: what they promise on every space, their limits, their steps, and who must win where."""

import importlib.util
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from sslsop_core import Classes, LabelSets, Sequences, TreeLeaves, baselines, datasets
from sslsop_core.baselines import (
    CoSSVM,
    HybridCRF,
    LabelSpreading,
    LaplacianSSVM,
    ManifoldSSVM,
    SelfTraining,
    SupervisedCRF,
    SupervisedSSVM,
    laplacian,
)
from sslsop_core.baselines.generative import FAMILIES, count, estimate, indicators, suitable_family
from sslsop_core.baselines.hybrid import _log_loss
from sslsop_core.baselines.output_steps import share_matrix, step_for
from sslsop_core.inference import code_scores
from sslsop_core.inputs import single_rows, token_rows
from sslsop_core.ssvm import smoothed_hinge

from . import problems

EVERY_KIND = pytest.mark.parametrize("kind", problems.KINDS)
METHODS = {
    "supervised": SupervisedSSVM(lam=0.01),
    "field": SupervisedCRF(lam=0.01),
    "laplacian": LaplacianSSVM(lam=0.01, k=3),
    "laplacian-rbf": LaplacianSSVM(lam=0.01, k=3, kernel="rbf"),
    "co": CoSSVM(lam=0.01, max_iter=2),
    "hybrid": HybridCRF(lam=0.01, max_iter=2, folds=2),
    "manifold": ManifoldSSVM(lam=0.01, k=3, max_iter=3),
    "manifold-paper": ManifoldSSVM(lam=0.01, k=3, max_iter=3, output_step="paper", init="propagation"),
}
EVERY_METHOD = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def halved(kind, seed=0, n=16, d=4):
    """A random problem with half of the outputs missing and some given in part; new inputs too."""
    rng = np.random.default_rng(seed)
    twin = problems.make(kind, rng, n, d)
    y = list(twin.truth)
    for i in range(n // 2, n):
        y[i] = twin.partly(rng, y[i]) if i % 2 else None
    return twin, y, problems.make(kind, rng, 5, d).X


def as_sparse(X):
    return [sp.csr_matrix(x) for x in X] if isinstance(X, list) else sp.csr_matrix(X)


def loss_of(model, problem, test):
    X = [problem.X[i] for i in test] if isinstance(problem.X, list) else problem.X[test]
    return 1 - model.score(X, [problem.y[i] for i in test])


def wrong_missing(model, problem, y):
    """Average loss of the outputs learned for points whose own was hidden."""
    pairs = [(a, b) for a, b, given in zip(problem.y, model.outputs_, y, strict=True) if given is None]
    return np.mean([problem.space.loss(a, b) for a, b in pairs])


# --- on every space ----------------------------------------------------------------------------------


@EVERY_KIND
@EVERY_METHOD
def test_given_outputs_stay_and_partly_given_ones_are_respected(method, kind):
    twin, y, X_new = halved(kind)
    model = clone(method).set_params(space=twin.space).fit(twin.X, y)
    for i, (output, given_output) in enumerate(zip(list(model.outputs_), y, strict=True)):
        assert output in twin.allowed(i, given_output)
    assert len(model.predict(X_new)) == 5
    assert len(model.history_) == model.n_iter_ >= 1
    assert all(step.outputs.min() >= 0 for step in model.history_)


@EVERY_KIND
@EVERY_METHOD
def test_sparse_inputs_give_what_dense_ones_give(method, kind):
    twin, y, X_new = halved(kind, seed=1)
    # Different families of emissions would be chosen for the two.
    fixed = {"emission": "bernoulli"} if isinstance(method, HybridCRF) else {}
    X, X_new = ([np.abs(x) for x in X] if isinstance(X, list) else np.abs(X) for X in (twin.X, X_new))
    model = clone(method).set_params(space=twin.space, **fixed)
    dense = model.fit(X, y)
    expected, outputs = list(dense.predict(X_new)), list(dense.outputs_)
    sparse = clone(model).fit(as_sparse(X), y)
    assert list(sparse.predict(as_sparse(X_new))) == expected
    assert list(sparse.outputs_) == outputs


@EVERY_METHOD
def test_a_seed_settles_the_result(method):
    twin, y, _ = halved("sequences-hamming", seed=2)
    first, second = (
        clone(method).set_params(space=twin.space, lam="auto", random_state=3).fit(twin.X, y) for _ in "ab"
    )
    assert first.outputs_ == second.outputs_
    assert [s.objective for s in first.history_] == [s.objective for s in second.history_]


@EVERY_METHOD
def test_between_turns_the_model_predicts(method):
    twin, y, X_new = halved("tree", seed=3)
    model = clone(method).set_params(space=twin.space)
    for turn in model.iter_fit(twin.X, y):
        assert turn.t == model.n_iter_
        assert set(model.predict(X_new)) <= set(twin.space.names)


@parametrize_with_checks(
    [
        SupervisedSSVM(lam=0.1),
        LaplacianSSVM(lam=0.1),
        CoSSVM(lam=0.1, max_iter=2),
        HybridCRF(lam=0.1, folds=2, max_iter=1),
        ManifoldSSVM(lam=0.1, init="supervised"),
        LabelSpreading(),
    ]
)
def test_scikit_learn_accepts_it(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_each_method_says_what_it_minimises_and_which_choices_are_ours():
    for method in (*baselines.COMPETITORS, *baselines.CONTROLS, *baselines.ADAPTERS):
        text = method().summary
        assert "hoices of ours" in text
        assert "Parameters" not in text
        assert any(word in text for word in ("inimises", "proportional", "Trains"))
    for method in baselines.COMPETITORS:
        assert "our implementation after" in method().summary


def test_search_spaces_hold_parameters_of_their_method():
    for method in (
        *baselines.COMPETITORS,
        *baselines.CONTROLS,
        *baselines.ADAPTERS,
        *baselines.OPTIONAL.values(),
    ):
        assert set(method.search_space) <= set(method().get_params())


def test_offered_methods_suit_the_space():
    names = {method.__name__ for method in baselines.offered(Sequences("NV"))}
    assert {"LaplacianSSVM", "CoSSVM", "HybridCRF", "ManifoldSSVM", "SupervisedCRF"} <= names
    assert not {"LabelSpreading", "SelfTraining", "HierarchicalClassifier"} & names


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (SupervisedSSVM(lam=0), "lam must be a finite number above 0"),
        (LaplacianSSVM(gamma=-1), "gamma must be"),
        (LaplacianSSVM(k=0), "k must be a whole number"),
        (CoSSVM(views=([0], [9])), "column numbers from 0 to 1"),
        (CoSSVM(views=([0],)), "views must be two arrays"),
        (HybridCRF(emission="poisson"), "emission must be one of"),
        (HybridCRF(exponents=(1, 0, 0)), "exponents must be 2 numbers"),
        (HybridCRF(emission="multinomial"), "needs values of at least 0"),
        (ManifoldSSVM(init="random"), "init must be one of"),
        (ManifoldSSVM(space="classes"), "space must be an output space"),
        (LabelSpreading(alpha=1.0), "alpha must be"),
        (LabelSpreading(TreeLeaves({"a": "r", "b": "r"})), "works on classes only"),
    ],
)
def test_bad_parameters_are_refused_by_name(model, said):
    with pytest.raises(ValueError, match=said):
        model.fit([[0.0, -1.0], [1.0, 2.0], [2.0, 1.0]], ["a", "b", None])


def test_outputs_given_only_in_part_are_refused():
    with pytest.raises(ValueError, match="completely given"):
        SupervisedSSVM(LabelSets("rg")).fit([[0.0], [1.0]], [(None, 1), None])


# --- limits ------------------------------------------------------------------------------------------


@EVERY_KIND
def test_without_the_graph_the_laplacian_method_is_the_supervised_one(kind):
    twin, y, X_new = halved(kind, seed=4)
    plain = SupervisedSSVM(twin.space, lam=0.01).fit(twin.X, y)
    limit = LaplacianSSVM(twin.space, gamma=0.0, lam=0.01, k=3).fit(twin.X, y)
    np.testing.assert_allclose(limit.weights_.W, plain.weights_.W, atol=1e-3)
    assert list(limit.predict(X_new)) == list(plain.predict(X_new))


@EVERY_KIND
def test_views_without_teaching_are_the_supervised_method(kind):
    twin, y, X_new = halved(kind, seed=5)
    plain = SupervisedSSVM(twin.space, lam=0.01).fit(twin.X, y)
    everything = np.arange(4)
    limit = CoSSVM(twin.space, C_u=0.0, views=(everything, everything), lam=0.01).fit(twin.X, y)
    assert list(limit.predict(X_new)) == list(plain.predict(X_new))
    np.testing.assert_allclose(limit.weights_[0].W, plain.weights_.W, atol=1e-2)


@EVERY_KIND
def test_without_generative_models_the_hybrid_is_the_random_field(kind):
    twin, y, X_new = halved(kind, seed=6)
    plain = SupervisedCRF(twin.space, lam=0.01).fit(twin.X, y)
    limit = HybridCRF(twin.space, exponents=(1.0, 0.0), lam=0.01).fit(twin.X, y)
    assert list(limit.predict(X_new)) == list(plain.predict(X_new))
    assert list(limit.outputs_) == list(plain.outputs_)


@pytest.mark.parametrize("kind", ["classes", "sequences-01", "sets-01"])
def test_without_neighbors_the_manifold_method_is_the_supervised_one(kind):
    twin, y, X_new = halved(kind, seed=7)
    plain = SupervisedSSVM(twin.space, lam=0.01).fit(twin.X, y)
    limit = ManifoldSSVM(twin.space, C1=0.0, init="supervised", lam=0.01, k=3).fit(twin.X, y)
    assert list(limit.predict(X_new)) == list(plain.predict(X_new))
    assert list(limit.outputs_) == list(plain.outputs_)


@EVERY_KIND
def test_with_all_outputs_given_the_manifold_method_is_the_supervised_one(kind):
    twin, _, X_new = halved(kind, seed=8)
    plain = SupervisedSSVM(twin.space, lam=0.01).fit(twin.X, twin.truth)
    limit = ManifoldSSVM(twin.space, lam=0.01, k=3).fit(twin.X, twin.truth)
    assert list(limit.predict(X_new)) == list(plain.predict(X_new))


# --- the parts of each method ------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), gamma=st.sampled_from([0.1, 1.0, 30.0]))
def test_both_warps_are_the_regularised_inner_product(seed, gamma):
    # The norm is w'(I + gamma M)w: features have the Gram matrix X (I + gamma M)^-1 X'.
    rng = np.random.default_rng(seed)
    X, labeled = rng.normal(size=(9, 4)), np.array([0, 2, 5])
    heat = np.abs(rng.normal(size=(9, 9)))
    L = sp.csr_matrix(laplacian.laplacian(heat + heat.T, normed=True))
    M = X.T @ (L @ X) * 4 / np.trace(X.T @ (L @ X))
    expected = X[labeled] @ np.linalg.solve(np.eye(4) + gamma * M, X[labeled].T)
    primal, to_weights = laplacian._warp_features(X, L, labeled, gamma)
    dual, to_expansion = laplacian._warp_kernel(X @ X.T, L, labeled, gamma * 4 / np.trace(X.T @ (L @ X)))
    np.testing.assert_allclose(primal @ primal.T, expected, atol=1e-8)
    np.testing.assert_allclose(dual @ dual.T, expected, atol=1e-8)
    # The way back predicts the labelled points as the features do.
    V = rng.normal(size=(4, 2))
    np.testing.assert_allclose(X[labeled] @ to_weights(V), primal @ V, atol=1e-8)
    U = rng.normal(size=(dual.shape[1], 2))
    np.testing.assert_allclose((X @ X.T @ to_expansion(U))[labeled], dual @ U, atol=1e-8)


def test_the_linear_laplacian_method_is_the_same_in_features_and_in_kernels(monkeypatch):
    problem = datasets.load("blobs", n=80, d=6, overlap=3.0)
    y = problem.hide(0.3)
    narrow = LaplacianSSVM(lam=0.01).fit(problem.X, y)
    padded = np.hstack([problem.X, np.zeros((80, 100))])  # more features than points: the dual way
    # gamma is relative to d, so that zeros count: undo it.
    wide = LaplacianSSVM(lam=0.01, gamma=10.0 * 7 / 107).fit(padded, y)
    np.testing.assert_allclose(wide.decision_function(padded), narrow.decision_function(problem.X), atol=2e-2)


def test_the_laplacian_method_is_at_the_minimum_of_its_objective():
    problem = datasets.load("blobs", n=60, d=5, overlap=4.0)
    y = problem.hide(0.4)
    model = LaplacianSSVM(problem.space, gamma=30.0, lam=0.01).fit(problem.X, y)
    X, W = model._coordinates(model._inputs), model.weights_.W
    L, _ = model._laplacian(problem.X)
    M = X.T @ (L @ X)
    A = np.eye(6) + 30.0 * 6 / np.trace(M) * M
    own, train = X[model._labeled], model._train
    # The norm is divided by the shrinkage of the features, which keeps lambda comparable.
    shrinkage = np.mean(np.sum(own**2, axis=1)) / np.mean(np.sum(own * np.linalg.solve(A, own.T).T, axis=1))
    costs = np.full(len(own), 1 / len(own))

    def objective(W):
        value, _, _ = smoothed_hinge(
            problem.space, own @ W, model.weights_.T, train.starts, train.codes, costs, 0.1, True
        )
        return 0.01 / 2 * np.sum(W * (A @ W)) / shrinkage + value

    assert objective(W) == pytest.approx(model.history_[-1].objective)
    rng = np.random.default_rng(0)
    others = [1.05 * W, 0.95 * W, *(W + 0.05 * rng.normal(size=W.shape) for _ in range(10))]
    assert objective(W) < min(map(objective, others))


def test_a_part_of_the_unlabelled_points_serves_the_kernel(monkeypatch):
    monkeypatch.setattr(laplacian, "MOST_PARTS", 100)
    problem = datasets.load("moons", n=300)
    model = LaplacianSSVM(kernel="rbf", lam=0.01).fit(problem.X, problem.hide(0.1))
    assert len(model._support) == 100
    assert model.score(problem.X, problem.y) > 0.9


def test_a_kernel_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(laplacian, "MOST_PARTS", 20)
    problem = datasets.load("moons", n=100)
    with pytest.raises(ValueError, match="labelled parts"):
        LaplacianSSVM(kernel="rbf").fit(problem.X, problem.y)


def test_views_are_stated():
    X, y = np.random.default_rng(0).normal(size=(20, 5)), [0, 1] * 5 + [None] * 10
    model = CoSSVM(Classes([0, 1]), lam=0.1).fit(X, y)
    assert model.views_source_ == "seeded halves"
    assert sorted(np.concatenate(model.views_).tolist()) == [0, 1, 2, 3, 4]
    assert CoSSVM(Classes([0, 1]), lam=0.1, views=([0, 1], [2, 3, 4])).fit(X, y).views_source_ == "given"


@EVERY_KIND
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), exact=st.booleans(), C1=st.sampled_from([0.0, 0.5, 2.0]))
def test_an_output_step_finds_the_lowest_cost(kind, seed, exact, C1):
    rng = np.random.default_rng(seed)
    n, k = 6, 2
    twin = problems.make(kind, rng, n)
    space, inputs = twin.space, (token_rows if kind.startswith("seq") else single_rows)(twin.X)
    S = 0.7 * rng.normal(size=(inputs.starts[-1], len(space)))
    T = rng.normal(size=(len(space),) * 2) if kind.startswith("seq") else np.zeros((len(space),) * 2)
    tokens = kind == "sequences-hamming"
    parts = inputs.starts[-1] if tokens else n
    neighbors = np.array([rng.choice(parts, k, replace=False) for _ in range(parts)])
    share = rng.dirichlet(np.ones(k), size=parts)
    Y = space.encode(twin.truth, inputs.starts)
    missing = space.encode([None] * n, inputs.starts)
    step = step_for(space)(space, neighbors, share, inputs.starts, missing, C1)
    moved = space.decode(step.move(S, T, Y, exact), inputs.starts)

    def graph_cost(i, y):
        if not tokens:
            pairs = zip(neighbors[i], share[i], strict=True)
            return sum(
                p * (twin.delta(y, twin.truth[j]) if np.shape(y) == np.shape(twin.truth[j]) else 1.0)
                for j, p in pairs
            )
        codes, own = space.encode([y]), range(inputs.starts[i], inputs.starts[i + 1])
        return np.mean([share[t] @ (Y[neighbors[t]] != c) for t, c in zip(own, codes, strict=True)])

    def score(i, y):
        codes, rows = space.encode([y]).ravel(), S[inputs.starts[i] : inputs.starts[i + 1]]
        if kind.startswith("sets"):
            return rows[0] @ codes
        return rows[np.arange(len(rows)), codes].sum() + T[codes[:-1], codes[1:]].sum()

    for i, y_new in enumerate(moved):
        outputs = twin.outputs_of(twin.X[i])
        values = {z: score(i, z) for z in outputs}
        z_fixed = max(outputs, key=lambda z: values[z] + twin.delta(twin.truth[i], z))

        def cost(y, i=i, values=values, z_fixed=z_fixed):
            worst = max(values[z] + twin.delta(y, z) for z in values) if exact else twin.delta(y, z_fixed)
            return worst - values[y] + C1 * graph_cost(i, y)

        lowest = min(map(cost, outputs))
        if tokens and exact:  # no closed form: never above the current output's
            assert cost(y_new) <= cost(twin.truth[i]) + 1e-9
        else:
            assert cost(y_new) == pytest.approx(lowest)


def test_the_fixed_z_step_relabels_to_the_runner_up():
    # Margin below 1 and no graph: the exact step keeps the best output, the paper's leaves it.
    step = step_for(Classes("ab"))(
        Classes("ab"), np.zeros((1, 0), int), np.zeros((1, 0)), np.array([0, 1]), np.array([-1]), 0.0
    )
    S, Y = np.array([[0.6, 0.1]]), np.array([0])
    assert step.move(S, np.zeros((2, 2)), Y, exact=True).tolist() == [0]
    assert step.move(S, np.zeros((2, 2)), Y, exact=False).tolist() == [1]


def test_a_collapse_is_reported():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = ["a"] * 9 + ["b"] + [None] * 50
    with pytest.warns(ConvergenceWarning, match="became the same"):
        ManifoldSSVM(lam=10.0, init="supervised").fit(X, y)


@pytest.mark.parametrize(
    ("family", "theirs"),
    [("multinomial", MultinomialNB(alpha=0.5)), ("bernoulli", BernoulliNB(alpha=0.5))],
)
def test_emissions_are_those_of_naive_bayes(family, theirs):
    rng = np.random.default_rng(0)
    X, codes = rng.integers(0, 3, size=(40, 6)).astype(float), rng.integers(0, 3, 40)
    space, starts = Classes([0, 1, 2]), np.arange(41)
    emission = FAMILIES[family](X, seed=0)
    phi = [emission.features(X)]
    model = estimate(space, [emission], count(space, phi, starts, *indicators(space, codes, starts)), 0.5)
    ours = phi[0] @ model.emissions[0][0] + model.emissions[0][1]
    reference = theirs.fit(phi[0], codes)._joint_log_likelihood(phi[0]) - theirs.class_log_prior_
    np.testing.assert_allclose(ours - ours[:, :1], reference - reference[:, :1], atol=1e-9)


def test_gaussian_emissions_without_shrinkage_are_those_of_naive_bayes():
    rng = np.random.default_rng(1)
    codes = np.arange(3000) % 3
    X = rng.normal(size=(3000, 4)) * (1 + codes[:, None]) + codes[:, None]
    space, starts = Classes([0, 1, 2]), np.arange(3001)
    emission = FAMILIES["gaussian"](X, seed=0)
    phi = [emission.features(X)]
    model = estimate(space, [emission], count(space, phi, starts, *indicators(space, codes, starts)), 1e-6)
    ours = phi[0] @ model.emissions[0][0] + model.emissions[0][1]
    theirs = GaussianNB().fit(X, codes)
    reference = theirs._joint_log_likelihood(X)
    np.testing.assert_allclose(ours - ours[:, :1], reference - reference[:, :1], atol=2e-2)


@pytest.mark.parametrize("kind", ["classes", "sequences-01", "sets-01"])
def test_generative_scores_are_the_logarithm_of_the_joint_probability(kind):
    rng = np.random.default_rng(2)
    twin = problems.make(kind, rng, n=30)
    inputs = (token_rows if kind.startswith("seq") else single_rows)(twin.X)
    space, starts, X = twin.space, inputs.starts, (inputs.rows > 0).astype(float)
    codes = space.encode(twin.truth, starts)
    emission = FAMILIES["bernoulli"](X, seed=0)
    counts = count(space, [X], starts, *indicators(space, codes, starts))
    ((S, T),) = estimate(space, [emission], counts, 0.5).potentials([X], starts)

    def bernoulli(x, chosen):
        theta = (X[chosen].sum(axis=0) + 0.5) / (chosen.sum() + 1.0)
        return np.sum(np.where(x > 0, np.log(theta), np.log(1 - theta)))

    def literal(i, y):
        tags, rows = space.encode([y]).ravel(), X[starts[i] : starts[i + 1]]
        if kind == "sets-01":
            return sum(
                np.log((codes[:, j] == tag).sum() + 1) + bernoulli(rows[0], codes[:, j] == tag)
                for j, tag in enumerate(tags)
            )
        value = sum(bernoulli(x, codes == tag) for x, tag in zip(rows, tags, strict=True))
        value += np.log((codes[starts[:-1]] == tags[0]).sum() + 1)
        own = np.repeat(np.arange(len(inputs)), np.diff(starts))
        for a, b in pairwise(tags):
            inside = own[1:] == own[:-1]
            moves = [((codes[:-1] == a) & (codes[1:] == c) & inside).sum() + 1 for c in range(len(space))]
            value += np.log(moves[b] / sum(moves))
        return value

    for i in range(5):
        outputs = twin.outputs_of(twin.X[i])
        rows, begins = S[starts[i] : starts[i + 1]], np.array([0, starts[i + 1] - starts[i]])
        ours = [code_scores(space, rows, T, begins, space.encode([y], begins))[0] for y in outputs]
        expected = np.array([literal(i, y) for y in outputs])
        np.testing.assert_allclose(ours - ours[0], expected - expected[0], atol=1e-9)


def test_em_counts_labelled_and_unlabelled_points():
    problem = datasets.load("blobs", n=90, classes=3)
    model = HybridCRF(problem.space, lam=0.01, exponents=(1.0, 1.0)).fit(problem.X, problem.hide(0.3))
    assert np.sum(np.exp(model._generative.prior) - 1) == pytest.approx(90)


def test_propagation_carries_given_outputs_along_the_graph():
    problem = datasets.load("gaussian_tree", n=45, overlap=1.5)
    y = problem.hide(per_class=2)
    model = ManifoldSSVM(problem.space, k=4, lam=0.01, init="propagation").fit(problem.X, y)
    neighbors, share = model._table(problem.X)
    given_codes = problem.space.encode(y)
    labeled = given_codes >= 0
    F = np.tile(np.eye(9)[given_codes[labeled]].mean(axis=0), (45, 1))
    for _ in range(50):
        F = np.array(
            [np.eye(9)[given_codes[i]] if labeled[i] else share[i] @ F[neighbors[i]] for i in range(45)]
        )
    F[labeled] = np.eye(9)[given_codes[labeled]]
    expected = (F @ problem.space.loss_matrix).argmin(axis=1)
    found = model._propagate(share_matrix(neighbors, share), np.flatnonzero(labeled))
    assert found.tolist() == expected.tolist()


def test_values_suggest_their_family():
    assert suitable_family(sp.csr_matrix([[0.0, 0.5], [2.0, 0.0]])) == "multinomial"
    assert suitable_family(sp.csr_matrix([[0.0, -0.5]])) == "gaussian"
    assert suitable_family(np.array([[0.0, 1.0], [1.0, 1.0]])) == "bernoulli"
    assert suitable_family(np.array([[0.0, 1.0], [0.3, 1.0]])) == "gaussian"


@EVERY_KIND
def test_the_gradient_of_the_exponents_equals_finite_differences(kind):
    twin, y, _ = halved(kind, seed=9)
    model = HybridCRF(twin.space, lam=0.01, folds=2, max_iter=1).fit(twin.X, y)
    members = [model._member(np.arange(4), np.arange(4, 8)), model._member(np.arange(4, 8), np.arange(4))]
    for member in members:
        member.restart(1.0)
    potentials = [member.test_potentials() for member in members]
    g = np.array([0.4, 0.3])
    _, gradient = _log_loss(members, potentials, g)
    for j, e in enumerate(1e-6 * np.eye(2)):
        rise = _log_loss(members, potentials, g + e)[0] - _log_loss(members, potentials, g - e)[0]
        assert gradient[j] == pytest.approx(rise / 2e-6, rel=1e-4, abs=1e-4)


# --- who must win where ------------------------------------------------------------------------------


def two_views(seed, n=400, d=20):
    """Classes that each of two independent views shows on its own, with few labels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    centres = 2.2 * rng.normal(size=(3, 2 * d)) / np.sqrt(d) * 1.6
    X = centres[codes] + rng.normal(size=(n, 2 * d))
    y = [int(c) if i < 15 else None for i, c in enumerate(codes)]
    views = (np.arange(d), np.arange(d, 2 * d))
    return datasets.Problem("views", codes.tolist(), Classes([0, 1, 2]), X, views=views), y


def test_independent_views_teach_each_other():
    losses = np.zeros(2)
    for seed in range(4):
        problem, y = two_views(seed)
        for i, model in enumerate([CoSSVM(views=problem.views), SupervisedSSVM()]):
            losses[i] += wrong_missing(model.fit(problem.X, y), problem, y)
    assert losses[0] < 0.8 * losses[1]


def test_on_a_pure_graph_neighbors_help():
    # Moons: no line separates them, their neighborhoods do.
    problem = datasets.load("moons", n=300, noise=0.08)
    y = problem.hide(per_class=4)
    rbf = LaplacianSSVM(kernel="rbf").fit(problem.X, y)
    alone = LaplacianSSVM(kernel="rbf", gamma=0.0).fit(problem.X, y)
    assert wrong_missing(rbf, problem, y) < 0.5 * wrong_missing(alone, problem, y)


def test_on_separate_clouds_the_manifold_method_beats_the_labelled_points_alone():
    rng = np.random.default_rng(0)
    codes = np.arange(240) % 4
    X = np.hstack([6 * np.eye(4)[codes], np.zeros((240, 26))]) + rng.normal(size=(240, 30))
    problem = datasets.Problem("clouds", codes.tolist(), Classes([0, 1, 2, 3]), X)
    y = problem.hide(per_class=1)
    losses = [
        wrong_missing(model.fit(X, y), problem, y)
        for model in (ManifoldSSVM(init="propagation", lam=0.01), SupervisedSSVM(lam=0.01))
    ]
    assert losses[0] < 0.5 * losses[1]


def test_on_a_hidden_markov_chain_the_hybrid_beats_the_random_field():
    losses = np.zeros(2)
    for seed in range(3):
        problem = datasets.load("hmm", n=160, noise=1.3, d=10, seed=seed)
        problem = problem.with_facts(space=Sequences(problem.space.names, loss="hamming"))
        y = problem.hide(0.08, seed=seed)
        for i, model in enumerate([HybridCRF(problem.space), SupervisedCRF(problem.space)]):
            losses[i] += wrong_missing(model.fit(problem.X, y), problem, y)
    assert losses[0] < 0.85 * losses[1]


# --- other libraries ---------------------------------------------------------------------------------


def test_label_spreading_and_self_training_leave_given_outputs_alone():
    problem = datasets.load("moons", n=120)
    y = problem.hide(0.2)
    for model in (LabelSpreading(), SelfTraining(), LabelSpreading(metric="cosine")):
        model.fit(problem.X, y)
        assert all(given in (None, output) for output, given in zip(model.outputs_, y, strict=True))
    assert LabelSpreading().fit(problem.X, y).score(problem.X, problem.y) > 0.95


@pytest.mark.parametrize(("package", "name"), [("sklearn_crfsuite", "hmm"), ("hiclass", "gaussian_tree")])
def test_optional_methods_run_where_they_are_installed(package, name):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    problem = datasets.load(name)
    model = baselines.OPTIONAL[package](problem.space).fit(problem.X, problem.hide(0.5))
    assert type(model) in baselines.offered(problem.space)
    assert model.score(problem.X, problem.y) > 0.25
