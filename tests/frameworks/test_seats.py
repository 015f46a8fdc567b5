"""What the adapters of all frameworks share, and what is said where a framework is missing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

from discernmem.eventlog.codec import digest
from discernmem.eventlog.errors import BadInput
from discernmem.frameworks.plan import plan_of
from discernmem.frameworks.seats import readable
from discernmem.replayers.models.base import Message


def build(seats: Any) -> Any:
    return seats


def planned(**options: Any) -> Any:
    given = {"hidden": (), "searching": (), **options}
    return plan_of("pair", ("planner", "writer"), build, framework="attrs", **given)


def test_a_later_system_message_ends_the_user_message_before_it() -> None:
    read = readable(
        [
            Message("system", "You plan."),
            Message("system", "Be short."),
            Message("user", "A task."),
            Message("system", "<notes>"),
            Message("assistant", "A plan."),
            Message("user", "[writer] Good."),
            Message("user", "[critic] Bad."),
        ]
    )
    assert [(each.role, each.content) for each in read] == [
        ("system", "You plan.\n\nBe short."),
        ("user", "A task.\n\n<notes>"),
        ("assistant", "A plan."),
        ("user", "[writer] Good.\n\n[critic] Bad."),
    ]


def test_a_plan_names_the_file_its_builder_is_in_by_digest() -> None:
    facts = planned(hidden=["selector"], searching=["planner"]).facts
    with open(__file__, "rb") as file:
        assert facts["source"] == digest(file.read())
    assert facts["builder"] == "build"
    assert facts["order"] == "free"
    assert (facts["hidden"], facts["searching"]) == (["selector"], ["planner"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden": ["writer"]}, "each name only once"),
        ({"searching": ["critic"]}, "'critic' may search but is not among its roles"),
        ({"hidden": "selector"}, "give a list of names"),
    ],
)
def test_roles_that_do_not_fit_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        planned(**options)


def test_a_builder_that_is_in_no_file_is_refused() -> None:
    written: Callable[..., Any] = eval("lambda seats: seats")
    with pytest.raises(BadInput, match="in no file"):
        plan_of("one", ("planner",), written, framework="attrs", hidden=(), searching=())


@pytest.mark.parametrize(("framework", "module"), [("autogen", "autogen_core"), ("camel", "camel")])
def test_a_framework_that_is_missing_is_named_with_the_remedy(
    framework: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (module, "autogen_agentchat"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in (framework, f"{framework}_roles"):
        monkeypatch.delitem(sys.modules, f"discernmem.frameworks.{name}", raising=False)
    with pytest.raises(BadInput, match=rf"pip install 'discernmem\[{framework}\]'"):
        importlib.import_module(f"discernmem.frameworks.{framework}")
