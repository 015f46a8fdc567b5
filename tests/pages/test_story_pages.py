"""The story on a page: every text stays text, every number is the tally's, pictures stay small."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lively import admitted, quick_folder, record
from turned import HARD, SCENARIOS, stepped_into, told

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.pages.lifelines import lifeline
from discernmem.pages.rendering import effect as written_effect
from discernmem.pages.rendering import environment
from discernmem.projections.lifeline import Line, Mark, Stretch
from discernmem.projections.story import Story, story
from discernmem.projections.tallies import tallies
from discernmem.projections.trajectories import sides
from discernmem.replayers.demo import open_recorded

PAGE = """{% import "story.html" as s %}
{{ s.tally(story.tally) }}{{ s.conditions(story, link) }}{{ s.versions(story, link) }}
{% for turn in story.turns %}
{{ s.turning(turn, link, sides[loop.index0][0], sides[loop.index0][1]) }}
{% endfor %}"""

VOID = {"br"}


def link(kind: str, id_: object) -> str:
    return f"/{kind}/{id_}"


def page(log: EventLog, told_story: Story) -> str:
    read = [sides(log, turn.use) if turn.use else (None, None) for turn in told_story.turns]
    template = environment().from_string(PAGE)
    return template.render(story=told_story, sides=read, link=link)


class Reader(HTMLParser):
    """What a browser makes of a page: its text, its tags, its numbers; tags must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: set[str] = set()
        self.numbers: dict[str, str | None] = {}
        self.links: set[str] = set()
        self.classes: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given_ = dict(attrs)
        self.tags.add(tag)
        self.classes += (given_.get("class") or "").split()
        if tag not in VOID:
            self._open.append(tag)
        if "data-number" in given_:
            self.numbers[given_["data-number"] or ""] = given_.get("value")
        if tag == "a":
            self.links.add(given_["href"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(name: str) -> tuple[Reader, Story]:
    with told(name) as log:
        told_story = story(log, "m1")
        return Reader(page(log, told_story)), told_story


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_hostile_rule_stays_text() -> None:
    reader, told_story = read("hard")
    assert reader.tags.isdisjoint({"script", "img", "i"})
    assert told_story.memory.body in reader.text
    assert HARD in reader.text
    assert "<b>a jar</b> is named" in reader.text
    assert "<img src=x> of a herb" in reader.text


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_turn_of_every_kind_is_told_with_links_to_its_events(name: str) -> None:
    reader, told_story = read(name)
    assert told_story.turns
    for turn in told_story.turns:
        assert f"/event/{turn.position}" in reader.links
        for each in turn.events:
            assert f"/event/{each.position}" in reader.links
        for use in turn.rests_on:
            assert f"/execution/{use.with_memory.position}" in reader.links
            assert f"/execution/{use.without.position}" in reader.links
        for word in (turn.meaning, turn.bar):
            assert one_line(word) in one_line(reader.text)


def test_a_repair_shows_each_candidate_with_its_scores_and_its_verdict() -> None:
    reader, told_story = read("committed")
    repair = told_story.turns[-1].repair
    assert repair is not None
    text = one_line(reader.text)
    assert "Candidate 1.1" in text
    assert "could not be made: anchor not found" in text
    assert "passed, improving, committed" in text
    judged = repair.candidates[0].judged
    assert judged is not None
    assert f"rejected by q2: {judged.event.reason}" in text
    for candidate in repair.candidates:
        for trial in candidate.trials:
            assert f"/execution/{trial.execution.position}" in reader.links


def test_cited_steps_and_the_place_of_the_rule_are_marked_in_words() -> None:
    reader, _ = read("committed")
    text = one_line(reader.text)
    assert "user_proxy message with:s2 cited m1.v1 in its prompt the runs part here" in text
    assert reader.classes.count("cited") == 2


def test_a_word_diff_shows_without_colour_what_is_new_and_what_is_gone() -> None:
    reader, told_story = read("committed")
    assert {"ins", "del"} <= reader.tags
    with told("committed") as log:
        html = page(log, story(log, "m1"))
    pieces = "".join(
        {"same": p.text, "new": f'<ins class="new">{p.text}</ins>',
         "gone": f'<del class="gone">{p.text}</del>'}[p.kind]
        for p in told_story.turns[-1].diff
    )  # fmt: skip
    assert f'<p class="rule" dir="auto">{pieces}</p>' in html


def test_a_persons_decision_shows_who_and_why() -> None:
    with stepped_into() as (log, name):
        text = one_line(Reader(page(log, story(log, name))).text)
    for did in ("edited", "retired", "revived"):
        assert f"ada {did} it, because" in text
    assert "“to retire”" in text
    assert "After task 3: version 2, by a person" in text


@settings(max_examples=8)
@given(st.integers(0, 400))
def test_the_numbers_on_a_page_are_those_of_the_tally(seed: int) -> None:
    with quick_folder() as folder, EventLog.open(record(folder, seed, tasks=8)) as log:
        numbers = {tally.memory: tally for tally in tallies(log)}
        for name in admitted(log):
            reader = Reader(page(log, story(log, name)))
            expected = attrs.asdict(numbers[name])
            del expected["memory"]
            assert reader.numbers == {
                field: "" if value is None else str(value) for field, value in expected.items()
            }


def test_a_mean_is_written_as_every_effect_is() -> None:
    with told("promotion") as log:
        told_story = story(log, "m1")
        assert f"mean {written_effect(told_story.tally.mean_effect)}" in one_line(
            Reader(page(log, told_story)).text
        )


# -- the picture -------------------------------------------------------------------------------


def parsed(told_story: Story, to: object = link) -> ElementTree.Element:
    picture = lifeline(told_story, to)  # type: ignore[arg-type]
    assert len(picture) < 20_000
    return ElementTree.fromstring(picture)


def test_a_small_picture_links_each_mark_to_its_event_in_words() -> None:
    with told("hard") as log:
        told_story = story(log, "m1")
    figure = parsed(told_story)
    links = {each.get("href") for each in figure.iter("a")}
    marked = [mark for mark in told_story.line.marks if mark.kind != "effect" or mark.sign]
    assert links == {link("event", mark.position) for mark in marked}
    titles = {each.text for each in figure.iter("title")}
    assert any("supplied to user_proxy on q2" in (title or "") for title in titles)


def test_a_picture_without_pages_to_link_to_is_an_image_with_a_description() -> None:
    with told("committed") as log:
        told_story = story(log, "m1")
    (svg, caption) = parsed(told_story, lambda *_: "")
    assert svg.get("role") == "img"
    assert "after task 4 provisional, version 2" in (svg.findtext("desc") or "")
    assert "4 of 4 tasks begun" in (caption.text or "")


@pytest.mark.parametrize("name", ["kept", "promotion", "committed", "revival"])
def test_the_state_a_memory_has_now_is_written_and_drawn(name: str) -> None:
    """Even where the newest stretch only began at the end of the stream."""
    with told(name) as log:
        told_story = story(log, "m1")
    figure = parsed(told_story)
    now = told_story.memory
    words = [each.text for each in figure.iter("text")]
    assert f"{now.state} v{now.version}" in words
    drawn = [each.get("d") for each in figure.iter("path")]
    assert drawn
    widths = [float(width) for d in drawn for width in re.findall(r"h([\d.-]+)v", d or "")]
    assert min(widths) >= 3


@pytest.mark.parametrize("tasks", [1, 2, 150, 7000])
def test_thousands_of_marks_make_a_small_picture(tasks: int, tmp_path: Path) -> None:
    with EventLog.open(open_recorded(tmp_path)) as log:
        told_story = story(log, "m1")
    event = next(mark.event for mark in told_story.line.marks)
    states: tuple[ev.State, ...] = ("provisional", "active", "inactive")
    marks = tuple(
        Mark(kind=kind, after=number, position=number, sign=sign, label=label, event=event)
        for number in range(1, tasks + 1)
        for kind, sign, label in (
            ("supplied", None, None),
            ("effect", "positive", "NONE"),
            ("effect", "negative", "CONTENT"),
            ("effect", "negative", "SCOPE"),
            ("effect", "neutral", "NONE"),
            ("revised", None, None),
            ("override", None, None),
        )
    )  # fmt: skip
    stretches = tuple(
        Stretch(after=number, state=states[number % 3], version=1 + number)
        for number in range(1, min(tasks, 200) + 1)
    )
    line = Line(tasks=tasks, begun=tasks, stretches=stretches, marks=marks)  # type: ignore[arg-type]
    figure = parsed(attrs.evolve(told_story, line=line))
    words = " ".join(each.text or "" for each in figure.iter("text"))
    assert f"negative effect {2 * tasks}" in words
    assert f"supplied {tasks}" in words


def test_the_same_story_makes_the_same_bytes() -> None:
    pages = set()
    for _ in range(2):
        with told("committed") as log:
            told_story = story(log, "m1")
            pages.add(page(log, told_story) + lifeline(told_story, link))
    assert len(pages) == 1
    assert re.search(r"0x[0-9a-f]{6,}", next(iter(pages))) is None
