"""CoNLL-style text: a token per line, its tag in the last column, a blank line between sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..features import TokenFeatures
from ..features.tokens import Token
from ..sequences import Sequences
from .limits import Limits
from .outputs import refuse_names
from .problem import Problem
from .report import Report, describe_outputs, input_warnings, output_warnings, share_missing

NO_TAG = ("", "_", "?")


def read_conll(text: str, name: str, limits: Limits) -> Problem:
    """Sentences and their tags; `_`, `?` or nothing in the last column is a missing tag."""
    lines = text.splitlines()
    if len(lines) > limits.tokens:
        raise ValueError(f"lines must be at most {limits.tokens:,}; it has {len(lines):,}. Take a sample.")
    separator = "\t" if any("\t" in line for line in lines[:100]) else None
    rows = [_cells(line, separator) for line in lines]
    width = max(map(len, rows), default=0)
    if width < 2:
        raise ValueError("line 1: a line must hold a word and its tag, separated by a space or a tab.")
    sentences, y = _sentences(rows, width, separator)
    tags = sorted({tag for output in y if output for tag in output if tag is not None})
    if len(sentences) < 2:
        raise ValueError("the file must hold two sentences or more; put a blank line between them.")
    if len(tags) < 2:
        raise ValueError(f"the last column must hold two tags or more; got {tags}. Is it the tag?")
    refuse_names(tags, sum(map(len, sentences)), limits)
    space = Sequences(tags)
    found = (*input_warnings(sentences), *output_warnings(y, space))
    tokens = f"{sum(map(len, sentences)):,} tokens in {width - 1} column{'s' if width > 2 else ''}"
    report = Report("CoNLL text", len(y), tokens, describe_outputs(space), share_missing(y), found)
    return Problem(
        name, y, space, metric="cosine", inputs=sentences, features=_features(sentences), report=report
    )


def _features(sentences: Sequence[Sequence[Token]]) -> TokenFeatures:
    # In a handful of sentences hardly a feature occurs twice.
    return TokenFeatures(min_count=2 if sum(map(len, sentences)) >= 1000 else 1)


def _cells(line: str, separator: str | None) -> list[str]:
    if not line.strip() or line.startswith("-DOCSTART-"):
        return []
    return [cell.strip() for cell in line.split(separator)]


def _sentences(
    rows: list[list[str]], width: int, separator: str | None
) -> tuple[list[tuple[Token, ...]], list[Any]]:
    sentences: list[tuple[Token, ...]] = []
    y: list[Any] = []
    words: list[Token] = []
    tags: list[str | None] = []
    for number, cells in enumerate([*rows, []], 1):
        if cells:
            if not width - 1 <= len(cells) <= width or not cells[0]:
                kind = "tabs" if separator else "spaces"
                raise ValueError(
                    f"line {number}: expected {width} columns separated by {kind}, as in most lines; "
                    f"got {len(cells)}."
                )
            words.append(tuple(cells[: width - 1]))
            # A line that is one column short has no tag.
            tags.append(cells[-1] if len(cells) == width and cells[-1] not in NO_TAG else None)
        elif words:
            sentences.append(tuple(words))
            y.append(None if set(tags) == {None} else tuple(tags))
            words, tags = [], []
    return sentences, y
