"""A run whose model server fails in the middle of a task: no score, a clean stop, and resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import attrs
import pytest
from endpoint import Answer, Endpoint, HungUp, Response, scripted
from lively import LivelyModel, lively_world
from processes import story

from discernmem.eventlog import EventLog
from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.models.openai import OpenAIModel
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.session import resume, start
from discernmem.replayers.verification import verify_run
from discernmem.replayers.world import World, open_world

SEED = 3
TASKS = 4

Trouble = Callable[[Endpoint], Response]
"""What a request meets from some moment on."""

Opened = Callable[..., World]


def goes_down(endpoint: Endpoint) -> Response:
    endpoint.close()
    raise HungUp


def hangs_up(_: Endpoint) -> Response:
    raise HungUp


def refuses_more(endpoint: Endpoint) -> Response:
    endpoint.retry_after = "1"
    return 429, {"error": "too many requests"}


TROUBLES: dict[str, Trouble] = {
    "it goes down": goes_down,
    "it hangs up": hangs_up,
    "it is overloaded": refuses_more,
    "it is out of memory": lambda _: (503, b"out of memory"),
    "it answers with a page": lambda _: (200, b"<html>gateway</html>"),
    "it answers with an error": lambda _: (200, {"error": {"message": "worker died"}}),
    "it answers with half an answer": lambda _: (200, b'{"choices": [{"message": {"cont'),
}


@pytest.fixture(scope="module")
def answer() -> Answer:
    return scripted(LivelyModel(SEED))


@pytest.fixture(scope="module")
def endpoint(answer: Answer) -> Iterator[Endpoint]:
    with Endpoint(answer=answer) as made:
        yield made


@pytest.fixture(scope="module")
def world(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Opens a world anew, always over one stream, with the model behind the endpoint."""
    folder = tmp_path_factory.mktemp("stream")

    def open_(
        url: str = endpoint.url, *, parallel: int = 1, name: str = "m", host: str = "autogen"
    ) -> World:
        model = OpenAIModel(url, name, parallel=parallel, pause=lambda _: None)
        lively = lively_world(folder, SEED, tasks=TASKS)
        config = attrs.evolve(lively.config, host=host)
        return open_world(config, model=model, embedder=lively.embedder)

    return open_


@pytest.fixture(scope="module")
def calm(
    endpoint: Endpoint, world: Opened, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, int]:
    """The story of an undisturbed run, and how many requests it made."""
    log = tmp_path_factory.mktemp("calm") / "run.db"
    before = len(endpoint.requests)
    start(log, world())
    return story(log), len(endpoint.requests) - before


def tasks_done(log: Path) -> int:
    with EventLog.open(log) as opened:
        return sum(recorded.type == "TaskCompleted" for recorded in opened.read())


def disturb(endpoint: Endpoint, answer: Answer, trouble: Trouble, after: int) -> None:
    """From its ``after``-th request on, counted from now, the server is in trouble."""
    first = len(endpoint.requests) + after

    def troubled(body: dict[str, Any]) -> Response:
        return answer(body) if len(endpoint.requests) < first else trouble(endpoint)

    endpoint.answer = troubled


def heal(endpoint: Endpoint, answer: Answer) -> None:
    endpoint.close()
    endpoint.answer, endpoint.retry_after = answer, None
    endpoint.open()


@pytest.mark.parametrize(
    ("trouble", "moment"), list(zip(TROUBLES, cycle([0.3, 0.62]), strict=False))
)
def test_a_server_that_fails_in_a_task_stops_the_run_cleanly_and_resume_ends_it_as_if_it_had_not(
    tmp_path: Path,
    endpoint: Endpoint,
    answer: Answer,
    world: Opened,
    calm: tuple[Any, int],
    trouble: str,
    moment: float,
) -> None:
    undisturbed, requests = calm
    log = tmp_path / "run.db"
    disturb(endpoint, answer, TROUBLES[trouble], int(requests * moment))
    try:
        with pytest.raises(Infrastructure, match="then resume"):
            start(log, world())
        left = story(log)
        assert left == undisturbed[: len(left)], "the trouble became an event"
        assert tasks_done(log) < TASKS
        assert left[-1][4] not in ("TaskCompleted", "RunStarted"), "it was between two tasks"
        assert verify_run(log).ok
        assert not replay_offline(log).finished
    finally:
        heal(endpoint, answer)
    resume(log, open_=lambda _: world())
    assert story(log) == undisturbed
    assert verify_run(log).ok
    assert replay_offline(log).finished


def test_while_the_server_stays_away_resume_adds_nothing(
    tmp_path: Path, endpoint: Endpoint, answer: Answer, world: Opened, calm: tuple[Any, int]
) -> None:
    log = tmp_path / "run.db"
    disturb(endpoint, answer, goes_down, calm[1] // 2)
    try:
        with pytest.raises(Infrastructure):
            start(log, world())
        left = story(log)
        for _ in range(2):
            with pytest.raises(Infrastructure, match="does not answer"):
                resume(log, open_=lambda _: world())
        assert story(log) == left
    finally:
        heal(endpoint, answer)


def test_a_server_that_is_often_busy_is_waited_for_and_leaves_no_trace(
    tmp_path: Path, endpoint: Endpoint, answer: Answer, world: Opened, calm: tuple[Any, int]
) -> None:
    def often_busy(body: dict[str, Any]) -> Response:
        return (429, {}) if len(endpoint.requests) % 3 else answer(body)

    endpoint.answer = often_busy
    try:
        start(tmp_path / "run.db", world())
    finally:
        heal(endpoint, answer)
    assert story(tmp_path / "run.db") == calm[0]


def test_asking_several_roles_at_once_changes_no_event_not_even_where_it_fails(
    tmp_path: Path, endpoint: Endpoint, answer: Answer, world: Opened
) -> None:
    before = len(endpoint.requests)
    start(tmp_path / "in_turn.db", world(host="macnet"))
    in_turn, requests = story(tmp_path / "in_turn.db"), len(endpoint.requests) - before
    start(tmp_path / "at_once.db", world(host="macnet", parallel=2))
    assert story(tmp_path / "at_once.db") == in_turn

    log = tmp_path / "run.db"
    disturb(endpoint, answer, goes_down, requests // 2)
    try:
        with pytest.raises(Infrastructure, match="then resume"):
            start(log, world(host="macnet", parallel=2))
    finally:
        heal(endpoint, answer)
    left = story(log)
    assert left == in_turn[: len(left)]
    resume(log, open_=lambda _: world(host="macnet", parallel=2))
    assert story(log) == in_turn


def test_a_run_goes_on_where_only_what_decides_nothing_has_changed(
    tmp_path: Path, world: Opened, answer: Answer
) -> None:
    """A server with more slots, without a seed, at another address, is the same one."""
    log = tmp_path / "run.db"
    start(log, world(), until=2)
    moved = Endpoint(pages={"/props": (200, {"total_slots": 8})})
    moved.answer = lambda body: answer({**body, "seed": len(moved.requests)})
    with moved:
        now = world(moved.url)
        assert (now.model.card.facts["seed"], now.model.card.facts["slots"]) == ("ignored", 8)
        resume(log, open_=lambda _: now)
    assert verify_run(log).ok
    assert replay_offline(log).finished


def test_a_run_does_not_go_on_with_another_model(tmp_path: Path, world: Opened) -> None:
    log = tmp_path / "run.db"
    start(log, world(), until=1)
    before = story(log)
    with pytest.raises(BadInput, match="the model fingerprint was"):
        resume(log, open_=lambda _: world(name="another"))
    assert story(log) == before
