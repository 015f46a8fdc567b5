"""A driver from outside fetches the work of each pass, and may die at any moment."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from gateways import TEAMS, Echo, drive, gateway_host, record_driven, team_world
from processes import story
from scripted import stream_file

from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.benchmarks import open_benchmark
from discernmem.replayers.benchmarks.base import Passage
from discernmem.replayers.hosts.base import Spoken, Turn
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.serving.desk import Desk
from discernmem.replayers.serving.errors import NotServed
from discernmem.replayers.session import resume, start
from discernmem.replayers.verification import verify_run


@contextmanager
def driver(url: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, TEAMS / "driver.py", url, *arguments])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def record(folder: Path, log: Path) -> None:
    record_driven(log, team_world(folder, gateway_host()), sys.executable, TEAMS / "driver.py")


def chat(url: str, text: str, **more: object) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": text}], **more}
    return httpx.post(f"{url}/chat/completions", json=body, timeout=None, trust_env=False)


def get(url: str) -> httpx.Response:
    return httpx.get(url, timeout=None, trust_env=False)


def act(url: str, run: str, text: str) -> httpx.Response:
    return httpx.post(f"{url}/run/{run}/answer", json={"answer": text}, trust_env=False)


def test_a_driven_run_is_recorded_verified_and_replayed(tmp_path: Path) -> None:
    log = tmp_path / "run.db"
    record(tmp_path, log)
    assert verify_run(log).ok
    assert replay_offline(log).finished


def test_a_driver_learns_that_the_run_is_finished(tmp_path: Path) -> None:
    host = gateway_host()
    with host.serving() as url:
        process = subprocess.Popen([sys.executable, TEAMS / "driver.py", url])
        start(tmp_path / "run.db", team_world(tmp_path, host, tasks=1))
    assert process.wait() == 0


def test_after_a_driver_was_killed_another_begins_the_pass_anew(tmp_path: Path) -> None:
    whole, log = tmp_path / "whole.db", tmp_path / "run.db"
    record(tmp_path, whole)

    host = gateway_host()
    world = team_world(tmp_path, host)
    spoke = tmp_path / "spoke"
    with host.serving() as url:

        def take_turns() -> None:
            with driver(url, str(spoke)) as process:
                while not spoke.exists():
                    assert process.poll() is None
                    threading.Event().wait(0.01)
            subprocess.run([sys.executable, TEAMS / "driver.py", url], check=True)

        thread = threading.Thread(target=take_turns, daemon=True)
        thread.start()
        start(log, world)
    thread.join()
    assert story(log) == story(whole), "what was asked before the kill is served from the log"


def test_after_the_run_itself_was_stopped_a_driver_gets_the_open_task_again(
    tmp_path: Path,
) -> None:
    whole, log = tmp_path / "whole.db", tmp_path / "run.db"
    record(tmp_path, whole)

    host = gateway_host()
    world = team_world(tmp_path, host)

    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    with pytest.raises(Stop), host.serving() as url, driver(url):
        start(log, world, each=stop)
    with host.serving() as url, driver(url):
        resume(log, open_=lambda _: world)
    assert story(log) == story(whole)


def test_without_being_served_a_driven_host_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no command, so a driver must fetch its work"):
        start(tmp_path / "run.db", team_world(tmp_path, gateway_host()))


# -- one pass ----------------------------------------------------------------------------------


def test_a_pass_that_is_begun_anew_counts_its_calls_from_the_start(tmp_path: Path) -> None:
    stage = Echo()

    def twice(url: str) -> None:
        first = get(f"{url}/next").json()
        assert chat(first["roles"]["writer"], "hello").status_code == 200
        second = get(f"{url}/next").json()
        assert second["run"] != first["run"]
        assert second["prompt"] == first["prompt"]
        late = chat(first["roles"]["writer"], "hello")
        assert late.status_code == 404
        assert "fetch the work again" in late.json()["error"]["message"]
        assert act(url, first["run"], "late").status_code == 404
        assert chat(second["roles"]["writer"], "hello").status_code == 200
        assert act(url, second["run"], "right").status_code == 200

    played = drive(gateway_host(), stage, twice, tmp_path)
    assert [turn.number for turn in stage.turns] == [1, 1]
    assert [(step.kind, step.role) for step in played.steps] == [
        ("message", "writer"),
        ("action", "writer"),
        ("observation", "environment"),
    ]
    assert played.outcome.score == 1
    assert stage.supplied == [("writer", "hello")]


def test_a_team_that_does_not_repeat_itself_is_found_out(tmp_path: Path) -> None:
    def fickle(url: str) -> None:
        chat(get(f"{url}/next").json()["roles"]["writer"], "hello")
        chat(get(f"{url}/next").json()["roles"]["writer"], "good day")

    with pytest.raises(Infrastructure, match="begun again, writer asked something else"):
        drive(gateway_host(), Echo(), fickle, tmp_path)


def test_an_answer_nobody_waits_for_spoils_the_pass(tmp_path: Path) -> None:
    asked, hung_up = threading.Event(), threading.Event()

    class Late(Echo):
        def ask(self, turns: Sequence[Turn]) -> list[Spoken]:
            asked.set()
            assert hung_up.wait(60)
            return super().ask(turns)

    stage = Late()

    def impatient(url: str) -> None:
        first = get(f"{url}/next").json()
        role = urlsplit(first["roles"]["writer"])
        client = HTTPConnection(role.netloc)
        body = json.dumps({"messages": [{"role": "user", "content": "hello"}]})
        client.request("POST", f"{role.path}/chat/completions", body)
        assert asked.wait(60)
        client.close()
        hung_up.set()
        second = get(f"{url}/next").json()
        assert chat(first["roles"]["writer"], "hello").status_code == 404
        assert chat(second["roles"]["writer"], "hello").status_code == 200
        act(url, second["run"], "right")

    played = drive(gateway_host(), stage, impatient, tmp_path)
    assert [turn.number for turn in stage.turns] == [1, 1]
    assert played.model_calls == 1


def test_work_is_not_given_to_a_driver_that_hung_up() -> None:
    desk = Desk(["writer"])
    work = desk.open("task", "prompt")
    with pytest.raises(NotServed, match="hung up"):
        desk.fetch(lambda: True)
    assert desk.fetch(lambda: False) == work, "the next one gets it, under the same name"


def test_a_team_may_act_without_asking_anybody(tmp_path: Path) -> None:
    def silent(url: str) -> None:
        act(url, get(f"{url}/next").json()["run"], "wrong")

    played = drive(gateway_host(), Echo(), silent, tmp_path)
    assert (played.steps[0].kind, played.steps[0].role) == ("action", "writer")
    assert played.model_calls == 0
    assert played.contexts == {}


def test_each_step_of_an_environment_is_a_pass_whose_prompt_holds_all_before_it(
    tmp_path: Path,
) -> None:
    stage = Echo(blocks={"writer": "<notes>"})
    prompts: list[str] = []

    def plays(url: str) -> None:
        for _ in range(3):
            work = get(f"{url}/next").json()
            prompts.append(work["prompt"])
            chat(work["roles"]["writer"], work["prompt"])
            act(url, work["run"], "check valid actions")

    pddl = open_benchmark("pddl", {"steps": 3})
    played = drive(gateway_host(), stage, plays, tmp_path, pddl)
    assert played.environment_steps == 3
    assert prompts[0].startswith(pddl.tasks()[0].text)
    assert prompts[2].count("> check valid actions") == 2
    assert [turn.number for turn in stage.turns] == [1, 2, 3], "counted over the episode"
    assert stage.supplied == [("writer", prompts[0])], "chosen once"
    assert [turn.messages[-1].content for turn in stage.turns] == [
        f"{prompt}\n\n<notes>" for prompt in prompts
    ]


def test_roles_search_through_the_gateway_as_often_as_the_benchmark_lets_them(
    tmp_path: Path,
) -> None:
    told: list[httpx.Response] = []

    def searches(url: str) -> None:
        work = get(f"{url}/next").json()
        place = f"{url}/run/{work['run']}/role/writer/search"
        told.extend(httpx.post(place, json={"query": "jars"}, trust_env=False) for _ in range(3))
        act(url, work["run"], "right")

    stream = stream_file(tmp_path / "stream.jsonl", ["What is in jar 1?"])
    benchmark = open_benchmark("reading", {"source": str(stream)})
    benchmark.searcher, benchmark.searches = Shelf(), 2
    played = drive(gateway_host(), Echo(), searches, tmp_path, benchmark)
    assert [answer.status_code for answer in told] == [200, 200, 400]
    assert told[0].json() == {"text": "<information>jars</information>"}
    assert "no searches are left" in told[2].json()["error"]["message"]
    assert [(s.kind, s.role) for s in played.steps[:2]] == [("information", "search")] * 2


class Shelf:
    """A searcher; the stage answers in its place."""

    facts: Mapping[str, Any] = {"name": "shelf"}

    def search(self, query: str, k: int) -> tuple[Passage, ...]:  # noqa: ARG002
        raise AssertionError("the stage answers searches")
