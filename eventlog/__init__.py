"""The append-only file: event types, codec, log, blobs, chain, upcasters.

Names are loaded when they are first used, so that a command that opens no log loads no SQLite.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .codec import canonical, decode, digest, digest_json, encode, plain
    from .log import Draft, EventLog, Head, Recorded, utc_now

__all__ = [
    "Draft",
    "EventLog",
    "Head",
    "Recorded",
    "canonical",
    "decode",
    "digest",
    "digest_json",
    "encode",
    "plain",
    "utc_now",
]

_CODEC = frozenset({"canonical", "decode", "digest", "digest_json", "encode", "plain"})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(".codec" if name in _CODEC else ".log", __name__)
    return getattr(module, name)
