"""The one jail for code written by a model.

`grade(solution, test, *, limits=Limits(), isolation="bubblewrap") -> Grade` judges a solution by
a hidden pytest module. `Worker(source).call(name, *arguments)` keeps a module in a jail and calls
its functions. `check()` tries hostile programs against the jail of this machine.
"""

from .checks import Check, check
from .grading import grade
from .limits import Limits
from .verdicts import Grade, Oracle, Verdict
from .worker import ProgramFailed, Worker

__all__ = [
    "Check",
    "Grade",
    "Limits",
    "Oracle",
    "ProgramFailed",
    "Verdict",
    "Worker",
    "check",
    "grade",
]
