"""Image files to small grey arrays, decoded only after their size is known."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import numpy as np

from .limits import Limits

FORMATS = ("PNG", "JPEG", "PPM", "BMP", "TIFF", "WEBP")  # PPM covers PGM
SUFFIXES = {".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".tif", ".tiff", ".webp"}


def is_image(name: str) -> bool:
    """Whether a file is meant as an image, by its name; system leftovers are not."""
    path = PurePosixPath(name)
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and "__MACOSX" not in path.parts


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # decoders of damaged files raise anything
        raise ValueError(f"{name!r:.80} is not a readable image. Remove it or save it as PNG.") from error


class Decoder:
    """Decodes images to one size, counting pixels so that a file cannot ask for endless work."""

    def __init__(self, size: tuple[int, int] | None, limits: Limits):
        self.size = size
        self.limits = limits
        self.left = limits.pixels

    def __call__(self, name: str, content: bytes) -> np.ndarray:
        """Grey values (h, w), uint8; `size` (width, height) None keeps the image's own."""
        from PIL import Image

        with _readable(name):
            image = Image.open(io.BytesIO(content), formats=FORMATS)
        self._count(name, image.size)
        with _readable(name), image:
            return self._grey(image)

    def _count(self, name: str, size: tuple[int, int]) -> None:
        self.left -= size[0] * size[1]
        if self.left < 0:
            raise ValueError(
                f"images must have at most {self.limits.pixels:,} pixels together; {name!r:.80} "
                f"({size[0]} x {size[1]}) goes beyond. Make them smaller."
            )

    def _grey(self, image) -> np.ndarray:
        from PIL import Image, ImageOps

        if self.size:
            image.draft("L", self.size)  # JPEG only: decode near the size that is needed
        if image.mode.startswith("I") or image.mode == "F":  # 16 bits and more: to the range of 8
            values = np.asarray(image, dtype=float)
            top = max(float(values.max()), 1.0)
            image = Image.fromarray((values.clip(0) * (255 / top)).astype(np.uint8))
        grey = image.convert("L")
        return np.asarray(ImageOps.fit(grey, self.size, Image.Resampling.BOX) if self.size else grey)


def class_images(
    files: Mapping[str, bytes], side: int, limits: Limits
) -> tuple[np.ndarray, list[str], list[str]]:
    """Images, class names and file names of `class/image` files, sorted by name."""
    names = sorted(name for name in files if is_image(name))
    classes = [PurePosixPath(name).parent.name for name in names]
    if not names or "" in classes:
        where = f"; {names[classes.index('')]!r} lies outside a folder" if names else ""
        raise ValueError(f"images must lie in one folder per class, class/image.png{where}. Arrange them so.")
    decode = Decoder((side, side), limits)
    return np.stack([decode(name, files[name]) for name in names]), classes, names


def folder_files(folder: Path, limits: Limits) -> dict[str, bytes]:
    """Contents of the image files below a folder, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and is_image(path.name))
    if len(paths) > limits.members:
        raise ValueError(f"{folder} must have at most {limits.members:,} images; it has {len(paths):,}.")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
