"""mini-MIAS mammograms: left and right pairs, single films, or crops around the findings."""

from __future__ import annotations

import csv
import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..features import BagOfPatches, Features, Hog, Texture
from ..spaces import Classes
from .archives import open_zip
from .folder import locate
from .limits import Limits
from .pictures import Decoder
from .problem import Problem

URL = "http://peipa.essex.ac.uk/pix/mias/all-mias.tar.gz"
FILES = ["mias/Info.txt", "mias/mias_gray256.zip", "mias/mias_roi128.zip", "mias/roi.csv"]
LABELS = ("normal", "benign", "cancer")  # from harmless to worst
CROP = 128


class Finding(NamedTuple):
    """One line of the truth table: a film, and what was found where."""

    film: str
    label: str
    centre: tuple[int, int] | None  # x from the left, y from the bottom, of 1024

    @property
    def patient(self) -> int:
        """Films come in pairs: the odd one is the right, the even one the left breast."""
        return (int(self.film[3:]) + 1) // 2


def mias(part: str = "crops", features: str = "default") -> Problem:
    """Mammograms of mini-MIAS: normal, benign or cancer? Stands in for the paper's DDSM.

    `part`: "crops", 128 x 128 pixels around each finding, or somewhere in the breast on normal films;
    "pairs", right and left film of a patient side by side, labelled by the worse one; "films", one
    by one. `features`: "texture", "hog", "bag" (bag of visual features), or "default" for the one
    that suits the part. Rows of one patient form a group.
    """
    if part not in ("crops", "pairs", "films"):
        raise ValueError(f'part must be "crops", "pairs" or "films"; got {part!r}.')
    info, films, crops, boxes = locate(FILES, URL, _convert)
    findings = read_info(info.read_text(encoding="latin-1"))
    if part == "crops":
        images, y, patients = _crops(crops, boxes)
    else:
        images, y, patients = _films(films, findings, pairs=part == "pairs")
    pipeline = _pipeline(features, part)
    return Problem(
        "mias", y, Classes(LABELS), metric="cosine", inputs=images, features=pipeline, groups=patients
    )


def _pipeline(features: str, part: str) -> Features:
    # Cells of whole films are coarse: what counts is where the tissue is dense, and on which side.
    hog = Hog(cell=16 if part == "crops" else 64, components=20)
    choices: dict[str, Features] = {"texture": Texture(), "hog": hog, "bag": BagOfPatches()}
    choices["default"] = choices["texture" if part == "crops" else "hog"]
    if features not in choices:
        raise ValueError(f"features must be one of {', '.join(choices)}; got {features!r}.")
    return choices[features]


def read_info(text: str) -> list[Finding]:
    """The truth table of Info.txt: 330 entries on 322 films."""
    severity = {"B": "benign", "M": "cancer", "": "normal"}
    pattern = r"^(mdb\d{3}) [FGD] [A-Z]{4} ?([BM]?)(?: (\d+) (\d+) \d+)?"
    found = [
        Finding(film, severity[kind], (int(x), int(y)) if x else None)
        for film, kind, x, y in re.findall(pattern, text, flags=re.MULTILINE)
    ]
    if len(found) != 330 or len({finding.film for finding in found}) != 322:
        raise ValueError(f"Info.txt must list 330 findings on 322 films; got {len(found)}. Fetch it again.")
    return found


def _films(path: Path, findings: list[Finding], *, pairs: bool) -> tuple[np.ndarray, list[str], np.ndarray]:
    """All films in order, or side by side: the worst finding labels a film, the worse film a pair."""
    images = np.stack(list(_images(path).values()))  # names in order: right and left take turns
    patients = np.arange(len(images)) // 2 + 1
    if pairs:
        images, patients = np.concatenate([images[0::2], images[1::2]], axis=2), patients[0::2]
    worst: dict[Any, str] = {}
    for finding in findings:
        key = finding.patient if pairs else finding.film
        worst[key] = max(worst.get(key, "normal"), finding.label, key=LABELS.index)
    return images, list(worst.values()), patients


def _crops(path: Path, table: Path) -> tuple[np.ndarray, list[str], np.ndarray]:
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    images = _images(path)
    patients = np.array([int(row["patient"]) for row in rows])
    return np.stack([images[row["file"]] for row in rows]), [row["label"] for row in rows], patients


def _images(path: Path) -> dict[str, np.ndarray]:
    decode = Decoder(None, Limits())
    return {name: decode(name, data) for name, data in sorted(open_zip(path.read_bytes(), Limits()).items())}


def _convert(archive: Path, folder: Path) -> None:
    """Write the four files from the distributors' archive of 1024 x 1024 films."""
    with tarfile.open(archive) as packed:
        members = {Path(m.name).name: m for m in packed.getmembers() if m.isfile()}
        info = packed.extractfile(members["Info.txt"])
        text = info.read().decode("latin-1") if info else ""
        findings = read_info(text)
        films = _read_films(packed, members)
        made = list(_cut(films, findings))
    from PIL import Image

    small = {f"{film}.png": Image.fromarray(image).reduce(4) for film, image in films.items()}
    _write_zip(folder / FILES[1], small)
    _write_zip(folder / FILES[2], {row[0]: Image.fromarray(crop) for row, crop in made})
    lines = ["file,film,patient,label", *(",".join(map(str, row)) for row, _ in made)]
    (folder / FILES[3]).write_text("\n".join(lines) + "\n")
    (folder / FILES[0]).write_text(text, encoding="latin-1")


def _read_films(packed: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> dict[str, np.ndarray]:
    decode = Decoder(None, Limits(pixels=400_000_000))
    films = {}
    for name in sorted(n for n in members if n.endswith(".pgm")):
        stream = packed.extractfile(members[name])
        if stream is not None:
            films[name[:6]] = decode(name, stream.read())
    if len(films) != 322:
        raise ValueError(f"the archive must hold 322 films; it holds {len(films)}. Fetch it again.")
    return films


def _cut(
    films: dict[str, np.ndarray], findings: list[Finding]
) -> Iterator[tuple[tuple[str, str, int, str], np.ndarray]]:
    """A crop for every finding that has a place, and one for every normal film."""
    seen: dict[str, int] = {}
    for finding in findings:
        if finding.centre is None and finding.label != "normal":
            continue  # widespread calcifications have no centre
        image = films[finding.film]
        if finding.centre is None:
            left, top = _inside(image, seed=int(finding.film[3:]))
        else:  # the table counts y from the bottom
            left, top = finding.centre[0] - CROP // 2, len(image) - finding.centre[1] - CROP // 2
        left, top = (int(np.clip(corner, 0, len(image) - CROP)) for corner in (left, top))
        seen[finding.film] = seen.get(finding.film, 0) + 1
        row = (f"{finding.film}_{seen[finding.film]}.png", finding.film, finding.patient, finding.label)
        yield row, image[top : top + CROP, left : left + CROP]


def _inside(image: np.ndarray, seed: int) -> tuple[int, int]:
    """A random corner of a crop that lies in the breast: background is nearly black."""
    from scipy.ndimage import uniform_filter

    coarse, half = 4, CROP // 8  # every fourth pixel will do
    filled = uniform_filter((image[::coarse, ::coarse] > 20).astype(float), 2 * half)
    inner = filled[half:-half, half:-half]
    rows, columns = np.nonzero(inner >= min(0.999, inner.max()))
    pick = np.random.default_rng(seed).integers(len(rows))
    return coarse * int(columns[pick]), coarse * int(rows[pick])


def _write_zip(path: Path, images: dict[str, Any]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, image in images.items():
            buffer = io.BytesIO()
            image.save(buffer, "PNG")
            archive.writestr(name, buffer.getvalue())
