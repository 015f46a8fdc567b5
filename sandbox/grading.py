"""Judge a solution by a hidden pytest module (the paper's KodCode benchmark)."""

from __future__ import annotations

import json
import secrets
from typing import Any

from attrs import evolve

from ..eventlog.errors import Infrastructure
from .bubblewrap import Way
from .inside import frames
from .jail import Jail
from .judging import ended, judged, not_loaded
from .limits import Limits
from .opening import open_way
from .reading import Reading, read_tests
from .verdicts import Grade, Oracle, Verdict
from .watch import CPU, RULES, Ended, MachineTrouble, Watch, load_trouble

DEFAULT = Limits()


def grade(
    solution: str, test: str, *, limits: Limits = DEFAULT, isolation: str = "bubblewrap"
) -> Grade:
    """Run hidden tests against a solution, in fresh jails that leave nothing behind.

    The tests run outside the solution's jail and call it over a wire, so that no program can forge
    its verdict; where they hand over what has no form on the wire, or reach into the solution's
    process, they run inside it, and the grade says so. That choice is made from the tests alone.

    Args:
        solution: Source of the module `solution`.
        test: Source of a pytest module; names it leaves undefined are taken from the solution.
        limits: What both jails may use.
        isolation: `bubblewrap`, or `none` (refused to root).

    Raises:
        Infrastructure: No isolation can be had, or the machine was too busy `limits.attempts`
            times in a row; never the program's doing.
        BadInput: The isolation is unknown, or `none` was asked for by root.
    """
    way = open_way(isolation)
    reading = read_tests(test)
    blank = Grade(0, 0, 0, 0, "outside", way.isolation, "fail", "")
    if reading.trouble:
        return evolve(blank, verdict="error", reason=reading.trouble)
    troubles = []
    for _ in range(limits.attempts):
        try:
            return _graded(way, blank, solution, reading, limits)
        except (MachineTrouble, OSError) as trouble:
            troubles.append(str(trouble))
    raise Infrastructure(
        f"sandbox: no verdict after {limits.attempts} attempts ({troubles[-1]}): "
        "free the machine, or raise the wall-clock limit"
    )


class _NoForm(Exception):
    """The tests hand over something that has no form on the wire."""


def _graded(way: Way, blank: Grade, solution: str, reading: Reading, limits: Limits) -> Grade:
    if not reading.inside:
        try:
            return _outside(way, blank, solution, reading.text, limits)
        except _NoForm:
            pass
    return _inside(way, evolve(blank, oracle="inside"), solution, reading.text, limits)


def _outside(way: Way, blank: Grade, solution: str, test: str, limits: Limits) -> Grade:
    """Tests in one jail, the program in another, every call relayed between them."""
    seconds = limits.cpu_seconds
    with (
        Jail(way, "candidate", limits, seconds + 1) as program,
        Jail(way, "tests", limits, 2 * seconds + 10) as tests,
    ):
        watch = Watch([(program, seconds), (tests, 2 * seconds + 9)], limits)
        order = {"source": solution, "printed": limits.output_kib << 10}
        program.channel.send(frames.LOAD, json.dumps(order).encode())
        try:
            trouble = load_trouble(watch.receive(program)[1])
        except Ended as end:
            return ended(blank, end.reason)
        if trouble is not None:
            return not_loaded(blank, solution, trouble)
        tests.channel.send(frames.LOAD, _order("outside", test))
        return _relay(watch, program, tests, blank, solution)


def _relay(watch: Watch, program: Jail, tests: Jail, blank: Grade, solution: str) -> Grade:
    reason = ""
    while True:
        try:
            kind, body = watch.receive(tests)
        except Ended as end:
            # The tests are no program of a model: only what they compute is its doing.
            verdict: Verdict = "fail" if reason or end.reason == CPU else "error"
            return evolve(blank, verdict=verdict, reason=reason or f"{end.reason} (in the tests)")
        if kind == frames.INSIDE:
            raise _NoForm
        if kind == frames.REPORT:
            report = json.loads(body)
            graded = judged(blank, solution, report)
            if report["gone"]:
                return ended(graded, reason or RULES)
            return graded
        if kind != frames.REQUEST:
            continue
        if not reason:
            try:
                program.channel.send(frames.REQUEST, body)
                tests.channel.send(frames.ANSWER, watch.receive(program)[1])
                continue
            except Ended as end:
                reason = end.reason
        tests.channel.send(frames.GONE)


def _inside(way: Way, blank: Grade, solution: str, test: str, limits: Limits) -> Grade:
    """Tests and program in one jail: what leaves it must carry a word only the tests were told."""
    seconds = limits.cpu_seconds
    with Jail(way, "tests", limits, seconds + 3) as jail:
        watch = Watch([(jail, seconds + 2)], limits)
        nonce = secrets.token_hex(16)
        jail.channel.send(frames.LOAD, _order("inside", test, solution=solution, nonce=nonce))
        while True:
            try:
                kind, body = watch.receive(jail)
            except Ended as end:
                return ended(blank, end.reason)
            if kind == frames.REPORT:
                return _reported(blank, solution, body, nonce)


def _reported(blank: Grade, solution: str, body: bytes, nonce: str) -> Grade:
    """The verdict of a report that the program may have written."""
    try:
        report: dict[str, Any] = json.loads(body)
        if report["nonce"] != nonce:
            return ended(blank, "a forged report")
        loaded = report["loaded"]
        if loaded:
            return not_loaded(blank, solution, loaded)
        graded = judged(blank, solution, report)
        if graded.verdict == "pass" and report["control"] != "failed":
            return ended(graded, "the program meddled with the tests")
        return graded
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return ended(blank, "a forged report")


def _order(oracle: Oracle, test: str, **more: str) -> bytes:
    return json.dumps({"oracle": oracle, "test": test, "nonce": "", **more}).encode()
