"""What must hold of any log of a run: the rules of the method as properties of recorded events.

Nothing is asked, made or drawn again. A conclusion that follows from what is recorded before it
must be recorded just so; one that a model decided must keep within what the rules allow it. Each
script of this folder says what is due after what, in the words of the method.
"""

from .checker import Invariants

__all__ = ["Invariants"]
