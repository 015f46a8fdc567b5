"""The one jail for code written by a model.

`grade(solution, test, *, limits=Limits(), isolation="bubblewrap") -> Grade` judges a solution by
a hidden pytest module.
"""

from .grading import grade
from .limits import Limits
from .verdicts import Grade, Oracle, Verdict

__all__ = ["Grade", "Limits", "Oracle", "Verdict", "grade"]
