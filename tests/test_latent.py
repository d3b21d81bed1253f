"""Principal directions that the shared start learns along: what they are, and that they help."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as draw_given
from hypothesis import settings
from hypothesis import strategies as st

from sslsop_core import SSLSOP, Classes, Sequences, datasets, latent, load_model
from sslsop_core.inputs import single_rows
from sslsop_core.latent import folded, latent_directions, widened
from sslsop_core.ssvm import with_intercept


def lowrank(rng, n=60, d=20, rank=4):
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + 0.01 * rng.normal(size=(n, d))


@settings(max_examples=30, deadline=None)
@draw_given(st.integers(0, 1000), st.integers(0, 5), st.booleans(), st.booleans())
def test_folded_weights_score_rows_as_the_others_score_widened_ones(seed, r, sparse, constant):
    rng = np.random.default_rng(seed)
    X, directions = rng.normal(size=(7, 6)), rng.normal(size=(6, r))
    rows = with_intercept(X) if constant else X
    W = rng.normal(size=(rows.shape[1] + r, 3))
    wide = widened(sp.csr_matrix(rows) if sparse else rows, directions)
    assert np.allclose(wide @ W, rows @ folded(W, directions))


def test_directions_are_the_leading_ones_and_as_long_as_the_rows():
    X = lowrank(np.random.default_rng(0))
    directions = latent_directions(single_rows(X), 4, 0)
    exact = np.linalg.svd(X)[2][:4].T
    assert np.allclose(directions @ np.linalg.pinv(directions), exact @ exact.T, atol=1e-6)
    assert np.sum((X @ directions) ** 2) == pytest.approx(np.sum(X**2))


def test_directions_are_those_of_sparse_rows_and_of_rows_in_another_order():
    rng = np.random.default_rng(1)
    X = lowrank(rng)
    first = latent_directions(single_rows(X), 4, 0)
    for rows in (sp.csr_matrix(X), X[rng.permutation(len(X))]):
        again = latent_directions(single_rows(rows), 4, 0)
        assert np.allclose(again @ again.T, first @ first.T, atol=1e-6)


def test_rows_of_zeros_have_no_directions():
    assert latent_directions(single_rows(np.zeros((5, 4))), 2, 0).shape == (4, 0)


def synonyms(rng, n=120, words=40):
    """Two topics with a vocabulary each; a text has few of its words, so two texts seldom share any."""
    topics = rng.integers(0, 2, n)
    X = np.zeros((n, 2 * words))
    for row, topic in zip(X, topics, strict=True):
        row[rng.choice(words, 6, replace=False) + words * topic] = 1.0
    return X, topics.tolist()


def start_errors(X, y, given, **parameters):
    """Errors of the shared predictor alone, which local ones have hardly left."""
    model = SSLSOP(Classes([0, 1]), init="global", eta=1e-9, max_iter=1, **parameters).fit(X, given)
    return np.mean([a != b for a, b in zip(model.outputs_, y, strict=True)])


def test_words_without_a_labelled_text_count_like_those_they_go_with():
    X, y = synonyms(np.random.default_rng(0))
    given = [output if i < 4 else None for i, output in enumerate(y)]
    assert set(given[:4]) == {0, 1}
    assert start_errors(X, y, given, latent=2) == 0
    assert start_errors(X, y, given, latent=0) > 0.05


@pytest.mark.parametrize("init", ["guided", "hybrid"])
def test_few_columns_have_no_directions_among_them(init):
    problem = datasets.load("blobs", n=60)
    y = problem.hide(0.3)
    plain, more = (
        SSLSOP(init=init, latent=latent, max_iter=3).fit(problem.X, y).decision_function(problem.X)
        for latent in (0, problem.X.shape[1])
    )
    assert np.array_equal(plain, more)


@pytest.mark.parametrize("init", ["guided", "hybrid"])
def test_many_points_are_drawn_from(init, monkeypatch):
    monkeypatch.setattr(latent, "MOST_POINTS", 50)
    X, y = synonyms(np.random.default_rng(0))
    given = [output if i < 10 else None for i, output in enumerate(y)]
    model = SSLSOP(init=init, latent=2).fit(X, given)
    assert np.mean([a == b for a, b in zip(model.outputs_, y, strict=True)]) > 0.95


def test_tokens_of_sequences_have_directions_too():
    X, y = synonyms(np.random.default_rng(0), n=240)
    sequences, tags = list(X.reshape(60, 4, -1)), [tuple(tag) for tag in np.reshape(y, (60, 4)).tolist()]
    given = [output if i < 4 else None for i, output in enumerate(tags)]
    wrong = {}
    for count in (0, 2):
        model = SSLSOP(Sequences([0, 1]), init="global", latent=count, eta=1e-9, max_iter=1)
        learned = model.fit(sequences, given).outputs_
        wrong[count] = np.mean([a != b for a, b in zip(learned, tags, strict=True)])
    assert wrong[2] < wrong[0] / 2


def test_a_model_with_directions_is_kept_in_a_file(tmp_path):
    X, y = synonyms(np.random.default_rng(0))
    given = [output if i < 10 else None for i, output in enumerate(y)]
    for init in ("guided", "hybrid"):
        model = SSLSOP(init=init, latent=2, max_iter=3).fit(X, given)
        model.save(tmp_path / "model.sslsop")
        loaded = load_model(tmp_path / "model.sslsop")
        assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
        assert loaded.latent == 2
