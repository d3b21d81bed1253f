"""Images: pixels, oriented gradients, texture around the centre, bags of visual features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.preprocessing import normalize

from .base import Features, as_images


class Pixels(Features):
    """Grey values in one row per image, scaled to unit length.

    Inputs are images (n, h, w), or a list of such arrays, one per word, when each word is a
    sequence of letters: X is then a list of (length, h * w) arrays.
    """

    tag = "pixels"
    learned: ClassVar = {"shape_": ("i8", (2,))}

    def prepare(self, inputs: Any) -> np.ndarray | list[np.ndarray]:
        if isinstance(inputs, np.ndarray):
            return as_images(inputs)
        return [as_images(word) for word in inputs]

    def learn(self, prepared: Any) -> Self:
        first = prepared if isinstance(prepared, np.ndarray) else prepared[0]
        self.shape_ = np.array(first.shape[1:], dtype=np.int64)
        return self

    def apply(self, prepared: Any) -> Any:
        return self._rows(prepared) if isinstance(prepared, np.ndarray) else [self._rows(w) for w in prepared]

    def _rows(self, images: np.ndarray) -> np.ndarray:
        require_size(images, self.shape_)
        return normalize(images.reshape(len(images), -1).astype(float))


class Rotated(Features):
    """Descriptors of images, centred, rotated and partly whitened by PCA, scaled to unit length."""

    allowed: ClassVar = {"components": (1, 4096), "whiten": (0.0, 1.0)}
    learned: ClassVar = {"mean_": ("f8", ("p",)), "rotation_": ("f8", ("p", "d"))}
    standardised: ClassVar[bool] = False  # whether columns of different units must be made comparable first

    components: int
    whiten: float

    def learn(self, prepared: np.ndarray) -> Self:
        from sklearn.decomposition import PCA

        if len(prepared) < 2:
            raise ValueError(f"at least two images are needed to centre and rotate; got {len(prepared)}.")
        self.mean_ = prepared.mean(axis=0)
        units = prepared.std(axis=0) if self.standardised else np.ones(prepared.shape[1])
        units[units < 1e-12] = 1.0
        most = min(self.components, len(prepared) - 1, prepared.shape[1])
        with np.errstate(invalid="ignore"):  # images that are all the same have no variance to share
            pca = PCA(most, random_state=0).fit((prepared - self.mean_) / units)
        spread = np.sqrt(pca.explained_variance_)
        # Components without spread hold rounding noise, which whitening would blow up.
        kept = np.maximum(spread > 1e-9 * spread[0], np.arange(most) == 0)
        scales = np.where(kept & (spread > 0), spread, 1.0) ** self.whiten
        self.rotation_ = np.ascontiguousarray((pca.components_ / scales[:, None] / units)[kept].T)
        return self

    def apply(self, prepared: np.ndarray) -> np.ndarray:
        if prepared.shape[1] != len(self.mean_):
            raise ValueError("images must have the size of the training images; resize them first.")
        return normalize((prepared - self.mean_) @ self.rotation_)


class Hog(Rotated):
    """Histograms of oriented gradients, rotated: outlines and where they are.

    Raw HOG is of little use for neighborhoods: all images are near all others. On SUN-15 scenes
    halfway between PCA (whiten=0) and full whitening (1) gives the nearest neighbors that agree
    best, see docs/data.md.

    Parameters
    ----------
    cell : side of a cell in pixels.
    components : columns of X (fewer when there are fewer images).
    whiten : each component is divided by its standard deviation to this power.
    """

    tag = "hog"
    allowed: ClassVar = Rotated.allowed | {"cell": (4, 256)}

    def __init__(self, cell: int = 16, components: int = 64, whiten: float = 0.5):
        self.cell = cell
        self.components = components
        self.whiten = whiten

    def prepare(self, inputs: Any) -> np.ndarray:
        from skimage.feature import hog

        images = as_images(inputs)
        if min(images.shape[1:]) < 2 * self.cell:
            half = min(images.shape[1:]) // 2
            raise ValueError(f"cell must be at most half the image's side, {half}; got cell={self.cell}.")
        size = {"orientations": 9, "pixels_per_cell": (self.cell, self.cell), "cells_per_block": (2, 2)}
        return np.stack([hog(image, **size) for image in images])


class Texture(Rotated):
    """Brightness, edges and ridges at scales from 1 to 32 pixels, in ever smaller squares around the centre.

    The features are scikit-image's `multiscale_basic_features`; each square gives their means,
    deviations and quantiles. Meant for crops with something in the middle, such as a lesion.

    Parameters
    ----------
    components, whiten : as in `Hog`.
    """

    tag = "texture"
    standardised = True
    margins = (0.0, 0.25, 0.375)  # cut from each side: the whole, the inner half, the inner quarter

    def __init__(self, components: int = 40, whiten: float = 0.5):
        self.components = components
        self.whiten = whiten

    def prepare(self, inputs: Any) -> np.ndarray:
        images = as_images(inputs)
        if min(images.shape[1:]) < 32:
            raise ValueError(f"texture needs images of 32 x 32 pixels or more; got {images.shape[1:]}.")
        return np.stack([self._describe(image) for image in images])

    def _describe(self, image: np.ndarray) -> np.ndarray:
        from skimage.feature import multiscale_basic_features

        maps = multiscale_basic_features(image / 255.0, sigma_min=1, sigma_max=32)
        cuts = [(int(maps.shape[0] * m), int(maps.shape[1] * m)) for m in self.margins]
        squares = [maps[a : maps.shape[0] - a, b : maps.shape[1] - b] for a, b in cuts]
        return np.concatenate([_statistics(square.reshape(-1, maps.shape[2])) for square in squares])


def _statistics(values: np.ndarray) -> np.ndarray:
    quantiles = np.percentile(values, [5, 50, 95], axis=0)
    return np.concatenate([values.mean(axis=0), values.std(axis=0), quantiles.ravel()])


class BagOfPatches(Features):
    """Bag of visual features: patches, a k-means dictionary of them, a histogram of its words.

    A patch is described by its contrast-normalised pixels and its mean; the histogram is square-rooted
    and scaled to unit length.

    Parameters
    ----------
    words : size of the dictionary.
    patch, step : side of a patch and distance between patches, in pixels.
    """

    tag = "bag_of_patches"
    allowed: ClassVar = {"words": (2, 4096), "patch": (3, 64), "step": (1, 64)}
    learned: ClassVar = {"dictionary_": ("f4", ("words", "p"))}
    sample = 200_000  # patches that the dictionary is made from

    def __init__(self, words: int = 200, patch: int = 8, step: int = 4):
        self.words = words
        self.patch = patch
        self.step = step

    def prepare(self, inputs: Any) -> np.ndarray:
        images = as_images(inputs)
        if min(images.shape[1:]) < self.patch:
            raise ValueError(f"patch must fit the images of {images.shape[1:]}; got patch={self.patch}.")
        return images

    def _patches(self, image: np.ndarray) -> np.ndarray:
        from skimage.util import view_as_windows

        windows = view_as_windows(image, self.patch, self.step).reshape(-1, self.patch**2).astype(np.float32)
        mean = windows.mean(axis=1, keepdims=True)
        contrast = windows - mean
        return np.hstack([contrast / (contrast.std(axis=1, keepdims=True) + 10), mean / 64])

    def learn(self, prepared: np.ndarray) -> Self:
        from sklearn.cluster import MiniBatchKMeans

        rng = np.random.default_rng(0)
        share = max(1, self.sample // len(prepared))
        patches = np.concatenate([_draw(self._patches(image), share, rng) for image in prepared])
        words = min(self.words, len(np.unique(patches, axis=0)))
        kmeans = MiniBatchKMeans(words, random_state=0, n_init=1, batch_size=2048).fit(patches)
        self.dictionary_ = np.ascontiguousarray(kmeans.cluster_centers_, dtype=np.float32)
        return self

    def apply(self, prepared: np.ndarray) -> np.ndarray:
        return normalize(np.sqrt(np.stack([self._counts(image) for image in prepared])))

    def _counts(self, image: np.ndarray) -> np.ndarray:
        from sklearn.metrics import pairwise_distances_argmin

        nearest = pairwise_distances_argmin(self._patches(image), self.dictionary_)
        return np.bincount(nearest, minlength=len(self.dictionary_)).astype(float)

    def check_learned(self) -> None:
        if self.dictionary_.shape[1] != self.patch**2 + 1:
            raise ValueError("array 'dictionary_' must have a column per patch pixel; the file is damaged.")


def require_size(images: np.ndarray, shape: np.ndarray) -> None:
    """Refuse images of another size than those of training."""
    if tuple(images.shape[1:]) != tuple(shape.tolist()):
        raise ValueError(f"images must be {tuple(shape.tolist())} as in training; got {images.shape[1:]}.")


def _draw(patches: np.ndarray, share: int, rng: np.random.Generator) -> np.ndarray:
    return patches[rng.permutation(len(patches))[:share]]
