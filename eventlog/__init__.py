"""The append-only file: event types, codec, log, blobs, chain, upcasters."""

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
