"""A retrieval service over HTTP: its answers, its outages, and never "no page found" for these."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs
import pytest

from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.benchmarks.base import Passage
from discernmem.replayers.models.exchange import ATTEMPTS
from discernmem.replayers.search.service import ServiceSearcher

LEANING = {"document": {"id": "7", "contents": '"Pisa"\nIt leans.'}, "score": 0.9}
FOUND = {"result": [[LEANING]]}


@attrs.define
class Answer:
    """What the server sends: a status and a body, or nothing at all before it hangs up."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = attrs.field(factory=dict)
    hang_up: bool = False


class Service:
    """A real HTTP server that gives the answers of a script, the last one for ever."""

    def __init__(self, *script: Answer) -> None:
        self.script = list(script)
        self.asked: list[tuple[str, Any]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["content-length"]))
                service.asked.append((self.path, json.loads(content)))
                script = service.script
                answer = script.pop(0) if len(script) > 1 else script[0]
                if answer.hang_up:
                    self.close_connection = True
                    return
                body = answer.body
                sent = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(answer.status)
                self.send_header("content-length", str(len(sent)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


Serve = Callable[..., tuple[Service, ServiceSearcher, list[float]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    opened: list[Service] = []

    def start(*script: Answer, path: str = "") -> tuple[Service, ServiceSearcher, list[float]]:
        service = Service(*script)
        pauses: list[float] = []
        searcher = ServiceSearcher(service.url + path, pause=pauses.append)
        opened.append(service)
        return service, searcher, pauses

    yield start
    for service in opened:
        service.stop()


@pytest.mark.parametrize("path", ["", "/", "/retrieve", "/retrieve/", "?a=b"])
def test_a_query_is_asked_in_the_form_of_search_r1(serve: Serve, path: str) -> None:
    service, searcher, pauses = serve(Answer(body=FOUND), path=path)
    assert searcher.search("who leans \ud800?", 3) == (Passage(title="Pisa", text="It leans."),)
    body = {"queries": ["who leans \ufffd?"], "topk": 3, "return_scores": True}
    assert service.asked == [("/retrieve", body)]
    assert pauses == []
    assert searcher.facts == {"searcher": "service", "address": f"{service.url}/retrieve"}


def test_a_service_behind_a_path_is_asked_there(serve: Serve) -> None:
    service, searcher, _ = serve(Answer(body=FOUND), path="/wiki/")
    searcher.search("q", 1)
    assert [path for path, _ in service.asked] == ["/wiki/retrieve"]


def test_no_more_passages_come_than_were_asked_for(serve: Serve) -> None:
    _, searcher, _ = serve(Answer(body={"result": [[LEANING] * 5]}))
    assert len(searcher.search("q", 2)) == 2


def test_a_service_may_find_nothing(serve: Serve) -> None:
    _, searcher, _ = serve(Answer(body={"result": [[]]}))
    assert searcher.search("q", 3) == ()


@pytest.mark.parametrize(
    "trouble",
    [
        Answer(status=429, body={}),
        Answer(status=503, body={}),
        Answer(status=500, body=b"Internal Server Error"),
        Answer(status=408, body={}),
        Answer(hang_up=True),
        Answer(body=b"<html>proxy</html>"),
        Answer(body={"result": None}),
    ],
)
def test_a_passing_trouble_is_tried_again_and_then_answered(serve: Serve, trouble: Answer) -> None:
    service, searcher, pauses = serve(trouble, trouble, Answer(body=FOUND))
    assert searcher.search("q", 3) == (Passage(title="Pisa", text="It leans."),)
    assert len(service.asked) == 3
    assert pauses == [0.5, 1.0]


def test_a_busy_service_is_given_the_time_it_asks_for(serve: Serve) -> None:
    busy = Answer(status=429, body={}, headers={"retry-after": "7"})
    _, searcher, pauses = serve(busy, Answer(body=FOUND))
    searcher.search("q", 3)
    assert pauses == [7.0]


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"not JSON",
        b"\xff\xfe",
        b"[" * 100_000,
        [],
        {},
        {"result": []},
        {"result": [[], []]},
        {"result": {}},
        {"result": [{}]},
        {"result": [""]},
        {"result": [None]},
        {"result": "x"},
        {"result": [["Pisa"]]},
        {"result": [[{"contents": "Pisa\nIt leans."}]]},
        {"result": [[{"document": "Pisa"}]]},
        {"result": [[{"document": {}}]]},
        {"result": [[{"document": {"contents": None}}]]},
        {"result": [[{"document": {"contents": ["Pisa"]}}]]},
        {"result": [[LEANING, {"document": {"contents": 5}}]]},
        {"detail": "out of memory"},
    ],
)
def test_garbage_is_an_infrastructure_failure_and_not_nothing_found(
    serve: Serve, garbage: Any
) -> None:
    service, searcher, _ = serve(Answer(body=garbage))
    with pytest.raises(Infrastructure, match=r"the retriever at http.*Search-R1.*then resume"):
        searcher.search("q", 3)
    assert len(service.asked) == ATTEMPTS


def test_an_outage_on_the_way_is_an_infrastructure_failure_and_ends_when_it_ends(
    serve: Serve,
) -> None:
    service, searcher, _ = serve(Answer(body=FOUND))
    found = searcher.search("q", 3)
    service.script = [Answer(hang_up=True)]
    with pytest.raises(Infrastructure, match=f"does not answer.*{ATTEMPTS} attempts"):
        searcher.search("q", 3)
    service.script = [Answer(body=FOUND)]
    assert searcher.search("q", 3) == found


def test_a_service_that_is_gone_is_an_infrastructure_failure() -> None:
    service = Service(Answer(body=FOUND))
    service.stop()
    searcher = ServiceSearcher(service.url, pause=lambda _: None)
    with pytest.raises(Infrastructure, match=r"does not answer.*refused"):
        searcher.search("q", 3)


def test_a_service_that_never_answers_is_an_infrastructure_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        searcher = ServiceSearcher(
            f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.05, pause=lambda _: None
        )
        with pytest.raises(Infrastructure, match=r"does not answer.*timed out"):
            searcher.search("q", 3)


@pytest.mark.parametrize("status", [302, 400, 401, 404, 405, 422])
def test_a_refusal_is_bad_input_at_once(serve: Serve, status: int) -> None:
    service, searcher, pauses = serve(Answer(status=status, body={"detail": "no"}))
    with pytest.raises(BadInput, match=f"refuses .*HTTP {status}.*: check its address"):
        searcher.search("q", 3)
    assert len(service.asked) == 1
    assert pauses == []


@pytest.mark.parametrize(
    "url", ["", "host:80", "ftp://host", "http://", "http://user:secret@host", "http://a b:c", None]
)
def test_what_is_no_address_is_refused_at_once(url: Any) -> None:
    with pytest.raises(BadInput, match="write http://host:port"):
        ServiceSearcher(url)
