"""What is packed for the map is what the run did."""

from __future__ import annotations

from base64 import b64decode

import numpy as np
import pytest

from sslsop_core import Classes, LabelSets, Sequences, TreeLeaves, datasets
from sslsop_ui.demo import demo
from sslsop_ui.map_data import Geometry, among_shown, frames, live_count, overlay, sample
from sslsop_ui.maps import Maps
from sslsop_ui.run_map import map_of, preview_parts
from sslsop_ui.runs import Run
from sslsop_ui.settings import Settings
from sslsop_ui.symbols import Symbols, text_of


def unpacked(text: str, dtype: str) -> np.ndarray:
    return np.frombuffer(b64decode(text), dtype)


def finished(name: str, **knobs) -> Run:
    problem = datasets.load(name, **knobs)
    run = Run(problem, problem.hide(labeled=0.3), Settings(data=name, k=6, max_iter=4))
    run.go()
    run.wait(60)
    return run


def test_a_cell_holds_symbol_change_and_mistake():
    yes, no = np.array([True]), np.array([False])
    packed = frames([np.array([4]), np.array([-1])], [yes, no], [no, yes], first=3, run="r", n_names=10)
    assert unpacked(packed["cells"], "u1").tolist() == [5 | 128, 0 | 64]
    assert (packed["first"], packed["count"], packed["bytes"]) == (3, 2, 1)


def test_many_outputs_take_two_bytes():
    packed = frames([np.array([300])], [np.array([True])], [np.array([True])], first=0, run="r", n_names=400)
    assert unpacked(packed["cells"], "<u2").tolist() == [301 | 0x8000 | 0x4000]


def test_geometry_is_scaled_to_its_box_and_named_by_its_content():
    xy, near = np.array([[0.0, 5.0], [10.0, 6.0], [5.0, 7.0]]), np.array([[0, 1], [1, 2], [2, 0]])
    one, two = Geometry(xy, near, ["a"]), Geometry(xy + 1, near, ["a"])
    assert unpacked(one.packed()["xy"], "<u2").reshape(3, 2)[:, 0].tolist() == [0, 65535, 32767]
    assert one.version != two.version
    assert one.version == Geometry(xy, near, ["a"]).version


def test_too_many_points_become_a_sample_with_the_labelled_first():
    labeled = np.zeros(500, dtype=bool)
    labeled[:7] = True
    shown = sample(500, labeled, most=50)
    assert len(shown) == 50
    assert set(range(7)) <= set(shown.tolist())
    assert sample(50, labeled[:50], most=50) is None
    near = among_shown(np.arange(500)[:, None] + np.array([[0, 1]]) % 500 % 499, shown)
    assert near.max() < 50


def test_live_updates_stay_small():
    assert live_count(10_000, 10) * 10_000 <= 100_000
    assert live_count(10**7, 10) == 1


def test_margins_are_ranked_and_unknown_truth_is_left_out():
    packed = overlay(np.zeros(3, dtype=bool), truth=np.full(3, -1), margins=np.array([0.5, np.nan, 9.0]))
    assert packed["truth"] is None
    assert unpacked(packed["margins"], "u1").tolist() == [127, 0, 255]


@pytest.mark.parametrize("name", ["blobs", "gaussian_tree", "hmm", "label_mixture"])
def test_the_map_of_a_run_shows_its_iterations(name):
    run = finished(name, n=50)
    drawn = map_of(run, Maps())
    assert map_of(run, Maps()) is drawn
    geometry, cells = drawn.geometry(), unpacked(drawn.frames(live=False)["cells"], "u1").reshape(-1, 50)
    assert len(geometry) == 50
    assert len(cells) == run.n_iter + 1
    assert ((cells[1:] & 128) > 0).sum(axis=1)[1:].tolist() == [t.iteration.n_changed for t in run.turns][1:]
    over = drawn.overlay([3], [(1, 0.5)])
    assert over["selection"] == [3]
    assert over["selectable"]


def test_a_problem_without_a_map_shows_pca_until_umap_is_there():
    run = finished("blobs", n=60, d=5)
    maps = Maps()
    drawn = map_of(run, maps)
    drawn.geometry()
    assert "UMAP is being computed" in drawn.how
    maps._pool.shutdown(wait=True)
    drawn.geometry()
    assert drawn.how == "UMAP of the neighborhood graph"
    assert drawn.final


def test_the_map_before_a_run_shows_the_given_outputs():
    problem = datasets.load("blobs", n=40)
    given = problem.hide(labeled=0.2)
    geometry, start, over = preview_parts(problem, given, Maps(), "key")
    cells = unpacked(start["cells"], "u1")
    assert (cells > 0).sum() == sum(y is not None for y in given)
    assert geometry.flat
    assert not over["selectable"]


def test_the_first_page_has_a_finished_run():
    shown = demo()
    assert shown.n == 1797
    assert shown.n_labeled == 18
    assert shown.right > 0.8


def test_symbols_are_the_output_or_its_rarest_part():
    starts = np.arange(4)
    assert Symbols(Classes("ab"), np.array([0, 1]), starts)(np.array([1, -1, 0])).tolist() == [1, -1, 0]
    tree = TreeLeaves({"a": "x", "b": "x", "x": "root", "c": "root"})
    assert Symbols(tree, np.array([0]), starts)(tree.encode(["x", "c", None])).tolist() == [-1, 2, -1]
    tags = Sequences(["O", "B"])
    known = tags.encode([("O", "O", "B")])
    assert Symbols(tags, known, np.array([0, 2, 3]))(np.array([0, 1, 0])).tolist() == [1, 0]
    labels = LabelSets(["common", "rare"])
    found = Symbols(labels, labels.encode([(1, 0), (1, 1)]), starts)
    assert found(labels.encode([(1, 1), (0, 0), None])).tolist() == [1, 2, -1]
    assert found.names[2] == "empty set"


def test_outputs_are_told_in_one_line():
    assert text_of(Classes("ab"), None) == "no output yet"
    assert text_of(Sequences("ab"), ("a", "b")) == "ab"
    assert text_of(Sequences(["B-X", "O"]), ("B-X", None)) == "B-X ?"
    assert text_of(LabelSets(["p", "q"]), (1, 1)) == "p, q"
    assert text_of(LabelSets(["p", "q"]), (0, 0)) == "empty set"
