"""Names from a file are text wherever they appear: in the pages, and in what is taken away."""

from __future__ import annotations

import csv
import io
import re

import pytest
from playwright.sync_api import expect

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


def test_files_that_are_taken_away_hold_names_as_text(evil, newcomer, tmp_path):
    evil.press("Train on this")
    evil.press("Train")
    evil.wait_for_end()
    evil.go_to("Predict & export")

    def taken(label: str) -> bytes:
        with evil.page.expect_download() as download:
            evil.press(label)
        path = tmp_path / download.value.suggested_filename
        assert not set("<>/:*") & set(path.name)
        download.value.save_as(path)
        return path.read_bytes()

    table = list(csv.DictReader(io.StringIO(taken("CSV").decode())))
    assert {row["output"] for row in table} == {HTML, MARKDOWN, STREAMLIT, f"'{FORMULA}"}
    assert b"<img" not in taken("SVG")
    compile(taken("Script"), "script", "exec")
    taken("HTML, plays by itself")
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
