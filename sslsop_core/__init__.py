"""Semi-supervised learning of local structured output predictors."""

from .labelsets import LabelSets
from .sequences import Sequences
from .spaces import Classes, OutputSpace, TreeLeaves

__all__ = ["Classes", "LabelSets", "OutputSpace", "Sequences", "TreeLeaves"]
