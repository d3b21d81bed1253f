"""Inputs as a person recognises them: images, letters in a row, sentences, tables, numbers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from PIL import Image
from scipy import sparse

from sslsop_core.datasets import Problem

from .symbols import text_of
from .tagged import show_tagged, tokens_of
from .texts import plain

GAP = 2


def kind_of_input(problem: Problem) -> str:
    """images, letters, sentences, documents or table."""
    inputs = problem.inputs
    if isinstance(inputs, np.ndarray) and inputs.ndim == 3:
        return "images"
    if isinstance(inputs, list) and isinstance(inputs[0], np.ndarray):
        return "letters"
    if isinstance(inputs, list):
        return "sentences"
    return "documents" if sparse.issparse(inputs) or sparse.issparse(problem.X) else "table"


def enlarged(image: np.ndarray, height: int) -> str:
    """An image blown up by a whole factor, so that its pixels stay square and sharp, as a data URL.

    Its bytes travel with the page: files that are served apart may be gone when the page changes quickly.
    """
    factor = max(1, round(height / image.shape[0]))
    grey = np.kron(image, np.ones((factor, factor), dtype=image.dtype))
    solid = np.stack([grey, np.full_like(grey, 255)], axis=-1)
    spaced = np.pad(solid, ((0, 0), (0, GAP * 3), (0, 0)))  # a clear margin between neighbors in a row
    packed = BytesIO()
    Image.fromarray(spaced, "LA").save(packed, "PNG")
    return f"data:image/png;base64,{b64encode(packed.getvalue()).decode()}"


def strip(images: np.ndarray) -> np.ndarray:
    """Letters side by side."""
    padded = np.pad(images, ((0, 0), (0, 0), (0, GAP)))
    return np.hstack(list(padded))


def words_of(sentence: Sequence[Any]) -> list[str]:
    """The words of a sentence whose tokens are words or tuples that begin with the word."""
    return [token if isinstance(token, str) else str(token[0]) for token in sentence]


def show_input(problem: Problem, i: int, output: Any, key: str) -> None:
    """One input, small."""
    kind = kind_of_input(problem)
    if kind == "images":
        st.image(enlarged(problem.inputs[i], 96), width=96)
    elif kind == "letters":
        st.image(enlarged(strip(problem.inputs[i]), 48))
    elif kind == "sentences":
        tags = output if isinstance(output, tuple) else None
        show_tagged(key, [tokens_of(words_of(problem.inputs[i]), tags, problem.space.names)])
    elif kind == "documents":
        row = problem.inputs[i] if problem.inputs is not None else problem.X[i]
        st.caption(f"A document with {row.nnz:,} entries that are not zero.")
    else:
        st.caption(_numbers(problem, i))


def _numbers(problem: Problem, i: int) -> str:
    rows = problem.inputs if problem.inputs is not None else problem.X
    row = np.atleast_2d(np.asarray(rows[i]))[0]
    shown = ", ".join(f"{value:.3g}" for value in row[:8])
    return f"x = ({shown}{', ...' if len(row) > 8 else ''})"


def gallery(problem: Problem, given: list[Any], count: int = 24) -> None:
    """A first look at a problem, fit for its kind."""
    kind, space = kind_of_input(problem), problem.space
    some = np.linspace(0, len(problem) - 1, min(count, len(problem))).astype(int).tolist()
    if kind == "images":
        captions = [plain(text_of(space, problem.y[i])) for i in some]
        st.image([enlarged(problem.inputs[i], 64) for i in some], caption=captions, width=64)
    elif kind == "letters":
        for i in some[:8]:
            st.image(enlarged(strip(problem.inputs[i]), 32), caption=plain(text_of(space, problem.y[i])))
    elif kind == "sentences":
        lines = [tokens_of(words_of(problem.inputs[i]), problem.y[i], space.names) for i in some[:8]]
        show_tagged("gallery", lines)
    else:
        st.dataframe(table(problem, given, some), hide_index=True, height=300)


def table(problem: Problem, given: list[Any], rows: list[int]) -> pd.DataFrame:
    """Rows with their output, whether it is given, and the first features."""
    X = problem.inputs if problem.inputs is not None else problem.X
    frame = pd.DataFrame(
        {
            "point": rows,
            "output": [
                "missing" if problem.y[i] is None else text_of(problem.space, problem.y[i]) for i in rows
            ],
            "given": [given[i] is not None for i in rows],
        }
    )
    if isinstance(X, list) or sparse.issparse(X):
        frame["size"] = [X[i].nnz if sparse.issparse(X[i]) else len(X[i]) for i in rows]
        return frame
    features = np.asarray(X)[rows, :12]
    names = getattr(problem.features, "columns", None) or [f"x{j + 1}" for j in range(features.shape[1])]
    shown = [f"{name} (column)" if name in frame else name for name in names[:12]]
    return frame.join(pd.DataFrame(features, columns=shown))
