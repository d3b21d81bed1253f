"""Maps: right shapes, the same every time, for every kind of input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sslsop_core.layout import graph_map, one_row_each, quick_map
from sslsop_core.neighbors import Search, build_graph

RNG = np.random.default_rng(0)
DENSE = RNG.standard_normal((40, 5))


@pytest.mark.parametrize(
    "X",
    [DENSE, sp.csr_matrix(DENSE), [DENSE[:3]] * 40, [sp.csr_matrix(DENSE[:3])] * 40, DENSE[:, :1]],
    ids=["dense", "sparse", "sequences", "sparse sequences", "one feature"],
)
def test_the_quick_map_has_two_coordinates_for_any_input(X):
    assert quick_map(X).shape == (40, 2)


def test_two_features_are_their_own_map():
    np.testing.assert_array_equal(quick_map(DENSE[:, :2]), DENSE[:, :2])


def test_a_sequence_is_the_sum_of_its_tokens():
    np.testing.assert_allclose(one_row_each([DENSE[:3], DENSE[3:]])[0], DENSE[:3].sum(axis=0))


@pytest.mark.parametrize("include_self", [True, False])
def test_the_graph_map_is_the_same_every_time(include_self):
    graph = build_graph(Search(DENSE, "euclidean", "exact", 1, 0), 8, include_self)
    first, again = (graph_map(DENSE, graph, epochs=20) for _ in range(2))
    assert first.shape == (40, 2)
    np.testing.assert_array_equal(first, again)
