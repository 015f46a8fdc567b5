"""The server: loopback, names that cannot be guessed, one order, one thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest
from gateways import Echo, drive, gateway_host

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.serving.desk import Work
from discernmem.replayers.serving.server import LARGEST, Server

CHAT = {"messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def server() -> Iterator[Server]:
    opened = Server(["planner", "the writer/2"])
    yield opened
    opened.close()


@pytest.fixture
def work(server: Server) -> Work:
    return server.desk.open("the task", "the prompt")


def post(url: str, **more: object) -> httpx.Response:
    return httpx.post(url, timeout=None, trust_env=False, **{"json": CHAT, **more})  # type: ignore[arg-type]


def test_only_loopback_is_served(server: Server) -> None:
    assert server.url.startswith("http://127.0.0.1:")


def test_a_role_is_found_by_its_address_whatever_its_name(server: Server, work: Work) -> None:
    url = server.told(work)["roles"]["the writer/2"]
    answer = httpx.get(f"{url}/models", trust_env=False)
    assert answer.json()["data"][0]["id"] == "discernmem"


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/run/{run}/role/nobody/v1/chat/completions", 404, "no role 'nobody'; roles: planner"),
        ("/run/guess/role/planner/v1/chat/completions", 404, "no such run"),
        ("/run/guess/answer", 400, 'the body must be {"answer": "…"}'),
        ("/run/{run}/role/planner/v1/embeddings", 404, "nothing is served at"),
        ("/", 404, "nothing is served at /"),
    ],
)
def test_what_is_not_there_is_said_in_the_shape_of_an_error(
    server: Server, work: Work, path: str, status: int, words: str
) -> None:
    answer = post(server.url + path.format(run=work.run))
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]


def test_pages_in_a_browser_are_refused(server: Server) -> None:
    for headers in ({"Origin": "http://example.org"}, {"Host": "example.org"}):
        answer = httpx.get(f"{server.url}/next", headers=headers, trust_env=False)
        assert answer.status_code == 403


@pytest.mark.parametrize(
    ("length", "status"),
    [(None, 411), ("many", 411), (LARGEST + 1, 413), ("9" * 5000, 413)],
    ids=["none", "words", "too large", "no number to Python"],
)
def test_a_body_without_a_length_or_beyond_all_measure_is_refused(
    server: Server, length: object, status: int
) -> None:
    client = HTTPConnection(server.url.removeprefix("http://"))
    client.putrequest("POST", "/run/any/role/planner/v1/chat/completions")
    if length is not None:
        client.putheader("Content-Length", str(length))
    client.endheaders()
    answer = client.getresponse()
    assert answer.status == status
    assert json.load(answer)["error"]["type"] == "invalid_request_error"
    client.close()


def test_a_port_that_is_taken_is_bad_input(server: Server) -> None:
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(BadInput, match=f"port {port}: cannot be served"):
        Server(["writer"], port)
    with pytest.raises(BadInput, match="port 70000: cannot be served"):
        Server(["writer"], 70000)


def test_each_beginning_of_a_pass_has_a_name_of_its_own(server: Server) -> None:
    names = {server.desk.open("task", "prompt").run for _ in range(100)}
    assert len(names) == 100
    assert min(map(len, names)) >= 16


def test_many_requests_at_once_are_answered_by_the_thread_that_plays(tmp_path: Path) -> None:
    stage = Echo()
    said: list[str] = []

    def driver(url: str) -> None:
        work = httpx.get(f"{url}/next", timeout=None, trust_env=False).json()
        address = f"{work['roles']['writer']}/chat/completions"

        def ask() -> None:
            said.append(post(address).json()["choices"][0]["message"]["content"])

        threads = [threading.Thread(target=ask) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        post(f"{url}/run/{work['run']}/answer", json={"answer": "right"})

    played = drive(gateway_host(), stage, driver, tmp_path)
    assert sorted(said) == sorted(f"writer {number}: hello" for number in range(1, 21))
    assert len(stage.threads) == 1
    assert played.model_calls == 20


def test_a_search_is_refused_where_there_is_nothing_to_search(tmp_path: Path) -> None:
    told: list[httpx.Response] = []

    def driver(url: str) -> None:
        work = httpx.get(f"{url}/next", timeout=None, trust_env=False).json()
        place = f"{url}/run/{work['run']}"
        told.append(post(f"{place}/role/writer/search", json={"query": "jars"}))
        post(f"{place}/answer", json={"answer": "right"})

    drive(gateway_host(), Echo(), driver, tmp_path)
    assert told[0].status_code == 400
    assert "nothing to search" in told[0].json()["error"]["message"]
