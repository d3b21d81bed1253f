from .co import CoSSVM
from .hybrid import HybridCRF
from .laplacian import LaplacianSSVM
from .manifold import ManifoldSSVM
from .supervised import SupervisedCRF, SupervisedSSVM

__all__ = ["CoSSVM", "HybridCRF", "LaplacianSSVM", "ManifoldSSVM", "SupervisedCRF", "SupervisedSSVM"]
