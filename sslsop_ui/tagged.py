"""Sentences with coloured tags, as a component: text reaches the page through textContent only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from .palette import GREY, color_of

HTML = """
<div class="lines"></div>
"""
CSS = """
.lines { font-family: var(--st-font); color: var(--st-text-color); font-size: 14px; line-height: 1.3; }
.line { display: flex; flex-wrap: wrap; gap: 4px 5px; padding: 5px 0; }
.line + .line { border-top: 1px solid var(--st-border-color); }
.token { display: inline-flex; flex-direction: column; align-items: center; padding: 2px 6px;
  border-radius: 6px; border-bottom: 2px solid var(--tag);
  background: color-mix(in srgb, var(--tag) 16%, transparent); }
.token.plain { background: none; border-bottom-color: transparent; }
.tag { font-size: 10.5px; opacity: .8; }
"""
JS = """
export default function ({ data, parentElement }) {
  const piece = (name, text) => {
    const e = document.createElement("span");
    e.className = name;
    e.textContent = text;
    return e;
  };
  const lines = data.lines.map((tokens) => {
    const line = document.createElement("div");
    line.className = "line";
    for (const [word, tag, color, plain] of tokens) {
      const token = document.createElement("span");
      token.className = plain ? "token plain" : "token";
      token.style.setProperty("--tag", color);
      token.append(piece("word", word), piece("tag", tag));
      line.append(token);
    }
    return line;
  });
  parentElement.querySelector(".lines").replaceChildren(...lines);
}
"""
_component = st.components.v2.component("sslsop_tagged", html=HTML, css=CSS, js=JS)


def tokens_of(words: Sequence[str], tags: Sequence[Any] | None, names: Sequence[Any]) -> list[list[Any]]:
    """[word, tag, colour, plain] for each token; tags that mean "nothing here" stay plain."""
    found = tags if tags is not None else [None] * len(words)
    return [
        [
            word,
            "" if tag is None else str(tag),
            GREY if tag is None else color_of(list(names).index(tag)),
            tag is None or tag == "O",
        ]
        for word, tag in zip(words, found, strict=True)
    ]


def show_tagged(key: str, lines: list[list[list[Any]]]) -> None:
    """Draw sentences; each is a list of tokens as `tokens_of` makes them."""
    _component(key=key, data={"lines": lines})
