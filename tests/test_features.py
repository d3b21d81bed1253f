"""Feature pipelines: learned from training rows, the same to the bit after being stored, safe to load."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from sslsop_core.datasets import Problem, load
from sslsop_core.features import (
    BagOfPatches,
    Hog,
    Pixels,
    Standardise,
    Texture,
    TokenFeatures,
    WordsAndLinks,
    from_state,
)
from sslsop_core.features.tokens import token_features, word_shape
from sslsop_core.spaces import Classes

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 32, 40), dtype=np.uint8)
SENTENCES = [("Ana", "lives", "in", "Paris"), ("Rain", "in", "Rome"), ("Ana", "left", "Rome", ".")] * 2
TABLE = np.where(RNG.uniform(size=(12, 3)) < 0.2, np.nan, RNG.standard_normal((12, 3)))
COUNTS = sparse.csr_matrix(RNG.integers(0, 2, (12, 9)).astype(float))

CASES = {
    "standardise": (Standardise(), TABLE),
    "pixels": (Pixels(), IMAGES),
    "letters": (Pixels(), [IMAGES[:2], IMAGES[2:5], IMAGES[5:6]]),
    "hog": (Hog(cell=8, components=4), IMAGES),
    "texture": (Texture(components=4), IMAGES),
    "bag": (BagOfPatches(words=5, patch=4), IMAGES),
    "links": (WordsAndLinks(n_words=6), COUNTS),
    "tokens": (TokenFeatures(min_count=1), SENTENCES),
}


def dense(X):
    parts = X if isinstance(X, list) else [X]
    return np.concatenate([part.toarray() if sparse.issparse(part) else part for part in parts])


@pytest.fixture(params=list(CASES))
def fitted(request):
    pipeline, inputs = CASES[request.param]
    return pipeline.fit(inputs), inputs


def test_a_stored_pipeline_transforms_the_same_to_the_bit(fitted):
    pipeline, inputs = fitted
    meta, arrays = pipeline.to_state()
    copied = {name: array.copy(order="F") for name, array in arrays.items()}  # memory order is not stored
    again = from_state(json.loads(json.dumps(meta)), copied)
    assert np.array_equal(dense(again.transform(inputs)), dense(pipeline.transform(inputs)))


def test_features_are_finite_and_have_one_row_per_input(fitted):
    pipeline, inputs = fitted
    X = pipeline.transform(inputs)
    n = inputs.shape[0] if sparse.issparse(inputs) else len(inputs)
    assert len(X if isinstance(X, list) else dense(X)) == n
    assert np.isfinite(dense(X)).all()
    assert np.ptp(dense(X)) > 0


def test_rows_have_unit_length_where_promised():
    for case in ("pixels", "hog", "texture", "bag", "links"):
        pipeline, inputs = CASES[case]
        lengths = np.linalg.norm(dense(pipeline.fit(inputs).transform(inputs)), axis=1)
        np.testing.assert_allclose(lengths, 1.0, rtol=1e-12)


def test_an_unfitted_pipeline_says_so():
    with pytest.raises(ValueError, match="not fitted"):
        Hog().to_state()
    with pytest.raises(ValueError, match="not fitted"):
        Standardise().transform(TABLE)


def damaged(change):
    """State of a table pipeline, changed."""
    meta, arrays = Standardise().fit(TABLE).to_state()
    return change(meta, dict(arrays))


@pytest.mark.parametrize(
    "change",
    [
        lambda m, a: (None, a),
        lambda m, a: ({"features": "standardise"}, a),
        lambda m, a: (m | {"features": "nothing"}, a),
        lambda m, a: (m | {"features": ["standardise"]}, a),
        lambda m, a: (m | {"params": {"scale": "yes"}}, a),
        lambda m, a: (m | {"params": {"scale": 1}}, a),
        lambda m, a: (m | {"params": {"scale": True, "more": 1}}, a),
        lambda m, a: (m | {"params": [True]}, a),
        lambda m, a: (m, {}),
        lambda m, a: (m, a | {"more": a["mean_"]}),
        lambda m, a: (m, a | {"mean_": a["mean_"][:-1]}),
        lambda m, a: (m, a | {"mean_": a["mean_"][None]}),
        lambda m, a: (m, a | {"mean_": a["mean_"].astype(np.float32)}),
        lambda m, a: (m, a | {"mean_": a["mean_"].tolist()}),
        lambda m, a: (m, a | {"mean_": a["mean_"] * np.nan}),
        lambda m, a: (m, a | {"scale_": a["scale_"] * 0}),
        lambda m, a: (m, {name: array[:0] for name, array in a.items()}),
    ],
)
def test_a_damaged_state_is_refused(change):
    with pytest.raises(ValueError, match=r"must|damaged"):
        from_state(*damaged(change))


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]", '["a", "a"]', "[", "[]", "\xff"])
def test_a_damaged_vocabulary_is_refused(text):
    meta, _ = TokenFeatures(min_count=1).fit(SENTENCES).to_state()
    with pytest.raises(ValueError, match="vocabulary_"):
        from_state(meta, {"vocabulary_": np.frombuffer(text.encode("latin-1"), dtype=np.uint8)})


def test_a_dictionary_must_fit_its_patches_and_words_their_weights():
    meta, arrays = BagOfPatches(words=5, patch=4).fit(IMAGES).to_state()
    with pytest.raises(ValueError, match="dictionary_"):
        from_state(meta, {"dictionary_": arrays["dictionary_"][:, 1:]})
    meta, arrays = WordsAndLinks(n_words=6).fit(COUNTS).to_state()
    with pytest.raises(ValueError, match="weights_"):
        from_state(meta, arrays | {"weights_": arrays["weights_"][1:]})


@pytest.mark.parametrize(
    ("pipeline", "inputs", "text"),
    [
        (Hog(cell=2), IMAGES, "cell must be a whole number between 4 and 256; got 2"),
        (Hog(cell=20), IMAGES, "cell must be at most half the image's side, 16"),
        (Hog(whiten=2.0), IMAGES, "whiten must be a number between"),
        (Hog(cell=8), IMAGES[:1], "at least two images"),
        (Hog(), IMAGES.astype(float), "one uint8 array"),
        (Texture(), IMAGES[:, :20], "32 x 32"),
        (BagOfPatches(patch=40), IMAGES, "patch must fit"),
        (Standardise(), [[np.inf]], "infinity in row 0, column 0"),
        (Standardise(), [1.0], "must be a table"),
        (WordsAndLinks(n_words=20), COUNTS, "at least n_words=20"),
        (TokenFeatures(), ["one text"], "sequence of words"),
        (TokenFeatures(), [[]], "sequence of words"),
        (TokenFeatures(), [[1, 2]], "words or tuples"),
        (TokenFeatures(min_count=50), SENTENCES, "lower min_count"),
    ],
)
def test_wrong_parameters_and_inputs_are_refused(pipeline, inputs, text):
    with pytest.raises(ValueError, match=text):
        pipeline.fit(inputs)


@pytest.mark.parametrize(
    ("case", "other"),
    [
        ("standardise", TABLE[:, :2]),
        ("pixels", IMAGES[:, 1:]),
        ("hog", IMAGES[:, :24]),
        ("links", COUNTS[:, :8]),
    ],
)
def test_inputs_of_another_shape_than_in_training_are_refused(case, other):
    pipeline, inputs = CASES[case]
    with pytest.raises(ValueError, match="training"):
        pipeline.fit(inputs).transform(other)


def test_gaps_take_the_median_of_training():
    pipeline = Standardise(scale=False).fit([[1.0], [2.0], [9.0], [np.nan]])
    assert pipeline.transform([[np.nan], [5.0]]).tolist() == [[2.0], [5.0]]


def test_constant_images_do_not_blow_up():
    X = Hog(cell=8, components=4, whiten=1.0).fit_transform(np.full((5, 32, 32), 7, dtype=np.uint8))
    assert np.array_equal(X, np.zeros_like(X))


def test_word_shapes():
    shapes = ["Xx", "X", "d", "Xx-d", "x.x", "_", "Xx"]
    assert [word_shape(w) for w in ["Ana", "EFE", "2000", "Mercosur-20", "a.b", "_", "Ñandú"]] == shapes


def test_a_token_is_described_by_itself_and_by_its_neighbors():
    found = set(token_features([("In", "IN"), ("Rome", "NP")], 1))
    assert {"w=Rome", "low=rome", "shape=Xx", "pre=R", "suf=ome", "col1=NP", "-1:low=in", "+1:edge"} <= found
    assert "suf=Rome" not in found


def test_token_views_part_the_columns_by_template():
    pipeline = TokenFeatures(min_count=1).fit(SENTENCES)
    own, context = pipeline.views()
    assert sorted([*own, *context]) == list(range(len(pipeline.names())))
    assert {pipeline.names()[c].partition("=")[0] for c in own} == {"w", "low", "pre", "suf"}


def tokens_problem():
    y = ["a", "b", "c"] * 2
    return Problem("tokens", y, Classes("abc"), inputs=list(SENTENCES), features=TokenFeatures(min_count=1))


def test_split_learns_from_the_training_rows_only():
    problem = tokens_problem()
    train, test = [0, 3], [1, 2]
    X_train, X_test = problem.split(train, test)
    alone = TokenFeatures(min_count=1).fit([SENTENCES[i] for i in train])
    expected = alone.transform([SENTENCES[i] for i in test])
    names, all_names = alone.names(), problem.fitted.names()
    columns = [all_names.index(name) for name in names]
    for x, x_alone in zip(X_test, expected, strict=True):
        assert np.array_equal(x.toarray()[:, columns], x_alone.toarray())
        assert x.nnz == x_alone.nnz  # what training never saw is zero
    assert X_train[0].shape[1] == X_test[0].shape[1] == problem.d


def test_split_of_images_differs_from_features_fitted_on_all():
    features = Hog(cell=8, components=3)
    problem = Problem("images", list("ab") * 6, Classes("ab"), inputs=IMAGES, features=features)
    X_train, X_test = problem.split(range(8), range(8, 12))
    expected = Hog(cell=8, components=3).fit(IMAGES[:8])
    assert np.array_equal(X_test, expected.transform(IMAGES[8:]))
    assert np.array_equal(X_train, expected.transform(IMAGES[:8]))
    assert not np.allclose(X_test, problem.X[8:])


def test_cora_has_words_and_links_as_views():
    problem = load("cora")
    words, links = problem.views
    assert (len(words), len(links)) == (1433, 2708)
    X_train, X_test = problem.split(range(100), range(100, 150))
    assert X_train.shape == (100, 4141)
    assert X_test.shape == (50, 4141)
