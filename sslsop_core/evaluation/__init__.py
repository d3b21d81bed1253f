"""Comparing methods and settings: the paper's protocol, statistics, sweeps, and a store of what was run."""

from .cells import Cell, Protocol
from .comparison import (
    Comparison,
    cross_validate,
    iter_cross_validate,
    iter_learning_curve,
    learning_curve,
)
from .losses import average_loss, losses
from .repeat import repeat_cells, repeat_training, training_settings
from .store import Record, Store
from .sweeps import Sweep, iter_sweep, sweep

__all__ = [
    "Cell",
    "Comparison",
    "Protocol",
    "Record",
    "Store",
    "Sweep",
    "average_loss",
    "cross_validate",
    "iter_cross_validate",
    "iter_learning_curve",
    "iter_sweep",
    "learning_curve",
    "losses",
    "repeat_cells",
    "repeat_training",
    "sweep",
    "training_settings",
]
