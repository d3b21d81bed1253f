"""SUN-15: photographs of fifteen kinds of scenes, the leaves of a tree."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path, PurePosixPath

import numpy as np

from ..features import Hog
from ..spaces import Name, TreeLeaves
from .archives import open_zip
from .folder import locate
from .limits import Limits
from .pictures import Decoder, is_image
from .problem import Problem

# The 15 classes as gathered by one repository; the whole SUN397 archive is 37 GB.
URL = (
    "https://github.com/balcilar/Deep-Scene-Classification/archive/"
    "6774b6a65c64212f248484922f7da75515d149d2.zip"
)
# Superordinate -> basic -> scenes, from the three-level hierarchy of SUN397.
HIERARCHY = {
    "indoor": {
        "home_or_hotel": ("bedroom", "kitchen", "livingroom"),
        "shopping_and_dining": ("store",),
    },
    "outdoor_natural": {
        "water_ice_snow": ("coast", "underwater"),
        "mountains_hills_desert_sky": ("mountain",),
        "forest_field_jungle": ("field", "forest"),
    },
    "outdoor_man_made": {
        "transportation_roads": ("highway",),
        "sports_fields_parks_leisure": ("stadium",),
        "industrial_and_construction": ("industrial",),
        "houses_cabins_gardens_farms": ("house",),
        "commercial_buildings_cities_towns": ("street", "tallbuilding"),
    },
}
SCENES = sorted(scene for basics in HIERARCHY.values() for scenes in basics.values() for scene in scenes)
PER_CLASS = 200


def scene_tree(levels: int = 3) -> dict[Name, Name]:
    """child -> parent; with 2 levels the basic one is left out."""
    parents: dict[Name, Name] = {}
    for top, basics in HIERARCHY.items():
        parents[top] = "root"
        for basic, scenes in basics.items():
            if levels == 3:
                parents[basic] = top
            parents |= dict.fromkeys(scenes, basic if levels == 3 else top)
    return parents


def sun15(levels: int = 3, cell: int = 16, components: int = 64, whiten: float = 0.5) -> Problem:
    """Photographs of scenes, leaves of a tree: indoor, natural or man-made, then which of fifteen?

    `levels`: 3, or 2 without the basic level. The others are those of the HOG features.
    """
    if levels not in (2, 3):
        raise ValueError(f"levels must be 2 or 3; got {levels!r}.")
    decode = Decoder(None, Limits())
    images, y = [], []
    for path in locate([f"sun15/{scene}.zip" for scene in SCENES], URL, _convert):
        files = open_zip(path.read_bytes(), Limits())
        names = sorted(name for name in files if is_image(name))
        if len(names) != PER_CLASS:
            raise ValueError(
                f"{path} must hold {PER_CLASS} images; it holds {len(names)}. "
                "Delete it, so that it is fetched again."
            )
        images += [decode(name, files[name]) for name in names]
        y += [path.stem] * len(names)
    space = TreeLeaves(scene_tree(levels))
    features = Hog(cell=cell, components=components, whiten=whiten)
    return Problem("sun15", y, space, metric="cosine", inputs=np.stack(images), features=features)


def _convert(archive: Path, folder: Path) -> None:
    """Write a zip of 128 x 128 grey JPEGs per class, from photographs below data/train and data/test.

    The number of images per class is checked by `sun15`.
    """
    from PIL import Image, ImageOps

    with zipfile.ZipFile(archive) as packed:
        names = sorted(name for name in packed.namelist() if is_image(name))
        for scene in SCENES:
            members = [name for name in names if PurePosixPath(name).parent.name == scene]
            with zipfile.ZipFile(folder / "sun15" / f"{scene}.zip", "w", zipfile.ZIP_STORED) as out:
                for name in members:
                    photo = Image.open(packed.open(name)).convert("L")
                    buffer = io.BytesIO()
                    ImageOps.fit(photo, (128, 128), Image.Resampling.LANCZOS).save(buffer, "JPEG", quality=88)
                    out.writestr(f"{scene}/{PurePosixPath(name).name}", buffer.getvalue())
