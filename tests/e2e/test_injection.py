"""Names from a file are text wherever they appear: in the pages, and in what is taken away."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from sslsop_core import SSLSOP, datasets
from sslsop_core.evaluation import cross_validate
from sslsop_core.evaluation.benchmarks import Benchmark
from sslsop_core.evaluation.report import Result, html_report

from .browser import Visitor

HTML = "<img src=x onerror=window.hacked=1>"
MARKDOWN = "![a](http://evil.example/p.png) [b](javascript:window.hacked=1) **bold** `code`"
STREAMLIT = ":material/home: :red[red] :rocket: $x^2$ www.evil.example"
FORMULA = '=HYPERLINK("http://evil.example","x")'
NAMES = (HTML, MARKDOWN, STREAMLIT, FORMULA)


def evil_table(columns: list[str]) -> bytes:
    """Forty rows whose columns and classes are named by somebody with bad intentions."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow([*columns, "class"])
    writer.writerows([i % 7, i % 5, i % 3, i, NAMES[i % 4] if i % 3 else ""] for i in range(40))
    return buffer.getvalue().encode()


def upload(visitor: Visitor, name: str, data: bytes) -> None:
    visitor.open("data")
    visitor.page.get_by_text("Own file").click()
    file = {"name": name, "mimeType": "text/csv", "buffer": data}
    visitor.page.locator("input[type=file]").first.set_input_files(file)
    expect(visitor.page.get_by_text("each output is one of several classes")).to_be_visible()


def require_text_only(visitor: Visitor) -> None:
    """Nothing of the names became an element or ran."""
    visitor.page.wait_for_timeout(500)
    assert visitor.page.evaluate("window.hacked") is None
    for selector in ("img[src=x]", "[href*=evil]", "[href^=javascript]", "[src*=evil]"):
        assert visitor.page.locator(f".stMain {selector}, .stSidebar {selector}").count() == 0, selector
    main = visitor.page.locator(".stMain, .stSidebar")
    assert main.locator("strong", has_text=re.compile("^bold$")).count() == 0
    assert main.locator("code", has_text=re.compile("^code$")).count() == 0
    assert main.locator(".katex").count() == 0


@pytest.fixture
def evil(visitor) -> Visitor:
    upload(visitor, f"{HTML} **bold** :red[x].csv", evil_table([HTML, MARKDOWN, STREAMLIT, FORMULA]))
    return visitor


def test_names_from_a_file_are_shown_as_text_on_every_page(evil):
    expect(evil.page.locator(".stMain").get_by_text(HTML).first).to_be_visible()
    require_text_only(evil)
    evil.page.get_by_role("tab", name="Balance").click()
    expect(evil.page.locator(".xtick").first).to_be_visible()
    require_text_only(evil)
    evil.press("Train on this")
    evil.press("Train")
    evil.wait_for_end()
    expect(evil.page.locator(".stSidebar").get_by_text(HTML).first).to_be_visible()
    evil.page.get_by_label("Or type its number").fill("0")
    evil.page.keyboard.press("Enter")
    expect(evil.page.get_by_text("Point 0", exact=True)).to_be_visible()
    require_text_only(evil)
    evil.go_to("Predict & export")
    expect(evil.page.get_by_text("Python script that repeats this run")).to_be_visible()
    require_text_only(evil)
    evil.press("Diagnostics")
    body = evil.page.locator("[data-testid=stPopoverBody]")
    expect(body).to_contain_text("data = upload")
    expect(body).to_contain_text("points = 40")
    assert not {"img", "evil", "bold"} & set(re.findall(r"\w+", body.inner_text()))


def taken(visitor: Visitor, label: str, folder: Path) -> bytes:
    """The file behind a button, whose name is harmless."""
    with visitor.page.expect_download() as download:
        visitor.press(label)
    path = folder / download.value.suggested_filename
    assert not set("<>/:*=") & set(path.name)
    download.value.save_as(path)
    return path.read_bytes()


def rows_of(table: bytes) -> list[dict[str, str]]:
    """The rows of a CSV, none of whose texts a spreadsheet would run."""
    rows = list(csv.DictReader(io.StringIO(table.decode())))
    texts = [text for row in rows for text in (*row, *row.values())]
    assert [text for text in texts if text.startswith(tuple("=+-@\t\r")) and not is_number(text)] == []
    return rows


def is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", text) is not None


def test_tables_cannot_be_taken_past_what_makes_their_files_safe(evil):
    evil.page.get_by_test_id("stDataFrame").first.hover()
    toolbar = evil.page.get_by_test_id("stElementToolbar").first
    expect(toolbar.get_by_role("button", name="Search")).to_be_visible()
    expect(evil.page.get_by_role("button", name="Download as CSV")).to_have_count(0)


def test_names_are_text_on_the_pages_of_studies_and_in_their_files(evil, tmp_path):
    for page, choice, n_cells in (("Compare", "One share", 25), ("Sensitivity", "Labels", 18)):
        evil.go_to(page)
        expect(evil.page.get_by_role("heading", name=page)).to_be_visible()
        evil.page.get_by_text(choice, exact=True).click()
        expect(evil.page.get_by_text(f"{n_cells} cells, about")).to_be_visible()
        evil.press("Start")
        done = evil.page.locator(".stMain [data-testid=stProgress]").filter(has_text="Finished ·")
        expect(done).to_be_visible(timeout=180_000)
        expect(done).to_contain_text(HTML)
        require_text_only(evil)
        assert len(rows_of(taken(evil, "All cells, CSV", tmp_path))) == n_cells


def test_names_are_text_in_the_list_of_runs_and_in_its_file(evil, tmp_path):
    evil.press("Train on this")
    for _ in range(2):
        address = evil.page.url
        evil.press("Train")
        expect(evil.page).not_to_have_url(address)  # which names the run
        evil.wait_for_end()
    evil.go_to("Runs")
    evil.tick(0)
    expect(evil.page.locator(".stMain").get_by_text("Training on").first).to_contain_text(HTML)
    require_text_only(evil)
    evil.press("Rename")
    name = f"=1+1 {HTML} **bold** `code` :red[red] $x^2$"
    evil.page.get_by_label("Name", exact=True).fill(name)
    evil.press("Save")
    expect(evil.page.locator(".stMain strong").filter(has_text=name)).to_be_visible()
    require_text_only(evil)
    evil.page.keyboard.press("Escape")  # the popover would take the click
    expect(evil.page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    evil.tick(1, chosen=2)
    expect(evil.page.locator(".legendtext").first).to_contain_text(HTML)
    require_text_only(evil)
    rows = rows_of(taken(evil, "2 chosen, CSV", tmp_path))
    assert rows[0]["name"] == f"'{name}"
    assert HTML in rows[0]["data"]


def test_names_are_text_in_the_report(newcomer, tmp_path):
    problem = datasets.read(evil_table([HTML, MARKDOWN, STREAMLIT, FORMULA]), name=f"{HTML}.csv")
    link = "<a href='http://evil.example'>x</a>"
    methods = {HTML: SSLSOP(k=5, max_iter=2), link: SSLSOP(k=4, max_iter=2)}
    comparison = cross_validate(methods, problem, folds=2)
    result = Result(Benchmark(problem.name, link, {link: 0.5}, (HTML,)), problem, comparison, {})
    path = tmp_path / "report.html"
    path.write_text(html_report([result], {HTML: MARKDOWN}, {link: HTML}), encoding="utf-8")
    page = newcomer().page
    page.goto(path.as_uri())
    for name in methods:
        expect(page.locator(".ytick").get_by_text(name)).to_be_visible()
    expect(page.locator("td").get_by_text(HTML).first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, [href*=evil], [*|href*=evil]").count() == 0


def test_files_that_are_taken_away_hold_names_as_text(evil, newcomer, tmp_path):
    evil.press("Train on this")
    evil.press("Train")
    evil.wait_for_end()
    evil.go_to("Predict & export")
    table = rows_of(taken(evil, "CSV", tmp_path))
    assert {row["output"] for row in table} == {HTML, MARKDOWN, STREAMLIT, f"'{FORMULA}"}
    assert b"<img" not in taken(evil, "SVG", tmp_path)
    compile(taken(evil, "Script", tmp_path), "script", "exec")
    taken(evil, "HTML, plays by itself", tmp_path)
    page = newcomer().page
    page.goto(next(tmp_path.glob("*.html")).as_uri())
    expect(page.get_by_text(HTML).first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x]").count() == 0


def test_a_message_that_quotes_a_file_quotes_it_as_text(visitor):
    visitor.open("data")
    visitor.page.get_by_text("Own file").click()
    bad = f"a,class\n{HTML} **bold**,x\n2,y\n".encode()
    file = {"name": "bad.csv", "mimeType": "text/csv", "buffer": bad}
    visitor.page.locator("input[type=file]").first.set_input_files(file)
    expect(visitor.page.get_by_text("is not a finite number")).to_be_visible()
    require_text_only(visitor)
