"""Settings travel by URL and back, and nonsense in a URL does no harm."""

from __future__ import annotations

import pytest

from sslsop_core import SSLSOP, Classes
from sslsop_ui.settings import ANCHORS, Settings, from_query, from_saved

NAMES = frozenset({"digits", "moons"})
OTHER = Settings(
    data="moons", knobs=(("n", 120), ("noise", 0.2)), labeled=0.3, data_seed=4, k=9, C=0.1, eta="auto",
    max_iter=7, output_step="paper", init="nearest", metric="cosine", weights="uniform", kernel="rbf",
    intercept=True, anchor=True, random_state=3,
)  # fmt: skip


@pytest.mark.parametrize("settings", [Settings(), OTHER])
def test_a_url_brings_every_setting_back(settings):
    assert from_query(settings.to_query(), NAMES) == settings


@pytest.mark.parametrize("anchor", ANCHORS)
def test_links_and_saved_runs_tell_the_three_pulls_apart(anchor):
    assert from_query({"anchor": str(anchor)}, NAMES).anchor is anchor
    assert from_saved({"data": "moons", "anchor": anchor}, NAMES).anchor is anchor  # as JSON reads it back


def test_sequences_are_pulled_to_their_start_unless_told_otherwise():
    assert Settings().parameters("euclidean")["anchor"] == SSLSOP().anchor == "auto"


def test_links_name_only_what_differs():
    assert Settings(k=9).to_query() == {"data": "digits", "k": "9"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data", "../secret"), ("k", "many"), ("k", "-1"), ("k", "999999999"), ("C", "nan"), ("eta", "inf"),
        ("max_iter", "1e9"), ("output_step", "rm -rf"), ("knobs", "[1"), ("knobs", '{"n": "x"}'),
        ("labeled", "7"), ("anchor", "true"),
    ],
)  # fmt: skip
def test_nonsense_in_a_url_keeps_the_default(name, text):
    assert from_query({name: text, "unknown": "1"}, NAMES) == Settings()


def test_the_metric_is_that_of_the_data_unless_chosen():
    space = Classes("ab")
    assert Settings().model(space, "cosine").metric == "cosine"
    assert Settings(metric="euclidean").model(space, "cosine").metric == "euclidean"
