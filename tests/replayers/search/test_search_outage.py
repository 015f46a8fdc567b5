"""A run whose retrieval service fails in the middle of a task: no score, a clean stop, resume."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, HungUp, Response
from processes import story
from scripted import BagEmbedder, ScriptedModel

from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import Infrastructure
from discernmem.replayers.config import parse_config
from discernmem.replayers.models import exchange
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.session import resume, start
from discernmem.replayers.verification import verify_run
from discernmem.replayers.world import World, open_world

TASKS = 3


def passages(body: dict[str, Any]) -> Response:
    contents = f'"Found"\nA passage on {body["queries"][0]}'
    return 200, {"result": [[{"document": {"contents": contents}, "score": 1.0}]]}


def said(role: str, prompt: str) -> str:
    """The assistant looks up the question, then what it found; both then answer."""
    found = prompt.count("</information>")
    if role == "assistant" and found < 2:
        return f"<search>{prompt.splitlines()[0]} {found}</search>"
    return "<answer>ninety</answer>"


@pytest.fixture
def service() -> Iterator[Endpoint]:
    with Endpoint(answer=passages) as made:
        yield made


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FIRST_PAUSE", 0.0)


def world(service: Endpoint) -> World:
    table = {
        "benchmark": {"name": "triviaqa", "retriever": service.url.removesuffix("/v1")},
        "model": {"name": "scripted"},
        "embedder": {"name": "bag"},
        "tasks": TASKS,
    }
    model = ScriptedModel(answer=said)
    return open_world(parse_config(table, "test"), model=model, embedder=BagEmbedder())


def scored(log: Path) -> int:
    with EventLog.open(log) as opened:
        return sum(recorded.type == "TaskCompleted" for recorded in opened.read())


def goes_down(service: Endpoint) -> Response:
    service.close()
    raise HungUp


TROUBLES: dict[str, Callable[[Endpoint], Response]] = {
    "it goes down": goes_down,
    "it is overloaded": lambda _: (429, {"detail": "too many requests"}),
    "it is out of memory": lambda _: (500, b"Internal Server Error"),
    "it answers with a page": lambda _: (200, b"<html>gateway</html>"),
    "it answers without a result": lambda _: (200, {"detail": "index not loaded"}),
    "it answers with results for nobody": lambda _: (200, {"result": []}),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_search_that_fails_is_no_score_and_resume_ends_the_run_as_if_it_had_not(
    trouble: str, service: Endpoint, tmp_path: Path
) -> None:
    start(tmp_path / "calm.db", world(service))
    undisturbed = story(tmp_path / "calm.db")
    assert verify_run(tmp_path / "calm.db").ok
    assert len(service.requests) == 2 * TASKS
    fails_from = len(service.requests) + 4  # the second search of the second task

    def troubled(body: dict[str, Any]) -> Response:
        healthy = len(service.requests) < fails_from
        return passages(body) if healthy else TROUBLES[trouble](service)

    service.answer = troubled
    log = tmp_path / "run.db"
    with pytest.raises(Infrastructure, match=r"the retriever at .*then resume"):
        start(log, world(service))
    left = story(log)
    assert left == undisturbed[: len(left)], "the trouble became an event"
    assert scored(log) == 1
    assert verify_run(log).ok
    assert not replay_offline(log).finished

    with pytest.raises(Infrastructure):
        resume(log, open_=lambda _: world(service))
    assert story(log) == left

    service.close()
    service.answer = passages
    service.open()
    resume(log, open_=lambda _: world(service))
    assert story(log) == undisturbed
    assert verify_run(log).ok
    assert replay_offline(log).finished


def test_a_search_that_was_recorded_is_not_made_again(service: Endpoint, tmp_path: Path) -> None:
    log = tmp_path / "run.db"
    start(log, world(service), until=2)
    asked = len(service.requests)
    resume(log, open_=lambda _: world(service))
    assert len(service.requests) == 2 * TASKS
    service.close()
    assert replay_offline(log).finished
    assert asked == 4
