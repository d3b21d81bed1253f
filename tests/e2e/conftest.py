"""One server and one browser for all browser tests; a fresh visitor for each."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, expect, sync_playwright

from .browser import Visitor, launch, missing, server

expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        try:
            found = launch(playwright)
        except Error as error:
            told = missing(error)
            if told is None or os.environ.get("CI") == "true":
                raise
            pytest.skip(told)
        yield found
        found.close()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with server() as address:
        yield address


@pytest.fixture
def newcomer(browser, address):
    """Makes visitors, each in a browser window of their own; none may meet an error in the console."""
    visitors, contexts = [], []

    def arrive(**options) -> Visitor:
        still = {"viewport": {"width": 1280, "height": 720}, "reduced_motion": "reduce"}
        contexts.append(browser.new_context(**(still | options)))
        visitors.append(Visitor(contexts[-1].new_page(), address))
        return visitors[-1]

    yield arrive
    for context in contexts:
        context.close()
    assert [complaint for visitor in visitors for complaint in visitor.complaints] == []


@pytest.fixture
def visitor(newcomer) -> Visitor:
    return newcomer()
