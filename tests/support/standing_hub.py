"""A stand-in for the model hub: the real client is told to ask a server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@contextmanager
def standing_in(
    handler: type[BaseHTTPRequestHandler], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> Iterator[None]:
    """Serve ``handler`` as the hub, with a cache of its own."""
    from huggingface_hub import constants

    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{http.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        address + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    try:
        yield
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)
