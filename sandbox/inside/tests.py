"""The jail of the hidden tests: real pytest, and a report of kinds without a word of the tests."""

from __future__ import annotations

import importlib
import json
import sys
import unittest
from typing import Any

import pytest

from .frames import REPORT, Stream
from .link import Gone, Link
from .standins import Solution
from .wire import ERRORS

_FILE = "test_solution.py"
# Runs last where the program could have patched pytest; it must be seen to fail.
_CONTROL = "test_control.py"
_OPTIONS = [
    *("-q", "--assert=plain", "--tb=no", "--capture=sys", "--import-mode=importlib"),
    *("-p", "no:cacheprovider", "-p", "no:junitxml", "-p", "no:doctest", "-p", "no:faulthandler"),
    *("--noconftest", "--rootdir", ".", "-c", "/dev/null", "-o", "python_files=*.py"),
]
_EXCUSES = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)


class Recorder:
    """What became of each test, by the kind of what went wrong."""

    def __init__(self, link: Link | None) -> None:
        self.collected = 0
        self.tests: dict[str, list[str]] = {}
        self.trouble: dict[str, Any] | None = None
        self.control = ""
        self._link = link

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests found."""
        self.collected = sum(item.path.name != _CONTROL for item in session.items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Keep the worst of the phases of one test."""
        meddled = _meddled(call)
        report = yield
        kind = ""
        if item.path.name == _CONTROL:
            self.control = report.outcome if call.when == "call" else self.control
            return report
        if report.skipped and not meddled:
            outcome = "skipped"
        elif report.passed and not meddled:
            outcome = "passed" if call.when == "call" else ""
        else:
            outcome = "failed" if call.when == "call" else "error"
            # A strict expected failure that passes fails without an exception.
            kind = _kind(call.excinfo.value) if call.excinfo is not None else "Failed"
        if outcome and self.tests.get(item.nodeid, ["passed"])[0] in ("passed", "skipped"):
            self.tests[item.nodeid] = [outcome, kind]
        return report

    def pytest_exception_interact(self, call: pytest.CallInfo[Any], report: Any) -> None:
        """Note why the tests could not be collected."""
        if not isinstance(report, pytest.CollectReport) or call.excinfo is None:
            return
        error: BaseException | None = call.excinfo.value
        while isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
            error = error.__cause__
        chain = []
        while error is not None and error not in chain:
            chain.append(error)
            error = error.__cause__ or error.__context__
        self.trouble = {
            "kind": _kind(chain[0]),
            "module": next((e.name for e in chain if isinstance(e, ImportError)), None),
            "solution": self._link is not None
            and any(one is other for one in chain for other in self._link.raised),
        }


def _meddled(call: pytest.CallInfo[None]) -> bool:
    """Whether the solution itself said that a test be skipped, or may fail."""
    if call.excinfo is None or not isinstance(call.excinfo.value, _EXCUSES):
        return False
    return any(getattr(entry.path, "name", "") == "solution.py" for entry in call.excinfo.traceback)


def _kind(error: BaseException) -> str:
    """The name of a kind of exception, from a fixed set."""
    if isinstance(error, Gone):
        return "Gone"
    if isinstance(error, pytest.fail.Exception):
        return "Failed"
    if isinstance(error, pytest.FixtureLookupError):
        return "Fixture"
    return next(kind.__name__ for kind in type(error).__mro__ if ERRORS.get(kind.__name__) is kind)


def _imported() -> dict[str, Any] | None:
    """How importing the solution failed, if it did."""
    try:
        importlib.import_module("solution")
    except BaseException as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        return {"error": _kind(error), "missing": missing}
    return None


def serve(stream: Stream) -> None:
    """Run the tests once and report."""
    _, body = stream.receive()
    order = json.loads(body)
    link = None
    if order["oracle"] == "outside":
        link = Link(stream)
        sys.modules["solution"] = Solution(link)
    else:
        with open("solution.py", "w", encoding="utf-8", errors="replace") as file:
            file.write(order["solution"])
        sys.path.insert(0, ".")
    recorder = Recorder(link)
    loaded = None if link is not None else _imported()
    # Only now, so that a solution can neither read nor replace them while it is loaded.
    files = {_FILE: order["test"]}
    if link is None:
        files[_CONTROL] = "def test_control():\n    raise AssertionError\n"
    for name, text in files.items():
        with open(name, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    if loaded is None:
        pytest.main([*_OPTIONS, *files], plugins=[recorder])
    report = {
        "nonce": order["nonce"],
        "loaded": loaded,
        "collected": recorder.collected,
        "tests": list(recorder.tests.values()),
        "trouble": recorder.trouble,
        "control": recorder.control,
        "used": link is None or link.used,
        "gone": link is not None and link.gone,
    }
    stream.send(REPORT, json.dumps(report).encode())
