"""Markup, style and code of the map: plain files, joined as a component wants them."""

from pathlib import Path

HERE = Path(__file__).parent / "map"


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


HTML = _read("map.html")
CSS = _read("map.css")
JS = _read("painter.js") + _read("controls.js")
