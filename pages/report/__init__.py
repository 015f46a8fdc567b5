"""The report of a run, or of several side by side: one file that needs nothing else to be read."""

from .figures import Figures, figures_of
from .several import Comparison, compare
from .writing import check_target, write_one, write_several

__all__ = [
    "Comparison",
    "Figures",
    "check_target",
    "compare",
    "figures_of",
    "write_one",
    "write_several",
]
