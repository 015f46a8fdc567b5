"""The pages lead somewhere, cite what is there, and name things as the code does."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from doc_console import check_command, steps
from doc_pages import DOCS, ROOT, anchors, blocks, inline, links, name, pages, written

from discernmem.cli.commands import cli
from discernmem.decisions import llm
from discernmem.decisions.attribution import Scope, attribute
from discernmem.decisions.settings import ABLATIONS
from discernmem.eventlog import events as ev

README = ROOT / "README.md"
METHOD = DOCS / "explanation" / "method.md"
PROMISES = DOCS / "explanation" / "promises.md"
GLOSSARY = DOCS / "glossary.md"

CITED = sorted(
    {
        cited
        for page in written()
        for cited in re.findall(r"`(tests/[\w/]+(?:\.py(?:::\w+)?|/))`", page.read_text("utf-8"))
    }
)


def rows(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    text = "\n" + page.read_text("utf-8")
    part = text.split(f"\n{heading}\n")[1].split("\n## ")[0]
    table = [line.strip() for line in part.splitlines() if line.strip().startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


# -- links -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_link_leads_to_a_page_and_a_heading_that_are_there(page: Path) -> None:
    for picture, words, target in links(page):
        assert ":" not in target, f"{target} is no relative link"
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), target
        assert place.is_relative_to(ROOT)
        if anchor:
            assert anchor in anchors(place), target
        assert words or not picture, f"{target}: a picture needs words for those who do not see it"


def test_every_page_is_reached_from_the_readme() -> None:
    seen, ahead = set[Path](), [README]
    while ahead:
        page = ahead.pop()
        if page in seen:
            continue
        seen.add(page)
        targets = [target.partition("#")[0] for _, _, target in links(page)]
        ahead += [(page.parent / each).resolve() for each in targets if each.endswith(".md")]
    assert set(pages()) <= seen


def test_the_readme_is_short_and_shows_a_result_on_its_first_screen() -> None:
    lines = README.read_text("utf-8").splitlines()
    assert len(lines) < 120
    first = next(line for line in lines if line.startswith("$ discernmem demo --recorded"))
    assert lines.index(first) < 40


# -- names of the code -------------------------------------------------------------------------


@pytest.mark.parametrize("cited", CITED)
def test_every_test_that_is_cited_is_there(cited: str) -> None:
    file, _, test = cited.partition("::")
    if (ROOT / file).is_dir():
        assert list((ROOT / file).glob("test_*.py"))
        return
    assert f"def {test or 'test_'}" in (ROOT / file).read_text("utf-8")


def test_every_promise_names_a_test() -> None:
    promises = rows(PROMISES, "# What the log promises")
    assert len(promises) > 15
    assert all("`tests/" in held_by for _, held_by in promises)


def test_every_equation_has_a_function_that_is_there_and_a_test() -> None:
    table = rows(METHOD, "## Equation, function, test")
    assert len(table) > 15
    for _, functions, tests in table:
        assert "`tests/" in tests
        module = None
        for function in re.findall(r"`([\w.]+)`", functions):
            found = None
            if "." in function:
                module, found = resolve(function)
            elif module is not None:
                found = getattr(module, function, None)
            assert found is not None, function


def resolve(dotted: str) -> tuple[object, object]:
    """The module of a dotted name below the package, and what it names there."""
    *parts, last = dotted.split(".")
    try:
        module = import_module(".".join(["discernmem", *parts]))
    except ModuleNotFoundError:
        return None, None
    if hasattr(module, last):
        return module, getattr(module, last)
    try:
        found = import_module(f"discernmem.{dotted}")
    except ModuleNotFoundError:
        return module, None
    return found, found


def commands_in(page: Path) -> list[str]:
    """What follows ``discernmem`` wherever a page names a command."""
    found = [text for text in inline(page) if re.match("discernmem [a-z]", text)]
    for block in blocks(page):
        if block.language == "console":
            found += [s.command for s in steps(block.text) if s.command.startswith("discernmem ")]
    return found


@pytest.mark.parametrize("page", written(), ids=name)
def test_no_page_names_a_command_or_an_option_that_is_not_there(page: Path) -> None:
    known = {flag for command in cli.commands.values() for p in command.params for flag in p.opts}
    for text in commands_in(page):
        command, *more = text.split()[1:]
        assert command in cli.commands, text
        own = {flag for p in cli.commands[command].params for flag in p.opts}
        assert {word.split("=")[0] for word in more if re.match(r"--[a-z]", word)} <= own, text
    for text in inline(page):
        if re.fullmatch(r"--[a-z-]+( \S+)*", text) and not text.startswith("--port 8080"):
            assert text.split()[0] in known, text


def test_every_extra_that_a_page_names_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {
        extra
        for page in pages()
        for extras in re.findall(r"discernmem\[([^\]]+)\]", page.read_text("utf-8"))
        for extra in extras.split(",")
    }
    assert {"llama", "serve"} <= named
    assert named <= project["optional-dependencies"].keys()


def test_every_command_is_named_on_a_page_that_a_person_wrote() -> None:
    named = {text.split()[1] for page in written() for text in commands_in(page)}
    assert named == set(cli.commands)


def test_a_command_that_is_wrong_is_found() -> None:
    for wrong in ["nonsense --at 1", "store run.db --never", "diff run.db --from one --to 2"]:
        with pytest.raises(AssertionError):
            check_command(f"discernmem {wrong}")
    check_command("discernmem diff run.db --from 1 --to 2  # and a comment")


def test_what_is_told_to_machines_is_on_its_page() -> None:
    told = {
        event
        for source in (ROOT / "cli").glob("*.py")
        for event in re.findall(r'\btell\(\s*"(\w+)"', source.read_text("utf-8"))
    }
    assert {"run_started", "finished"} <= told
    named = set(inline(DOCS / "how-to" / "watch-a-long-run.md"))
    assert told - named == set()


def test_every_command_that_can_be_watched_is_on_its_page() -> None:
    page = (DOCS / "how-to" / "watch-a-long-run.md").read_text("utf-8")
    first = next(line for line in page.splitlines() if line.startswith("On a terminal, "))
    flag = "--log-json"
    watched = {name for name, c in cli.commands.items() if any(flag in p.opts for p in c.params)}
    assert set(re.findall(r"`(\w+)`", first)) == watched


def test_the_label_of_every_use_is_that_of_its_row_in_the_method() -> None:
    """Of each combination, the only row that fits says the label and what follows."""
    table = rows(METHOD, "## One task")
    assert {len(row) for row in table} == {6}
    said = {True: "yes", False: "no"}
    for avoid, sign, use, sound in product(said, get_args(ev.Sign), said, said):
        found = attribute(sign, Scope(use=use, avoid=avoid, boundary="here"), sound)
        cells = (said[avoid], sign, said[use], said[sound])
        ((*_, label, follows),) = [
            row for row in table if all(map(lambda cell, is_: cell in ("any", "", is_), row, cells))
        ]
        assert label == f"`{found.label}`"
        assert ("boundary may grow" in follows) == bool(found.boundary)
        assert ("rule is repaired" in follows) == (found.label == "CONTENT")
        assert ("use conditions may grow" in follows) == (sign == "positive" and not avoid)


# -- words -------------------------------------------------------------------------------------


def test_the_glossary_has_every_word_of_the_vocabulary() -> None:
    words = {
        *get_args(ev.Kind),
        *get_args(ev.Sign),
        *get_args(ev.Label),
        *get_args(ev.State),
        *get_args(ev.ConditionSource),
        *get_args(ev.Origin),
        *get_args(ev.LifecycleRule),
        *get_args(ev.OverrideAction),
        *get_args(ev.RepairKind),
        *get_args(ev.RepairOutcome),
        *get_args(ev.Operation),
        *get_args(ev.DefectType),
        *get_args(get_type_hints(ev.Comparison)["purpose"]),
        *llm.DECISIONS,
    }
    assert words - {word for word, _ in terms()} == set()
    glossary = GLOSSARY.read_text("utf-8")
    assert all(f"`{code}`" in glossary for code in (*get_args(ev.ConditionKind), *ABLATIONS))


def terms() -> list[tuple[str, str]]:
    """The words of the glossary, each with what tells it from its namesakes."""
    text = GLOSSARY.read_text("utf-8")
    return re.findall(r"^\| \*\*([^*]+)\*\*(?: \((\w+)\))? \| \S", text, re.MULTILINE)


def test_the_glossary_has_each_word_once() -> None:
    assert [term for term, times in Counter(terms()).items() if times > 1] == []
    lines = GLOSSARY.read_text("utf-8").splitlines()
    entries = [line for line in lines if re.match(r"\| (?!word \||---)", line)]
    assert len(terms()) == len(entries)
