"""Competitors of SSLSOP on every output space, controls, and methods of other libraries.

All share one solver (`ssvm`) and one layer of inference (`inference`), and the interface of `SSLSOP`:
fit, iter_fit, predict, outputs_, history_, score. `summary` says what a method minimises.
"""

from importlib.util import find_spec

from ..spaces import OutputSpace
from .adapters import CrfSuite, HierarchicalClassifier, LabelSpreading, SelfTraining
from .base import Baseline
from .co import CoSSVM
from .hybrid import HybridCRF
from .laplacian import LaplacianSSVM
from .manifold import ManifoldSSVM
from .supervised import SupervisedCRF, SupervisedSSVM

COMPETITORS: tuple[type[Baseline], ...] = (LaplacianSSVM, CoSSVM, HybridCRF, ManifoldSSVM)
CONTROLS: tuple[type[Baseline], ...] = (SupervisedSSVM, SupervisedCRF)
ADAPTERS: tuple[type[Baseline], ...] = (LabelSpreading, SelfTraining)
OPTIONAL: dict[str, type[Baseline]] = {"sklearn_crfsuite": CrfSuite, "hiclass": HierarchicalClassifier}


def offered(space: OutputSpace) -> list[type[Baseline]]:
    """The methods that work on a space, as far as their libraries are installed.

    >>> from sslsop_core import Classes
    >>> [method.__name__ for method in offered(Classes("ab"))][:4]
    ['LaplacianSSVM', 'CoSSVM', 'HybridCRF', 'ManifoldSSVM']
    """
    installed = [method for package, method in OPTIONAL.items() if find_spec(package)]
    methods = (*COMPETITORS, *CONTROLS, *ADAPTERS, *installed)
    return [method for method in methods if space.kind in method.kinds]


__all__ = [
    "CoSSVM",
    "CrfSuite",
    "HierarchicalClassifier",
    "HybridCRF",
    "LabelSpreading",
    "LaplacianSSVM",
    "ManifoldSSVM",
    "SelfTraining",
    "SupervisedCRF",
    "SupervisedSSVM",
    "offered",
]
