"""Searching through a retrieval service that speaks Search-R1's protocol.

``POST /retrieve {"queries": ["…"], "topk": 3, "return_scores": true}`` is answered by
``{"result": [[{"document": {"contents": "title\\ntext"}, "score": 0.5}, …]]}``. A list without
passages is an answer; anything that is not of this form is a failure of the service.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from ...eventlog.errors import BadInput
from ..benchmarks.base import Passage, Searcher
from ..models.cards import clean
from ..models.exchange import Answer, Exchange, RefusedError
from .passages import title_and_text

_PATH = "/retrieve"


class ServiceSearcher(Searcher):
    """A retrieval service; only failures of the infrastructure are tried again."""

    def __init__(
        self, url: str, *, timeout: float = 60.0, pause: Callable[[float], None] = time.sleep
    ) -> None:
        """Describe a service; nothing is sent yet.

        Args:
            url: its address, with or without ``/retrieve`` at the end.
            timeout: seconds to wait for an answer.
            pause: waits between attempts.

        Raises:
            BadInput: the address is not usable.
        """
        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, TypeError):
            parsed = httpx.URL("")
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo:
            raise BadInput(f"retriever {url!r}: write http://host:port, without name and password")
        path = parsed.path.rstrip("/").removesuffix(_PATH)
        self._exchange = Exchange(
            parsed.copy_with(path=path or "/", fragment=None),
            what="retriever",
            remedy="check that it runs and speaks Search-R1's protocol",
            timeout=timeout,
            pause=pause,
        )
        # A benchmark keeps its searcher for as long as it is there itself.
        weakref.finalize(self, self._exchange.close)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The address, which is all a service tells of itself."""
        return {"searcher": "service", "address": self._exchange.url + _PATH}

    def search(self, query: str, k: int) -> tuple[Passage, ...]:
        """See `Searcher`.

        Raises:
            BadInput: something else is at the address.
            Infrastructure: the service cannot be reached, fails, or answers in another form.
        """
        body = {"queries": [clean(query)], "topk": k, "return_scores": True}
        try:
            answer = self._exchange.send("POST", _PATH, body, usable=_usable)
        except RefusedError as refusal:
            raise BadInput(
                f"the retriever at {self._exchange.url} refuses ({refusal}): check its address"
            ) from None
        return _passages(answer)[:k]


def _usable(answer: Answer) -> bool:
    try:
        return bool(_passages(answer)) or answer["result"] == [[]]
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _passages(answer: Answer) -> tuple[Passage, ...]:
    """The passages of an answer to one query; an error of any of four kinds if it is none."""
    (hits,) = answer["result"]
    return tuple(title_and_text(clean(hit["document"]["contents"])) for hit in hits)
