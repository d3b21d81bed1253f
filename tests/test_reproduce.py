"""The paper's experiments by one command: the report holds what was measured, and only that."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sslsop_core import SSLSOP, datasets, reproduce
from sslsop_core.evaluation import Cell, Comparison, Store, Sweep, repeat_cells
from sslsop_core.evaluation.benchmarks import AUTHORS, BENCHMARKS, METHODS, PAPER, QUICK, Benchmark
from sslsop_core.evaluation.report import (
    Result,
    chosen,
    details,
    html_report,
    markdown,
    overview,
    verdict,
)

ROOT = Path(__file__).parents[1]
COMMAND = ["--quick", "--problems", "gaussian_tree", "hmm", "--folds", "2", "--jobs", "1"]
COMMAND += ["--methods", "SSLSOP", "SSLSOP-paper", "SupervisedSSVM"]


class Outline(HTMLParser):
    """Headings, table cells, and everything the page would fetch."""

    def __init__(self, page):
        super().__init__()
        self.headings, self.cells, self.fetched, self._tag = [], [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self._tag = tag
        self.fetched += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        if self._tag in ("h1", "h2", "h3"):
            self.headings.append(data.strip())
        if self._tag in ("td", "th"):
            self.cells.append(data.strip())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run of the command, as a user starts it; its folder and what it printed."""
    folder = tmp_path_factory.mktemp("reproduce")
    command = [*COMMAND, "--out", str(folder / "report"), "--store", str(folder / "home")]
    done = subprocess.run(
        [sys.executable, "-m", "sslsop_core.reproduce", *command], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder, done


def test_the_quick_run_prints_a_table_and_writes_a_report(run):
    folder, done = run
    assert re.search(r"\| SSLSOP \| 0\.\d{3} ± \d\.\d{3} \| 0\.\d{3} ± ", done.stdout)
    assert "s left" in done.stderr
    page = Outline((folder / "report" / "report.html").read_text(encoding="utf-8"))
    assert {"gaussian_tree", "Sensitivity to k", "Sensitivity to C", "Running time"} <= set(page.headings)
    assert any(heading.startswith("hmm: ") for heading in page.headings)
    shown = {"SSLSOP", "SSLSOP-paper", "SupervisedSSVM", "hamming", "loss / height", "p, Wilcoxon"}
    assert shown <= set(page.cells)


def test_k_and_C_are_swept_with_all_else_as_tuning_set_it_on_most_folds():
    chosen = [{"init": "guided", "anchor": True}, {"init": "spread"}, {"init": "guided", "anchor": True}]
    cells = [Cell("SSLSOP", fold, 0.3, 9, 1, parameters=each) for fold, each in enumerate(chosen)]
    cells += [Cell("SupervisedSSVM", fold, 0.3, 9, 1, parameters={"lam": 0.1}) for fold in range(9)]
    swept = reproduce.usual_setting(SSLSOP(init="hybrid", k=9), Comparison(cells, "SSLSOP"))
    assert (swept.init, swept.anchor, swept.k) == ("guided", True, 9)
    untuned = Comparison([Cell("SSLSOP", 0, 0.3, 9, 1)], "SSLSOP")
    assert reproduce.usual_setting(SSLSOP(), untuned).init == SSLSOP().init


def test_the_report_needs_nothing_from_outside(run):
    folder, _ = run
    page = (folder / "report" / "report.html").read_text(encoding="utf-8")
    assert Outline(page).fetched == []
    assert page.count("plotly.js v") == 1  # inlined, and once


def test_a_second_run_computes_nothing(run, capsys):
    folder, done = run
    store = Store(folder / "home")
    before = [cell for record in store.runs() for cell in store.cells(record.id)]
    assert reproduce.main([*COMMAND, "--out", str(folder / "again"), "--store", str(folder / "home")]) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert table == [line for line in done.stdout.splitlines() if line.startswith("|")]
    after = [cell for record in store.runs() for cell in store.cells(record.id)]
    assert len(after) == 2 * len(before)
    assert {repr(cell) for cell in after} == {repr(cell) for cell in before}  # to the last digit of the clock
    assert {record.status for record in store.runs()} == {"finished"}


def test_methods_can_be_computed_apart_and_again(tmp_path):
    command = ["--problems", "moons", "--folds", "2", "--tune", "2", "--jobs", "1", "--no-sweeps"]
    command += ["--out", str(tmp_path / "out"), "--store", str(tmp_path / "home")]
    assert reproduce.main([*command, "--methods", "SupervisedSSVM"]) == 0
    assert reproduce.main([*command, "--methods", "SSLSOP", "SupervisedSSVM"]) == 0
    store = Store(tmp_path / "home")
    supervised = [c for r in store.runs() for c in store.cells(r.id) if c.method == "SupervisedSSVM"]
    assert len({cell.fit_seconds for cell in supervised}) == 2  # found the second time
    assert reproduce.main([*command, "--methods", "SupervisedSSVM", "--again", "SupervisedSSVM"]) == 0
    supervised = [c for r in store.runs() for c in store.cells(r.id) if c.method == "SupervisedSSVM"]
    assert len({cell.fit_seconds for cell in supervised}) == 4


def timeless(cells):
    plain = [replace(cell, fit_seconds=0.0, predict_seconds=0.0, tune_seconds=0.0) for cell in cells]
    return sorted(plain, key=repr)


def test_its_runs_are_repeated_from_their_records(tmp_path):
    command = ["--quick", "--problems", "moons", "--folds", "2", "--tune", "2", "--jobs", "1"]
    command += ["--methods", "SSLSOP", "SSLSOP-paper", "SupervisedSSVM"]
    assert reproduce.main([*command, "--out", str(tmp_path / "out"), "--store", str(tmp_path / "home")]) == 0
    store = Store(tmp_path / "home")
    assert [record.kind for record in store.runs()] == ["sweep", "sweep", "compare"]
    for record in store.runs():
        assert timeless(repeat_cells(record)) == timeless(store.cells(record.id))


def test_again_forgets_the_cells_of_the_class(tmp_path):
    command = ["--problems", "moons", "--folds", "2", "--tune", "0", "--jobs", "1", "--no-sweeps"]
    command += ["--methods", PAPER, "--out", str(tmp_path / "out"), "--store", str(tmp_path / "home")]
    for more in ([], [], ["--again", PAPER]):
        assert reproduce.main([*command, *more]) == 0
    store = Store(tmp_path / "home")
    third, second, first = (store.cells(record.id) for record in store.runs())
    assert first == second
    assert timeless(third) == timeless(first)
    assert third != first


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--folds", "1"], "--folds: must be a whole number between 2 and"),
        (["--folds", "many"], "--folds: must be a whole number between 2 and"),
        (["--labeled", "2"], "--labeled: must be a share above 0 and at most 1; got 2"),
        (["--labeled", "x"], "--labeled: invalid share value: 'x'"),
        (["--tune", "-1"], "--tune: must be a whole number between 0 and"),
        (["--jobs", "0"], "--jobs: must be a whole number between 1 and"),
        (["--seed", "-1"], "--seed: must be a whole number between 0 and"),
        (["--again", "Nobody"], "--again: invalid choice"),
        (["--folds", "900", "--problems", "moons"], "folds must be a whole number between 2 and 400"),
    ],
)
def test_bad_options_are_told_as_such(options, told, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        reproduce.main([*options, "--store", str(tmp_path)])
    assert end.value.code == 2
    assert told in capsys.readouterr().err


def test_data_that_cannot_be_had_are_named_and_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pooch.retrieve", lambda *_, **__: (_ for _ in ()).throw(OSError("offline")))
    command = ["--data", str(tmp_path / "none"), "--problems", "cora_ml", "--store", str(tmp_path)]
    monkeypatch.setenv("SSLSOP_DATA", "")  # restored afterwards
    assert reproduce.main(command) == 1
    assert "cora_ml is left out: cora/cora_ml.npz must be in the data folder" in capsys.readouterr().err


def test_the_four_benchmarks_and_the_paper_s_methods_are_there():
    assert [benchmark.name for benchmark in BENCHMARKS] == ["mias", "sun15", "cora_ml", "conll2002"]
    assert [benchmark.paper[PAPER] for benchmark in BENCHMARKS] == [0.385, 0.628, 0.308, 0.450]
    assert all(set(benchmark.paper) <= set(METHODS) and benchmark.differences for benchmark in BENCHMARKS)
    known = {record.name: record for record in datasets.available()}
    assert all(known[benchmark.name].embedded for benchmark in QUICK)
    # The quick look has a problem of each benchmark's kind.
    assert [known[b.name].kind for b in QUICK] == [known[b.name].kind for b in BENCHMARKS]


def test_the_paper_s_own_algorithm_has_a_row_beside_ours():
    assert list(METHODS)[:2] == ["SSLSOP", PAPER]
    assert METHODS[PAPER].get_params() == SSLSOP.paper().get_params()
    assert METHODS["SSLSOP"].get_params() == SSLSOP().get_params()
    assert AUTHORS.keys() == METHODS.keys()
    assert "extensions" in AUTHORS["SSLSOP"]
    assert "to the letter" in AUTHORS[PAPER]


# --- the report's own parts, on made-up cells --------------------------------------------------------------


def made_up(name="SSLSOP", other="other", paper=None):
    new = {name: [0.10, 0.12, 0.11, 0.10], other: [0.30, 0.33, 0.31, 0.31], "level": [0.11, 0.11, 0.12, 0.10]}
    cells = [
        Cell(method, fold, 0.3, 75, 25, new={"loss": loss}, hidden={"loss": loss}, fit_seconds=1.0)
        for method, values in new.items()
        for fold, loss in enumerate(values)
    ]
    cells.append(Cell("shy", 0, 0.3, 75, 25, error="shy works on trees only"))
    benchmark = Benchmark("moons", "two moons", paper or {})
    return Result(benchmark, datasets.load("moons", n=20), Comparison(cells, name), {})


def test_the_verdict_names_wins_and_doubts():
    text = verdict(made_up())
    assert "lower mean loss against 2 of 2 methods, with p < 0.05 against 1 (other)" in text
    lost = verdict(made_up(name="zzz", other="SSLSOP"))
    assert lost.startswith("zzz has the lower")


def test_a_loss_is_called_a_loss():
    result = made_up()
    turned = Result(result.benchmark, result.problem, Comparison(result.comparison.cells, "other"), {})
    assert "Not lower than: SSLSOP, level; with p < 0.05 higher than SSLSOP, level." in verdict(turned)


def test_the_paper_s_figures_stand_beside_ours():
    table = overview([made_up(paper={"SSLSOP": 0.385})])
    assert table.loc["SSLSOP", "moons, paper"] == "0.385"
    assert table.loc["other", "moons, paper"] == ""
    assert table.loc["shy", "moons"] == "refused"
    assert markdown(table).splitlines()[0] == "| method | moons | moons, paper |"


def test_the_page_tells_what_sslsop_has_beyond_an_equal_budget():
    page = html_report([made_up()], {}, {})
    assert 'SSLSOP\'s init="auto" is settled by trials of its own' in page.replace("\n", " ")
    assert all(f"<li>{name}: " in page for name in METHODS)


def test_the_start_is_told_beside_the_setting():
    cells = [Cell("SSLSOP", 0, 0.3, 9, 1, init="guided"), Cell("SupervisedSSVM", 0, 0.3, 9, 1)]
    assert chosen(Comparison(cells, "SSLSOP"))["chosen most often"].tolist() == ["init=guided", "as it comes"]


def test_a_refusal_is_explained():
    assert details(made_up()).loc["shy", "refused because"] == "shy works on trees only"


def test_nothing_in_the_data_becomes_markup():
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    result = made_up(name=evil)
    sweep = Sweep([Cell(evil, 0, 0.3, 9, 1, new={"loss": 0.1}, parameters={"k": 3})], {"k": [3]})
    result = Result(Benchmark(evil, evil, {}, (evil,)), result.problem, result.comparison, {"k": sweep})
    page = html_report([result], {"command": evil}, {evil: evil})
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("</script>") == page.count("<script")
