"""Rebuild the packed files of this folder: cora.npz, ocr.npz, the maps in layouts.npz, the examples.

    python assets/build.py            # all; downloads with pip and pooch
    python assets/build.py layouts    # one of: cora, ocr, layouts, examples

Every file is the same to the byte when nothing above it changed.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

LETTER_DATA = "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz"


def save(name: str, **arrays: np.ndarray) -> None:
    """An npz without dates, so that equal content is an equal file."""
    with zipfile.ZipFile(HERE / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for key, array in arrays.items():
            member = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            with packed.open(member, "w") as out:
                np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)


def build_cora() -> None:
    """Words and citations of LINQS Cora, from the wheel of graphdatascience."""
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        command = ["pip", "download", "--no-deps", "--quiet", "--dest", folder, "graphdatascience"]
        subprocess.run([sys.executable, "-m", *command], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            nodes, links = (
                pd.read_parquet(wheel.open(f"graphdatascience/resources/cora/cora_{part}.parquet.gzip"))
                for part in ("nodes", "rels")
            )
    words = sparse.csr_matrix(np.stack(nodes["features"].to_list()).astype(np.uint8))
    place = {paper: row for row, paper in enumerate(nodes["nodeId"].tolist())}
    # The file lists the cited paper first: its "source" is where the idea comes from.
    cited, citing = (links[end].map(place).to_numpy() for end in ("sourceNodeId", "targetNodeId"))
    order = np.lexsort((cited, citing))
    save(
        "cora.npz",
        words=words.indices.astype(np.uint16),
        starts=words.indptr.astype(np.uint16),
        n_words=np.array([words.shape[1]], dtype=np.uint16),
        labels=nodes["subject"].to_numpy(dtype=np.uint8),
        citing=citing[order].astype(np.uint16),
        cited=cited[order].astype(np.uint16),
    )


def build_ocr() -> None:
    """The words of fold 0 of the OCR set, letters packed to 16 bytes each."""
    pixels, labels, lengths, fold = converted_letters() or original_letters()
    ends = np.cumsum(lengths)
    chosen = np.flatnonzero(fold == 0)
    rows = np.concatenate([np.arange(ends[i] - lengths[i], ends[i]) for i in chosen])
    save(
        "ocr.npz",
        pixels=np.packbits(pixels[rows], axis=1),
        labels=labels[rows].astype(np.uint8),
        lengths=lengths[chosen].astype(np.uint8),
    )


def converted_letters() -> tuple[np.ndarray, ...] | None:
    """The whole set as arrays, when the data folder has it."""
    from sslsop_core.datasets.folder import data_folder

    path = data_folder() / "extras" / "ocr_letters.npz"
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as packed:
        return tuple(packed[key] for key in ("pixels", "labels", "word_lengths", "fold"))


def original_letters() -> tuple[np.ndarray, ...]:
    """The distributors' text file: id, letter, next id, word, position, fold, 128 pixels."""
    import pooch

    # The checksum of the original is not known to us; the counts are checked instead.
    path = pooch.retrieve(LETTER_DATA, known_hash=None, path=pooch.os_cache("sslsop"))
    with gzip.open(path, "rt") as lines:
        rows = [line.split() for line in lines]
    if len(rows) != 52_152:
        raise SystemExit(f"{LETTER_DATA} must hold 52,152 letters; it holds {len(rows):,}.")
    firsts = [i for i, row in enumerate(rows) if row[4] == "1" or row[3] != rows[i - 1][3]]
    lengths = np.diff([*firsts, len(rows)])
    pixels = np.array([row[6:134] for row in rows], dtype=np.uint8)
    labels = np.array([ord(row[1]) - ord("a") for row in rows])
    return pixels, labels, lengths, np.array([int(rows[i][5]) for i in firsts])


def build_home() -> None:
    """The finished run that the first page shows: 18 labelled digits, 20 iterations."""
    from sslsop_core import SSLSOP, datasets

    problem = datasets.load("digits")
    y = problem.hide(labeled=0.01, seed=0)
    model = SSLSOP(problem.space, k=8, max_iter=20).fit(problem.X, y)
    given = problem.space.encode(y)
    save(
        "home.npz",
        layout=problem.layout.astype(np.float16),
        neighbors=model.graph_.neighbors.astype(np.uint16),
        symbols=np.stack([given.astype(np.int8), *(turn.outputs for turn in model.history_)]),
        truth=problem.space.encode(problem.y).astype(np.int8),
        images=problem.inputs,
    )


def build_layouts() -> None:
    """UMAP of the default graph of every embedded set: 15 neighbors, the point itself among them."""
    from sslsop_core import datasets

    embedded = [record for record in datasets.available() if record.embedded]
    save("layouts.npz", **{record.name: layout(record.loader()) for record in embedded})


def layout(problem) -> np.ndarray:
    """Map coordinates, centred and scaled so that float16 keeps three digits."""
    from sslsop_core.layout import graph_map, one_row_each
    from sslsop_core.neighbors import Search, build_graph

    search = Search(one_row_each(problem.X), problem.metric, "exact", None, 0)
    points = graph_map(problem.X, build_graph(search, 15, include_self=True))
    points -= points.mean(axis=0)
    return (points / np.abs(points).max()).astype(np.float16)


def build_examples() -> None:
    """The examples that are not text: the flowers of flowers.csv as Parquet and NPZ, and eight digits."""
    import pandas as pd
    from PIL import Image

    from sslsop_core.datasets.embedded import digits

    flowers = pd.read_csv(HERE / "examples" / "flowers.csv")
    flowers.to_parquet(HERE / "examples" / "flowers.parquet", index=False)
    save(
        "examples/flowers.npz",
        X=flowers.iloc[:, :4].to_numpy(),
        y=np.array(flowers["species"].fillna("").tolist()),
    )
    problem = digits()
    with zipfile.ZipFile(HERE / "examples" / "digits.zip", "w") as packed:
        for i in (0, 10, 20, 30, 1, 11, 21, 42):
            buffer = io.BytesIO()
            Image.fromarray(problem.inputs[i]).resize((32, 32)).save(buffer, "PNG")
            member = zipfile.ZipInfo(f"{problem.y[i]}/{i}.png", date_time=(1980, 1, 1, 0, 0, 0))
            packed.writestr(member, buffer.getvalue())


BUILDERS = {
    "cora": build_cora,
    "ocr": build_ocr,
    "layouts": build_layouts,
    "home": build_home,
    "examples": build_examples,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or BUILDERS:
        BUILDERS[part]()
