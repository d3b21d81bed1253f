"""What is taken away is what was trained: files read back, the script repeats the run."""

from __future__ import annotations

import ast
import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from sslsop_core import datasets, load_model
from sslsop_ui import exports, figures, lesson_figures, new_rows
from sslsop_ui.maps import Maps
from sslsop_ui.run_map import RunMap
from sslsop_ui.runs import Run
from sslsop_ui.settings import Settings

ROOT = Path(__file__).resolve().parent.parent


def finished(name: str, source: str = "", **knobs) -> Run:
    problem = datasets.load(name, **knobs)
    told = "".join(f", {key}={value!r}" for key, value in knobs.items())
    settings = Settings(data=name, k=6, max_iter=5, labeled=0.2)
    run = Run(
        problem,
        problem.hide(labeled=0.2, seed=0),
        settings,
        source=source or f"datasets.load({name!r}{told})",
    )
    run.go()
    run.wait(60)
    return run


def test_outputs_and_history_read_back():
    run = finished("blobs", n=50)
    table = pd.read_csv(io.BytesIO(exports.outputs_csv(run)))
    assert table["output"].tolist() == list(run.model.outputs_)
    assert table["given"].sum() == 10
    assert pd.read_parquet(io.BytesIO(exports.outputs_parquet(run)))["output"].tolist() == list(
        run.model.outputs_
    )
    assert len(pd.read_csv(io.BytesIO(exports.history_csv(run)))) == run.n_iter


def test_sequences_are_written_as_tokens_and_tags():
    run = finished("hmm", n=30)
    blocks = exports.outputs_conll(run).decode().strip().split("\n\n")
    assert len(blocks) == 30
    assert [line.split("\t")[1] for line in blocks[0].split("\n")] == list(run.model.outputs_[0])


def outputs_of_the_script(run: Run, folder: Path) -> list[str]:
    (folder / "again.py").write_text(exports.script(run))
    command = [sys.executable, "again.py"]
    subprocess.run(
        command, cwd=folder, check=True, env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(folder)}
    )
    with (folder / "outputs.csv").open() as file:
        return [row["output"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", ["gaussian_tree", "hmm"])
def test_the_script_repeats_the_run_with_its_relabellings(name, tmp_path):
    run = finished(name, n=40)
    i = next(i for i, y in enumerate(run.given) if y is None)
    run.relabel({i: run.problem.y[i]})
    run.more(3)
    run.wait(30)
    run.relabel({i: None})
    run.undo()
    run.more(2)
    run.wait(30)
    assert outputs_of_the_script(run, tmp_path) == [str(output) for output in run.model.outputs_]
    assert load_model(tmp_path / f"{name}.sslsop").n_iter_ == run.n_iter


def test_pictures_are_what_they_say():
    drawn = RunMap(finished("blobs", n=50), Maps())
    assert Image.open(io.BytesIO(exports.map_png(drawn, 300, 200))).size == (300, 200)
    assert exports.map_svg(drawn).count(b"<circle") == 50


def test_the_html_map_stands_alone_and_its_data_cannot_close_the_script():
    run = finished("blobs", n=40)
    drawn = RunMap(run, Maps())
    drawn.symbols.names[0] = "</script><b>"
    page = exports.map_html(drawn).decode()
    assert page.count("</script>") == 1
    assert "http" not in page
    data = page.partition("const data = ")[2].partition(";\nmount(")[0]
    assert json.loads(data)["geometry"]["names"][0] == "</script><b>"


# --- new inputs --------------------------------------------------------------------------------------


def test_rows_come_with_or_without_a_line_of_names():
    assert new_rows.rows_of_csv(b"a,b\n1,2\n3,4\n", 2, blocks=False).tolist() == [[1, 2], [3, 4]]
    assert new_rows.rows_of_csv(b"1,2\n", 2, blocks=False).tolist() == [[1, 2]]
    assert [len(x) for x in new_rows.rows_of_csv(b"1,2\n3,4\n\n5,6\n", 2, blocks=True)] == [2, 1]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "empty"),
        (b"1,2,3\n", "must have 2 numbers"),
        (b"1,x\n2,y\n", "numbers only"),
        (b"\xff\xff", "UTF-8"),
    ],
)
def test_rows_that_make_no_sense_are_refused_in_words(data, told):
    with pytest.raises(ValueError, match=told):
        new_rows.rows_of_csv(data, 2, blocks=False)


def test_images_take_the_size_of_training():
    buffer = io.BytesIO()
    Image.new("RGB", (20, 10), "white").save(buffer, "PNG")
    assert new_rows.grey_images([buffer.getvalue()], (8, 6)).shape == (1, 8, 6)
    with pytest.raises(ValueError, match="'image 1' is not a readable image"):
        new_rows.grey_images([b"no image"], (8, 6))


def test_sentences_take_the_form_of_training():
    assert new_rows.sentences("Ana sleeps\n\nYes", [("a", "b")]) == [("Ana", "sleeps"), ("Yes",)]
    assert new_rows.sentences("Ana", [(("a", "N"),)]) == [(("Ana", ""),)]
    with pytest.raises(ValueError, match="at least one"):
        new_rows.sentences("  ", [("a",)])


# --- figures -----------------------------------------------------------------------------------------


def test_the_balance_counts_given_and_hidden():
    problem = datasets.load("blobs", n=50)
    given, hidden = figures.balance(problem.space, problem.y, problem.hide(labeled=0.2)).data
    assert sum(given.y) == 10
    assert sum(given.y) + sum(hidden.y) == 50


def test_the_tree_holds_every_node_and_adds_up():
    problem = datasets.load("gaussian_tree", n=90)
    drawn = figures.tree(problem.space, problem.y).data[0]
    assert len(drawn.ids) == len(problem.space.nodes)
    assert max(drawn.values) == 90


def test_the_history_has_a_line_for_the_objective_and_the_loss():
    lines = figures.run_history(finished("blobs", n=40).turns).data
    assert [line.name for line in lines] == ["objective", "loss on hidden outputs"]


def test_points_without_output_are_grey():
    X = np.random.default_rng(0).standard_normal((6, 2))
    names = [trace.name for trace in figures.scatter(X, np.array([-1, 0, 1, 0, -1, -1]), ["a", "b"]).data]
    assert names == ["hidden", "a", "b"]


def test_lesson_figures_draw_border_and_regions():
    X = np.random.default_rng(0).standard_normal((9, 2))
    codes = np.arange(9) % 2
    figure = lesson_figures.plane(X, codes, codes > 0)
    before = len(figure.data)
    lesson_figures.add_border(figure, X, np.array([[1.0, -1.0], [0.2, 0.1], [0.0, 0.0]]))
    lesson_figures.add_border(figure, X, np.zeros((3, 2)))
    assert len(figure.data) == before + 1
    across, up, nodes = lesson_figures.grid(X)
    lesson_figures.add_regions(figure, across, up, np.zeros(len(nodes), dtype=int))
    assert figure.data[0].type == "heatmap"


EVIL = [
    "=1+1",
    "@SUM(A1)",
    "+cmd|' /C calc'!A0",
    "-2+3",
    '''x"""); import os; os.abort()  # "''',
    "plain",
    "-1",
]


def evil_table() -> bytes:
    """A file whose names are formulas and code."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows([["a,b", "class"], *([str(i), EVIL[i % len(EVIL)]] for i in range(35))])
    return buffer.getvalue().encode()


def evil_run() -> Run:
    problem = datasets.read(evil_table(), name='"""\nraise SystemExit(7)  # <script>')
    run = Run(
        problem,
        list(problem.y),
        Settings(data="upload", labeled=1.0, max_iter=2, k=3),
        source="datasets.read('x')",
    )
    run.go()
    run.wait(60)
    return run


def require_text(shown: set[str]) -> None:
    """No cell is a formula, and all names are there."""
    assert {"plain", "-1"} <= shown  # a class that is a number stays one
    assert all(cell[0] not in "=+@" and (cell[0] != "-" or cell == "-1") for cell in shown)
    assert {cell.removeprefix("'") for cell in shown} == set(EVIL)


def test_no_cell_of_an_exported_table_is_a_formula():
    require_text(set(pd.read_csv(io.BytesIO(exports.outputs_csv(evil_run())), dtype=str)["output"]))


def test_no_cell_of_the_table_that_the_script_writes_is_a_formula(tmp_path):
    run = evil_run()
    (tmp_path / "evil.csv").write_bytes(evil_table())
    run.source, run.problem = "datasets.read('evil.csv')", replace(run.problem, name="evil")
    require_text(set(outputs_of_the_script(run, tmp_path)))


def test_names_from_a_file_do_not_become_code_of_the_script():
    script = exports.script(evil_run())
    calls = [node.func for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call)]
    assert {ast.unparse(call) for call in calls} <= {
        "datasets.read", "list", "SSLSOP", "model.fit", "print", "model.save", "open", "enumerate",
        "pd.DataFrame", "to_csv", "file.write", "problem.hide",
    }  # fmt: skip
    assert not any(isinstance(node, ast.Raise) for node in ast.walk(ast.parse(script)))
