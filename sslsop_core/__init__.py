"""Semi-supervised learning of local structured output predictors."""

from .explain import Explanation, Vote
from .labelsets import LabelSets
from .learner import SSLSOP, Iteration
from .modelfile import load_model
from .sequences import Sequences
from .spaces import Classes, OutputSpace, TreeLeaves

__version__ = "0.1.0"

__all__ = [
    "SSLSOP",
    "Classes",
    "Explanation",
    "Iteration",
    "LabelSets",
    "OutputSpace",
    "Sequences",
    "TreeLeaves",
    "Vote",
    "load_model",
]
