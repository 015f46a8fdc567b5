"""One number, wherever it is read: by `why`, in the report, on the site, and asked with SQL."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from lively import record, rich_seed
from site_logs import Site, numbers_of
from turned import SCENARIOS, stepped_into, told

from discernmem.cli import main
from discernmem.eventlog import EventLog
from discernmem.replayers.demo import open_recorded

LOGS = (*SCENARIOS, "overrides", "lively", "example")

ASKED = """
select
  m.id,
  m.state,
  m.version,
  (select count(*) from uses where memory = m.id) as supplied,
  (select count(*) from recorded where memory = m.id and sign = 'positive') as positive,
  (select count(*) from recorded where memory = m.id and sign = 'neutral') as neutral,
  (select count(*) from recorded where memory = m.id and sign = 'negative') as negative,
  (select round(avg(effect), 9) + 0.0 from recorded where memory = m.id) as mean_effect,
  (select count(*) from labels where memory = m.id and label = 'CONTENT') as content,
  (select count(*) from labels where memory = m.id and label = 'SCOPE') as scope,
  (select count(*) - 1 from versions where memory = m.id) as revisions,
  (select count(*) from transitions where memory = m.id) as transitions
from memories m
"""
WITH = """
with recorded as (
  select payload ->> 'memory' as memory, payload ->> 'sign' as sign, payload ->> 'effect' as effect
  from events where type = 'EffectRecorded'
), labels as (
  select payload ->> 'memory' as memory, payload ->> 'label' as label
  from events where type = 'UseAttributed'
)
"""
NAMES = (
    "state",
    "version",
    "supplied",
    "positive",
    "neutral",
    "negative",
    "mean_effect",
    "content",
    "scope",
    "revisions",
    "transitions",
)
SHOWN = {"mean effect": "mean_effect", "CONTENT": "content", "SCOPE": "scope"}


@pytest.fixture(scope="module", params=LOGS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log on the disk."""
    folder = tmp_path_factory.mktemp("numbers")
    match request.param:
        case "lively":
            return record(folder, rich_seed())
        case "example":
            return open_recorded(folder)
        case "overrides":
            with stepped_into() as (log, _):
                return Path(shutil.copy(log.path, folder / "run.db"))
        case name:
            with told(name) as log:
                return Path(shutil.copy(log.path, folder / "run.db"))


@pytest.fixture(scope="module")
def asked(path: Path) -> Mapping[str, Mapping[str, object]]:
    """The numbers of every memory as SQL gives them."""
    with EventLog.open(path) as log:
        rows = log.rows(WITH + ASKED)
    assert rows
    return {name: dict(zip(NAMES, numbers, strict=True)) for name, *numbers in rows}


def written(numbers: Mapping[str, object]) -> dict[str, str]:
    """As they stand in the attributes of a page."""
    return {name: "" if value is None else str(value) for name, value in numbers.items()}


def test_why_prints_them(
    path: Path, asked: Mapping[str, Mapping[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    for memory, numbers in asked.items():
        main(["why", memory, str(path), "--json"])
        tally = json.loads(capsys.readouterr().out)["tally"]
        assert {name: tally[name] for name in NAMES} == numbers
        main(["why", memory, str(path)])
        head, _, line = capsys.readouterr().out.splitlines()[:3]
        assert f" · {numbers['state']} · version {numbers['version']} · " in head
        for part in line.removeprefix("tally: ").split(" · "):
            name, _, value = part.rpartition(" ")
            known = numbers.get(SHOWN.get(name, name), tally.get(name.replace(" ", "_")))
            if isinstance(known, float):
                assert value == f"{known:+.2f}", part
            else:
                assert value == ("none" if known is None else str(known)), part


def test_the_site_shows_them(path: Path, asked: Mapping[str, Mapping[str, object]]) -> None:
    site = Site(path)
    for memory, numbers in asked.items():
        found = site.numbers(f"memories/{memory}")
        assert {name: found[name] for name in NAMES} == written(numbers)


def test_the_report_shows_them(
    path: Path, asked: Mapping[str, Mapping[str, object]], tmp_path: Path
) -> None:
    target = tmp_path / "report.html"
    main(["report", str(path), "-o", str(target)])
    page = target.read_text("utf-8")
    rows = dict(re.findall(r'<tr data-memory="(m\d+)">(.*?)</tr>', page, re.DOTALL))
    assert rows.keys() == asked.keys()
    for memory, numbers in asked.items():
        row = numbers_of(rows[memory])
        assert len(row) >= 9
        assert row == {name: written(numbers)[name] for name in row}
    stories = dict(
        re.findall(r'<article class="story" id="(m\d+)">(.*?)</article>', page, re.DOTALL)
    )
    turned = {name for name, of in asked.items() if of["revisions"] or of["state"] == "inactive"}
    assert turned <= stories.keys()
    for memory, story in stories.items():
        found = numbers_of(story)
        assert {name: found[name] for name in NAMES} == written(asked[memory])
