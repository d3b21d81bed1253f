"""Feature pipelines: raw inputs to rows of X, fitted on training rows, kept with the model without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .base import Features
from .documents import WordsAndLinks
from .images import BagOfPatches, Hog, Pixels, Texture
from .tables import Standardise
from .tokens import TokenFeatures

__all__ = [
    "BagOfPatches",
    "Features",
    "Hog",
    "Pixels",
    "Standardise",
    "Texture",
    "TokenFeatures",
    "WordsAndLinks",
    "from_state",
]

PIPELINES: dict[str, type[Features]] = {
    pipeline.tag: pipeline
    for pipeline in (BagOfPatches, Hog, Pixels, Standardise, Texture, TokenFeatures, WordsAndLinks)
}


def from_state(meta: Any, arrays: Mapping[str, np.ndarray]) -> Features:
    """The fitted pipeline that `Features.to_state` wrote; everything read is checked.

    >>> meta, arrays = Standardise().fit([[1.0], [3.0]]).to_state()
    >>> from_state(meta, arrays).transform([[5.0]]).tolist()
    [[3.0]]
    """
    if not isinstance(meta, dict) or set(meta) != {"features", "params"}:
        raise ValueError("features must be described by 'features' and 'params'; the file is damaged.")
    kind = PIPELINES.get(meta["features"]) if isinstance(meta["features"], str) else None
    if kind is None:
        known = ", ".join(sorted(PIPELINES))
        raise ValueError(f"features must be one of {known}; got {meta['features']!r:.80}.")
    params, names = meta["params"], kind._get_param_names()
    if not isinstance(params, dict) or set(params) != set(names):
        raise ValueError(f"parameters of {kind.tag!r} features must be {names}; got {params!r:.80}.")
    pipeline = kind(**params)
    pipeline.check_params()
    pipeline._load(arrays)
    return pipeline
