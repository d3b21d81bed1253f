"""Citation benchmarks from their original files: LINQS Cora and Cora-ML."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
from scipy import sparse

from .archives import read_npz
from .embedded import citation_problem
from .folder import locate, require_sha256
from .limits import Limits
from .problem import Problem

CORA_URL = "https://linqs-data.soe.ucsc.edu/public/lbc/cora.tgz"
CORA_SHA256 = {
    "cora/cora.content": "b8ebed0fd45e53995abafd1b70cf6a9fcc8f86abc5826d69b97fe6ca46e9c8ee",
    "cora/cora.cites": "ec1a372391b7f0f60a6aff0084e8abd8f19f0faa7e1f2441a41c492042d5945e",
}
CORA_ML_URL = "https://github.com/abojchevski/graph2gauss/raw/master/data/cora_ml.npz"
CORA_ML_PARTS = ("data", "indices", "indptr", "shape")


def cora_linqs(linked_only: bool = True, self_link: bool = True) -> Problem:
    """LINQS Cora from its original text files; papers that cite nobody are dropped, as in the paper."""
    content, cites = locate(list(CORA_SHA256), CORA_URL, _unpack_cora)
    for path, sha256 in zip((content, cites), CORA_SHA256.values(), strict=True):
        require_sha256(path, sha256)
    rows = [line.split("\t") for line in content.read_text().splitlines()]
    place = {row[0]: i for i, row in enumerate(rows)}
    words = sparse.csr_matrix(np.array([row[1:-1] for row in rows], dtype=np.uint8).astype(float))
    # Each line is "cited<TAB>citing".
    pairs = [line.split("\t") for line in cites.read_text().splitlines()]
    cited, citing = np.array([[place[paper] for paper in pair] for pair in pairs]).T
    links = sparse.csr_matrix((np.ones(len(citing)), (citing, cited)), shape=(len(rows), len(rows)))
    y = [row[-1] for row in rows]
    return citation_problem("cora_linqs", words, links, y, linked_only=linked_only, self_link=self_link)


def _unpack_cora(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as packed:
        for part in CORA_SHA256:
            member = packed.extractfile(part)
            if member is not None:
                (folder / part).write_bytes(member.read())


def cora_ml(linked_only: bool = True, self_link: bool = True) -> Problem:
    """Cora-ML: real-valued words and directed citations; papers that cite nobody are dropped."""
    (path,) = locate(["cora/cora_ml.npz"], CORA_ML_URL, _keep_cora_ml)
    return _cora_ml_problem(path.read_bytes(), linked_only, self_link)


def _keep_cora_ml(archive: Path, folder: Path) -> None:
    data = archive.read_bytes()
    _cora_ml_problem(data, linked_only=False, self_link=False)
    (folder / "cora/cora_ml.npz").write_bytes(data)


def _cora_ml_problem(data: bytes, linked_only: bool, self_link: bool) -> Problem:
    # Its distributors name the arrays adj_data, attr_data, ...; a later repackaging adj_matrix_data, ...
    # The first has class names only as pickled objects, which are never read.
    stems = ("adj", "adj_matrix", "attr", "attr_matrix")
    matrices = [f"{stem}_{part}" for stem in stems for part in CORA_ML_PARTS]
    arrays = read_npz(data, [*matrices, "labels", "class_names"], Limits())
    links, words = (_csr(arrays, what) for what in ("adj", "attr"))
    if links.shape != (2995, 2995) or words.shape != (2995, 2879) or links.nnz != 8416:
        raise ValueError(
            "cora_ml.npz must hold 2995 papers, 2879 words and 8416 links; it holds "
            f"{words.shape[0]}, {words.shape[1]} and {links.nnz}. Delete it, so that it is fetched again."
        )
    codes = arrays["labels"].tolist()
    names = arrays.get("class_names", np.array([f"class {code}" for code in range(max(codes) + 1)])).tolist()
    y = [names[code].rpartition("/")[2] for code in codes]
    # The words carry weights already (rows of unit length), so idf is not applied again.
    return citation_problem(
        "cora_ml", words, links, y, idf=False, linked_only=linked_only, self_link=self_link
    )


def _csr(arrays: dict[str, np.ndarray], what: str) -> sparse.csr_matrix:
    stem = what if f"{what}_data" in arrays else f"{what}_matrix"
    try:
        data, indices, indptr, shape = (arrays[f"{stem}_{part}"] for part in CORA_ML_PARTS)
    except KeyError as error:
        raise ValueError(f"cora_ml.npz must hold {error}. Delete it, so that it is fetched again.") from None
    return sparse.csr_matrix((data.astype(float), indices, indptr), shape=tuple(shape.tolist()))
