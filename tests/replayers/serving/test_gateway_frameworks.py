"""Clients as they are: the openai package, and a framework with a base URL per agent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from gateways import TEAMS, Echo, command_host, drive, gateway_host, record_driven, team_world
from processes import story
from pydantic import BaseModel

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.replayers.offline import replay_offline
from discernmem.replayers.serving.host import GatewayHost
from discernmem.replayers.session import start
from discernmem.replayers.verification import verify_run

HELLO = [{"role": "user", "content": "hello"}]


def with_client(folder: Path, use: Callable[[Any], None], host: GatewayHost | None = None) -> Echo:
    """Use an `openai` client of the writer within one pass."""
    stage = Echo()

    def driver(url: str) -> None:
        with openai.OpenAI(base_url=url, api_key="none") as web:
            work = web.get("/next", cast_to=dict[str, Any])
        with openai.OpenAI(base_url=work["roles"]["writer"], api_key="none") as client:
            use(client)
        with openai.OpenAI(base_url=f"{url}/run/{work['run']}", api_key="none") as web:
            web.post("/answer", body={"answer": "right"}, cast_to=dict[str, Any])

    drive(host or gateway_host(), stage, driver, folder)
    return stage


def test_the_openai_client_reads_answers_and_streams(tmp_path: Path) -> None:
    def use(client: Any) -> None:
        answer = client.chat.completions.create(model="any", messages=HELLO)
        assert answer.choices[0].message.content == "writer 1: hello"
        with client.chat.completions.create(model="any", messages=HELLO, stream=True) as chunks:
            said = [chunk.choices[0].delta.content or "" for chunk in chunks]
        assert "".join(said) == "writer 2: hello"

    with_client(tmp_path, use)


def test_structured_output_of_the_openai_client_becomes_the_schema_of_the_call(
    tmp_path: Path,
) -> None:
    class Move(BaseModel):
        up: bool

    def use(client: Any) -> None:
        with pytest.raises(ValueError, match="Invalid JSON"):  # the echo obeys no schema
            client.chat.completions.parse(model="any", messages=HELLO, response_format=Move)

    (turn,) = with_client(tmp_path, use).turns
    assert turn.schema is not None
    assert turn.schema["properties"] == {"up": {"title": "Up", "type": "boolean"}}


def test_the_openai_client_understands_refusals(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}

    def use(client: Any) -> None:
        with pytest.raises(openai.BadRequestError, match="function calling is not offered"):
            client.chat.completions.create(model="any", messages=HELLO, tools=[tool])
        nobody = client.with_options(base_url=str(client.base_url).replace("writer", "nobody"))
        with pytest.raises(openai.NotFoundError, match="no role 'nobody'"):
            nobody.chat.completions.create(model="any", messages=HELLO)

    assert with_client(tmp_path, use).turns == []


def recorded(folder: Path, script: str, **more: Any) -> Path:
    """A run of two tasks by a team of the tests, verified and replayed."""
    log = folder / f"{script}.db"
    start(log, team_world(folder, command_host(script, **more)))
    assert verify_run(log).ok
    assert replay_offline(log).finished
    return log


def asked(log: Path) -> list[tuple[Any, ...]]:
    """What the roles asked and were answered, and how each execution scored."""
    with EventLog.open(log) as opened:
        found: list[tuple[Any, ...]] = []
        for each in opened.read():
            match each.event:
                case ev.ModelReplied(purpose="role") as reply:
                    texts = [opened.text(message.content) for message in reply.messages]
                    found.append((reply.role, texts, reply.seed, reply.text))
                case ev.ExecutionFinished() as ran:
                    found.append((ran.task, ran.score, len(ran.supplied)))
        return found


def test_a_team_of_openai_clients_is_recorded_like_any_other(tmp_path: Path) -> None:
    log = recorded(tmp_path, "openai_pair.py")
    assert asked(log) == asked(recorded(tmp_path, "plain.py"))
    assert ("q2", 1.0, 1) in asked(log)


@pytest.fixture(scope="session")
def framework_python() -> str:
    """The interpreter of the environment that holds the framework."""
    own = Path(__file__).parents[3] / ".venv" / "frameworks" / "gateway"
    place = Path(os.environ.get("DISCERNMEM_GATEWAY_VENV", own))
    if not place.is_dir():
        pytest.fail("needs an environment with pydantic-ai-slim[openai]: make frameworks")
    return str(place.absolute() / "bin" / "python")


def test_agents_of_pydantic_ai_are_recorded_like_any_other_team_again_and_again(
    tmp_path: Path, framework_python: str
) -> None:
    logs = [tmp_path / "one.db", tmp_path / "two.db"]
    for log in logs:
        world = team_world(tmp_path, gateway_host())
        record_driven(log, world, framework_python, TEAMS / "pydantic_driver.py")
        assert verify_run(log).ok
        assert replay_offline(log).finished
    assert story(logs[0]) == story(logs[1])
    assert asked(logs[0]) == asked(recorded(tmp_path, "plain.py"))
