from .co import CoSSVM
from .laplacian import LaplacianSSVM
from .supervised import SupervisedCRF, SupervisedSSVM
