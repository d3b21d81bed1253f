"""Pictures of all pages, light and dark, in two sizes: `python -m tests.e2e.screenshots folder`."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from .browser import Visitor, launch, server

SIZES = {"1280x720": (1280, 720), "1440x900": (1440, 900)}
STILL = 700  # milliseconds for charts to settle


def shoot(browser: Browser, address: str, folder: Path, scheme: str, size: str) -> None:
    """All pages in one theme and size, as one visitor meets them."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    visitor = Visitor(context.new_page(), address)

    def keep(name: str) -> None:
        visitor.page.wait_for_timeout(STILL)
        visitor.page.screenshot(path=folder / f"{name}_{scheme}_{size}.png")

    visitor.open()
    keep("home")
    visitor.open("data?data=digits_tree")
    keep("data")
    visitor.page.get_by_role("tab", name="Tree").click()
    keep("data_tree")
    visitor.open("train?labeled=0.05")
    keep("train_before")
    visitor.press("Train")
    visitor.wait_for_end()
    visitor.page.mouse.click(*visitor.find_point())
    visitor.page.get_by_text("neighborhoods vote").first.wait_for()
    keep("train_point")
    visitor.go_to("Predict & export")
    keep("export")
    for page in ("compare", "sensitivity"):
        visitor.open(f"{page}?data=digits&labeled=0.05&max_iter=20")
        visitor.press("Start")
        visitor.page.get_by_text("Finished ·").first.wait_for(timeout=180_000)
        keep(page)
    visitor.open("runs")
    keep("runs")
    for step in (2, 5, 6, 7, 8):
        visitor.open(f"learn?step={step}")
        keep(f"learn_{step}")
    visitor.open("learn?step=6&present=1")
    keep("learn_present")
    context.close()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, server() as address:
        browser = launch(playwright)
        for scheme in ("light", "dark"):
            for size in SIZES:
                shoot(browser, address, folder, scheme, size)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "report/screenshots"))
