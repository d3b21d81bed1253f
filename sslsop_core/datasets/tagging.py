"""CoNLL-2002 Spanish named entities, from the original column files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from ..bounds import require_between
from ..features import TokenFeatures
from ..features.tokens import Token
from ..sequences import Sequences
from .folder import locate
from .problem import Problem

URL = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/conll2002.zip"
COUNTS = {"esp.train": (8323, 264_715), "esp.testa": (1915, 52_923), "esp.testb": (1517, 51_533)}
TAGS = ("O", *(f"{place}-{what}" for what in ("LOC", "MISC", "ORG", "PER") for place in "BI"))


def conll2002(
    part: str = "windows",
    n: int = 300,
    length: int = 9,
    pos: bool = False,
    loss: str = "zero_one",
    seed: int = 0,
) -> Problem:
    """Spanish news: is each word inside the name of a person, place, organisation or other?

    `part`: "windows", `n` stretches of `length` tokens, each from another sentence (the paper's 300
    sentences of length 9 do not exist); "sentences", `n` whole sentences; "corpus", all of them.
    `pos` adds the parts of speech to the features.
    """
    sentences, y = read_columns(_file("esp.train"))
    if part not in ("windows", "sentences", "corpus"):
        raise ValueError(f'part must be "windows", "sentences" or "corpus"; got {part!r}.')
    if part != "corpus":
        least = length if part == "windows" else 1
        sentences, y = _sample(sentences, y, n, least, cut=part == "windows", seed=seed)
    kept = 2 if pos else 1
    inputs = [tuple(token[:kept] for token in sentence) for sentence in sentences]
    return Problem(
        "conll2002", y, Sequences(TAGS, loss=loss), metric="cosine", inputs=inputs, features=TokenFeatures()
    )


def _sample(
    sentences: list[tuple[Token, ...]], y: list[tuple[str, ...]], n: int, least: int, *, cut: bool, seed: int
) -> tuple[list[tuple[Token, ...]], list[tuple[str, ...]]]:
    """`n` sentences of at least `least` tokens, in random order, cut to `least` tokens if asked."""
    require_between("length", least, 1, max(map(len, sentences)))
    long = [i for i, sentence in enumerate(sentences) if len(sentence) >= least]
    require_between("n", n, 4, len(long))
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(long)[:n].tolist()
    spans = [(0, len(sentences[i])) for i in chosen]
    if cut:
        starts = [int(rng.integers(len(sentences[i]) - least + 1)) for i in chosen]
        spans = [(start, start + least) for start in starts]
    picked = list(zip(chosen, spans, strict=True))
    return [sentences[i][a:b] for i, (a, b) in picked], [y[i][a:b] for i, (a, b) in picked]


def read_columns(path: Path) -> tuple[list[tuple[Token, ...]], list[tuple[str, ...]]]:
    """Sentences as tuples of (word, part of speech), and their tags."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    rows = [[line.split(" ") for line in block.strip().split("\n")] for block in blocks]
    sentences: list[tuple[Token, ...]] = [tuple((row[0], row[1]) for row in block) for block in rows]
    y = [tuple(row[2] for row in block) for block in rows]
    found = (len(sentences), sum(map(len, sentences)))
    if found != COUNTS[path.name]:
        raise ValueError(
            f"{path} must hold {COUNTS[path.name][0]} sentences and {COUNTS[path.name][1]} tokens; it holds "
            f"{found[0]} and {found[1]}. Delete it, so that it is fetched again."
        )
    return sentences, y


def _file(name: str) -> Path:
    def unpack(archive: Path, folder: Path) -> None:
        with zipfile.ZipFile(archive) as packed:
            (folder / "conll2002" / name).write_bytes(packed.read(f"conll2002/{name}"))

    return locate([f"conll2002/{name}"], URL, unpack)[0]
