"""Neighborhoods: right, the same for dense and sparse, with defined answers in the corners."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from sslsop_core.inputs import single_rows, token_rows
from sslsop_core.kernels import Kernel, gram_blocks
from sslsop_core.neighbors import Search, build_graph, given_graph, shares


def graph_of(X, k=4, metric="euclidean", include_self=True, method="exact"):
    return build_graph(Search(X, metric, method, 1, 0), k, include_self)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbors_are_the_nearest_points(metric, sparse):
    X = np.random.default_rng(0).normal(size=(40, 5))
    distances = pairwise_distances(X, metric=metric)
    graph = graph_of(sp.csr_matrix(X) if sparse else X, metric=metric)
    for i, row in enumerate(graph.neighbors):
        assert row[0] == i
        assert set(row) == set(np.argsort(distances[i])[:4])


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_single_precision_finds_the_neighbors_of_double_precision(offset):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5000, 20)) + offset).astype(np.float32)
    queries = X[:300] + rng.normal(scale=0.1, size=(300, 20)).astype(np.float32)
    single, double = (Search(Z, "euclidean", "exact", 2, 0) for Z in (X, X.astype(np.float64)))
    for ours, theirs in (
        (single.among(7), double.among(7)),
        (single.of(queries, 7), double.of(queries.astype(np.float64), 7)),
    ):
        assert np.allclose(ours[0], theirs[0], rtol=1e-3)
        assert np.mean(ours[1] == theirs[1]) > 0.999
        assert (np.diff(ours[0], axis=1) >= 0).all()


def test_single_precision_finds_the_same_neighbors_for_any_number_of_threads():
    X = np.random.default_rng(0).integers(0, 3, size=(2500, 16)).astype(np.float32)  # many equal distances
    X[1::2] = X[::2]  # and duplicates
    one, two = (Search(X, "euclidean", "exact", n_jobs, 0).among(6) for n_jobs in (1, 2))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])
    assert not (one[1] == np.arange(2500)[:, None]).any()
    assert all(len(set(row)) == 6 for row in one[1])


def test_sparse_search_finds_what_dense_search_finds():
    X = sp.random(1500, 60, density=0.1, format="csr", random_state=0, dtype=np.float32)
    queries = sp.random(40, 60, density=0.1, format="csr", random_state=1, dtype=np.float32)
    ours, theirs = (Search(Z, "euclidean", "exact", 2, 0) for Z in (X, X.toarray().astype(np.float64)))
    for (distances, found), (expected, _) in (
        (ours.among(5), theirs.among(5)),
        (ours.of(queries, 5), theirs.of(queries.toarray().astype(np.float64), 5)),
    ):
        assert np.allclose(distances, expected, atol=1e-3)
        assert found.max() < 1500


@pytest.mark.parametrize("sparse", [False, True])
def test_an_empty_row_is_no_neighbor_by_cosine_of_what_it_shares_nothing_with(sparse):
    X = np.vstack([np.abs(np.random.default_rng(0).normal(size=(30, 4))), np.zeros((3, 4))])
    graph = graph_of(sp.csr_matrix(X) if sparse else X, k=3, metric="cosine")
    assert (graph.neighbors[:30] < 30).all()
    assert (graph.neighbors[30:] >= 30).all()


def test_without_itself_a_point_is_never_its_own_neighbor():
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 5, axis=0)  # many duplicates
    graph = graph_of(X, k=6, include_self=False)
    assert not np.any(graph.neighbors == np.arange(30)[:, None])
    assert all(len(set(row)) == 6 for row in graph.neighbors)


def test_duplicates_do_not_push_a_point_out_of_its_own_neighborhood():
    graph = graph_of(np.zeros((30, 2)), k=3)
    assert (graph.neighbors[:, 0] == np.arange(30)).all()
    assert all(len(set(row)) == 3 for row in graph.neighbors)
    assert np.allclose(shares(graph.distances, "heat", graph.bandwidth), 1 / 3)


def test_too_large_k_is_lowered_with_a_warning():
    X = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.warns(UserWarning, match="k=5 is used"):
        assert graph_of(X, k=9).k == 5
    with pytest.warns(UserWarning, match="k=4 is used"):
        assert graph_of(X, k=9, include_self=False).k == 4


def test_a_single_point_is_its_own_neighborhood_or_an_error():
    assert graph_of(np.ones((1, 2)), k=1).neighbors.tolist() == [[0]]
    with pytest.raises(ValueError, match="single point"):
        graph_of(np.ones((1, 2)), k=1, include_self=False)


def test_approximate_search_finds_nearly_all_neighbors_every_time_the_same():
    X = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float32)
    exact, first = graph_of(X, k=10), graph_of(X, k=10, method="approximate")
    found = np.mean(
        [len(set(a) & set(b)) / 10 for a, b in zip(exact.neighbors, first.neighbors, strict=True)]
    )
    assert found > 0.95
    assert np.array_equal(first.neighbors, graph_of(X, k=10, method="approximate").neighbors)


def test_approximate_search_finds_the_same_for_any_number_of_threads():
    X = np.random.default_rng(0).normal(size=(3000, 24)).astype(np.float32)
    one, two = (Search(X, "euclidean", "approximate", n_jobs, 0) for n_jobs in (1, 2))
    for ours, theirs in (
        (one.among(10), two.among(10)),
        (one.of(X[:200] + 0.1, 10), two.of(X[:200] + 0.1, 10)),
    ):
        assert np.array_equal(ours[1], theirs[1])


def test_voters_are_the_reverse_of_neighbors():
    graph = graph_of(np.random.default_rng(0).normal(size=(25, 3)))
    starts, pairs = graph.voters(len(graph.neighbors))
    for j in range(25):
        expected = np.flatnonzero(graph.neighbors.ravel() == j)
        assert pairs[starts[j] : starts[j + 1]].tolist() == expected.tolist()


def test_heat_shares_fall_with_distance_and_sum_to_one():
    graph = graph_of(np.random.default_rng(0).normal(size=(25, 3)))
    heat = shares(graph.distances, "heat", graph.bandwidth)
    assert np.allclose(heat.sum(axis=1), 1)
    assert (np.diff(heat, axis=1) <= 0).all()
    far = shares(np.array([[1e3, 1e3 + 1]]), "heat", 1.0)
    assert np.isfinite(far).all()
    assert far[0, 0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((3, 2), dtype=int), "n = 4 rows"),
        (np.full((4, 2), 9), "indices from 0 to 3"),
        (np.zeros((4, 2), dtype=int), "twice"),
        (np.zeros((4, 1)), "integer table"),
        ((np.zeros((4, 1), dtype=int), np.full((4, 1), np.nan)), "finite"),
    ],
)
def test_a_bad_table_of_neighbors_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        given_graph(table, 4, 4)


def test_the_graph_of_other_points_is_refused():
    graph = graph_of(np.random.default_rng(0).normal(size=(25, 3)))
    assert given_graph(graph, 25, 25) is graph
    for n, among in ((30, 30), (25, 20)):
        with pytest.raises(ValueError, match="graph of these"):
            given_graph(graph, n, among)


@pytest.mark.parametrize("gamma", [None, 0.3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_blocks_are_kernel_values(gamma, sparse, dtype):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, 4)).astype(dtype) for length in (1, 3, 2, 2)]
    kernel = Kernel(gamma, intercept=True, scale=2.0)
    inputs = token_rows([sp.csr_matrix(x) for x in X] if sparse else X)
    neighbors = np.array([[0, 1], [3, 2], [2, 1], [1, 3]], dtype=np.int32)
    blocks, at = gram_blocks(inputs, neighbors, kernel, n_jobs=2)
    assert blocks.dtype == dtype
    for i, row in enumerate(neighbors):
        rows = np.vstack([X[j] for j in row]).astype(float)
        products = rows @ rows.T
        norms = np.diag(products)
        values = products / 2 if gamma is None else np.exp(-gamma * (norms[:, None] + norms - 2 * products))
        assert np.allclose(blocks[at[i] : at[i + 1]].reshape(values.shape), values + 1, atol=1e-5)
        chosen = inputs.only(np.arange(inputs.starts[row[0]], inputs.starts[row[0] + 1]))
        own = len(X[row[0]])
        assert np.allclose(kernel.matrix(chosen, chosen), values[:own, :own] + 1, atol=1e-5)


def test_inputs_of_different_widths_or_types_are_refused():
    with pytest.raises(ValueError, match="same number of features"):
        token_rows([np.zeros((2, 3)), np.zeros((2, 4))])
    with pytest.raises(ValueError, match=r"X\[1\]"):
        token_rows([np.zeros((2, 3)), np.full((2, 3), np.nan)])
    with pytest.raises(ValueError, match="all arrays or all sparse"):
        token_rows([np.zeros((2, 3)), sp.csr_matrix((2, 3))])
    with pytest.raises(ValueError, match="non-empty list"):
        token_rows([])
    assert single_rows(sp.csr_matrix(np.eye(3))).rows.indices.dtype == np.int32
