from .co import CoSSVM
from .hybrid import HybridCRF
from .laplacian import LaplacianSSVM
from .supervised import SupervisedCRF, SupervisedSSVM

__all__ = ["CoSSVM", "HybridCRF", "LaplacianSSVM", "SupervisedCRF", "SupervisedSSVM"]
