"""Every page of the site: it is there, it is whole, and it shows what is in the log as it is."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path
from urllib.parse import urlencode

import pytest
from site_logs import HOSTILE, LONG, SCRIPT, SHOWN, TURNING, Site

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev
from discernmem.pages.site.assets import policy
from discernmem.projections.tallies import tallies
from discernmem.projections.telling import tell
from discernmem.projections.visible import visible

PAGES = ("memories", "memories/m1", "memories/m4", "tasks", "tasks/4", "store", "search?q=look")
MISSING = {
    "memories/m99": "m1 to m4",
    "memories/nothing": "m1 to m4",
    "memories/m9999999999999999999999": "m1 to m4",
    "tasks/0": "tasks 1 to 12",
    "tasks/13": "tasks 1 to 12",
    "task?id=nothing": "tasks 1 to 12",
    "events/0": "events 1 to ",
    "events/999999999999999": "events 1 to ",
    "events/1x": "no such page",
    "executions/1": "is of type RunStarted, not ExecutionFinished",
    "effects/1": "is of type RunStarted, not EffectMeasured or EffectRecorded",
    "store?at=13": "No store after task 13: the last completed task is 12, and 0",
    "store?at=-1": "No store after task -1",
    "store?at=" + "9" * 40: "No store after task 999",
    "store?at=x": "No store after task x",
    "contents/" + "0" * 64: "No content",
    "event?id=nothing": "no event",
    "nothing": "no such page",
    "memories/m1/": "no such page",
}


@pytest.fixture(scope="module")
def site(lively_log: Path) -> Site:
    return Site(lively_log)


@pytest.fixture(scope="module")
def hostile(hostile_log: Path) -> Site:
    return Site(hostile_log)


def first(path: Path, type_: type[ev.Event], **fields: object) -> int:
    """Position of the first event of a type with these fields."""
    with EventLog.open(path) as log:
        return next(
            each.position
            for each in log.read(types=(type_.__name__,))
            if all(getattr(each.event, name) == value for name, value in fields.items())
        )


def kinds(site: Site) -> list[str]:
    """One page of each kind, and more of those that differ by what they are about."""
    harm = first(site.path, ev.EffectMeasured, sign="negative")
    ran = first(site.path, ev.ExecutionFinished)
    with EventLog.open(site.path) as log:
        events = {each.type: each.position for each in log.read()}
    return [*PAGES, f"effects/{harm}", f"executions/{ran}"] + [
        f"events/{position}" for position in events.values()
    ]


# -- all pages ---------------------------------------------------------------------------------


def test_each_page_has_one_heading_landmarks_a_way_past_them_and_only_its_own_style(
    site: Site,
) -> None:
    for name in kinds(site):
        answer = site.get(f"{site.base}/-/{name}")
        page = answer.page
        assert answer.status == 200, name
        assert len(page.of("h1")) == len(page.of("main")) == len(page.of("header")) == 1, name
        assert page.of("a")[0] == {"class": "skip", "href": "#main"}
        assert page.of("html") == [{"lang": "en"}]
        assert page.of("nav")
        assert page.of("footer")
        assert answer.headers["content-security-policy"] == policy()
        assert not page.of("link"), "a style sheet from elsewhere"
        assert "http:" not in page.html.replace("http://www.w3.org", "")
        assert "https:" not in page.html


def test_every_input_has_a_label_and_every_picture_a_name(site: Site) -> None:
    for name in kinds(site):
        page = site.page(name)
        labelled = {each.get("for") for each in page.of("label")}
        for each in page.of("input"):
            assert each.get("type") == "hidden" or each["id"] in labelled, name
        for each in page.pictures:
            assert each["role"] in ("img", "group")
        assert len(page.pictures) == page.html.count("<desc") <= page.html.count("<title") - 1


def test_every_link_of_the_site_leads_to_a_page(site: Site) -> None:
    seen, waiting = {"/"}, deque(["/"])
    visited = 0
    while waiting and visited < 200:
        answer = site.get(waiting.popleft(), follow_redirects=True)
        visited += 1
        assert answer.status == 200, answer.page.text[:300]
        for to in answer.page.links:
            address = to.partition("#")[0]
            if address.startswith(f"{site.base}/-/") and address not in seen:
                seen.add(address)
                # Those of few first, so that all kinds come before hundreds of events do.
                (waiting.append if "/events/" in address else waiting.appendleft)(address)
    assert visited == 200
    assert {"tasks", "memories", "effects", "executions"} <= {
        address.split("/")[3].partition("?")[0] for address in seen if address.count("/") > 2
    }


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_there_has_a_page_that_says_what_is(site: Site, name: str) -> None:
    page = site.page(name, status=404)
    assert MISSING[name].casefold() in page.text.casefold()
    assert len(page.of("h1")) == 1


@pytest.mark.parametrize(
    "query",
    [
        {"page": "0"}, {"page": "999999"}, {"page": "-1"}, {"page": "x"}, {"page": "9" * 40},
        {"sort": "id; drop table memories"}, {"state": "' or 1=1 --"}, {"owner": "nobody"},
        {"q": '"'}, {"q": "\0"}, {"q": "*" * 5000}, {"revised": "\udcff"}, {"effects": "²"},
        {"effects": "1e9"}, {"task": "9"}, {"citations": "some"}, {"nothing": "x"},
    ],
)  # fmt: skip
def test_a_query_nobody_meant_is_no_error(site: Site, query: dict[str, str]) -> None:
    encoded = urlencode(query, errors="surrogateescape")
    for name in ("memories", "memories/m1", "tasks", "tasks/4", "store", "search", "events/5"):
        site.page(f"{name}?{encoded}")


# -- texts -------------------------------------------------------------------------------------


def test_a_text_is_text_wherever_it_is_shown(hostile: Site) -> None:
    pages = ["memories", "store", "tasks", "search?q=alert", "search?q=look"]
    pages += [f"memories/m{number}" for number in range(5, 5 + len(HOSTILE))]
    with EventLog.open(hostile.path) as log:
        last = log.head().position
    pages += [f"events/{last - number}" for number in range(len(HOSTILE))]
    for name in pages:
        page = hostile.page(name)
        assert "<img" not in page.html, name
        assert page.html.count("<script") == (name == "store"), name
        assert not [each for _, each in page.tags if any(key.startswith("on") for key in each)]
        assert not [each for each in page.links if not each.startswith(("/", "#"))], name
    for name in ("memories", "store", "memories/m5", "search?q=alert", f"events/{last - 6}"):
        assert SCRIPT in hostile.page(name).text
    assert LONG in hostile.page("memories/m6").text
    for number, text in enumerate(HOSTILE, start=5):
        page = hostile.page(f"memories/m{number}")
        assert page.text.count(SHOWN[text]) > 1
        assert visible(page.text) == page.text


def test_no_text_turns_the_numbers_beside_it(hostile: Site) -> None:
    for name in ("memories", "store", "search?q=question+and", "memories/m10", "tasks"):
        page = hostile.page(name)
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.html), name
    found = hostile.page("search?q=question+and").text
    assert SHOWN[TURNING] in found


def test_a_facet_leads_to_what_it_names_whatever_that_is(hostile: Site) -> None:
    owners = [to for to in hostile.page("memories").links if "owner=" in to]
    assert len(owners) == len(HOSTILE) + 2
    for to in owners:
        assert "No memory is like that" not in hostile.get(to).page.text


# -- memories ----------------------------------------------------------------------------------


def test_the_numbers_of_a_memory_are_those_of_the_log(site: Site) -> None:
    with EventLog.open(site.path) as log:
        for told in tallies(log):
            shown = site.numbers(f"memories/{told.memory}")
            for name, value in shown.items():
                assert value == ("" if getattr(told, name) is None else str(getattr(told, name)))
            assert {"state", "version", "supplied", "positive", "negative"} <= shown.keys()


def test_facets_and_words_narrow_the_list_and_say_how_many_there_would_be(site: Site) -> None:
    def listed(query: str) -> set[str]:
        page = site.page(f"memories{query}")
        return {to.rpartition("/")[2] for to in page.links if "/-/memories/" in to}

    assert listed("") == {"m1", "m2", "m3", "m4"}
    assert listed("?state=inactive") == {"m1"}
    assert listed("?revised=yes") == {"m4"}
    assert listed("?harmed=no") == {"m3"}
    assert listed("?harmed=yes&revised=no&state=provisional") == {"m2"}
    assert listed("?q=again") == {"m4"}
    assert listed("?q=again&state=inactive") == set()
    assert "No memory is like that" in site.page("memories?q=zebra").text


@pytest.mark.parametrize(
    ("sort", "order"), [("memory", "m1 m2 m3 m4"), ("-memory", "m4 m3 m2 m1"), ("-positive", "m2")]
)
def test_the_list_is_in_the_order_asked_for(site: Site, sort: str, order: str) -> None:
    page = site.page(f"memories?sort={sort}")
    found = [to.rpartition("/")[2] for to in page.links if "/-/memories/m" in to]
    assert found[: len(order.split())] == order.split()
    assert "ending" in "".join(str(each.get("aria-sort")) for each in page.of("th"))


# -- tasks, events, executions -----------------------------------------------------------------


def test_a_task_shows_who_was_supplied_what_and_what_it_cost(site: Site) -> None:
    with EventLog.open(site.path) as log:
        supplied = next(each for each in log.read(types=("MemorySupplied",)))
        index = supplied.task_index
        page = site.page(f"tasks/{index}")
        row = log.rows(
            "select payload ->> 'task' from events where type = 'TaskStarted' and task_index = ?",
            (index,),
        )
    assert "the scored one" in page.text
    assert f"{site.base}/-/events/{supplied.position}" in page.links
    assert f"{site.base}/-/tasks/{index - 1}" in page.links  # type: ignore[operator]
    found = site.get(f"{site.base}/-/task?id={row[0][0]}")
    assert found.headers["location"] == f"{site.base}/-/tasks/{index}"


def test_the_list_of_tasks_shows_each_effect_with_its_sign_and_label(site: Site) -> None:
    page = site.page("tasks")
    with EventLog.open(site.path) as log:
        effects = [each.event for each in log.read(types=("EffectRecorded",))]
    for sign in ("positive", "negative"):
        shown = page.html.count(f'<span class="{sign}">')
        assert shown == sum(isinstance(e, ev.EffectRecorded) and e.sign == sign for e in effects)
    assert page.text.count("SCOPE") == sum(e.label == "SCOPE" for e in effects)  # type: ignore[attr-defined]


def test_an_event_is_told_in_its_sentence_with_its_payload_causes_and_consequences(
    site: Site,
) -> None:
    with EventLog.open(site.path) as log:
        for each in log.read(types=("UseAttributed", "StateChanged", "CandidateJudged")):
            page = site.page(f"events/{each.position}")
            assert tell(each.event) in page.text
            cause = log.by_id(each.causation_id or "")
            assert cause is not None
            assert page.links.count(f"{site.base}/-/events/{cause.position}") >= 2


def test_citations_of_the_whole_log_are_looked_for_on_a_link_only(site: Site) -> None:
    with EventLog.open(site.path) as log:
        execution = next(each for each in log.read(types=("ExecutionFinished",)))
        citing = [
            each.position for each in log.read() if execution.event_id.encode() in each.payload
        ]
    name = f"events/{execution.position}"
    asked = f"{site.base}/-/{name}?citations=all"
    assert asked in site.page(name).links
    whole = site.page(f"{name}?citations=all")
    assert citing
    assert all(f"{site.base}/-/events/{position}" in whole.links for position in citing)
    assert asked not in whole.links


def test_every_node_of_the_graph_is_a_link_to_its_event(site: Site) -> None:
    page = site.page(f"events/{first(site.path, ev.EffectMeasured)}")
    graph = page.html[page.html.index("<svg") : page.html.index("</svg>")]
    assert graph.count('class="node"') == graph.count("<a href=") >= 4


def test_contents_come_as_plain_text(site: Site) -> None:
    with EventLog.open(site.path) as log:
        started = next(each.event for each in log.read(types=("TaskStarted",)))
        assert isinstance(started, ev.TaskStarted)
        text = log.text(started.text)
    found = site.get(f"{site.base}/-/contents/{started.text}")
    assert found.headers["content-type"] == "text/plain; charset=utf-8"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.page.html == text


def test_an_effect_shows_both_runs_with_the_cited_steps_marked(site: Site) -> None:
    with EventLog.open(site.path) as log:
        found = next(
            each.event
            for each in log.read(types=("ContentDiagnosed",))
            if isinstance(each.event, ev.ContentDiagnosed) and each.event.cited
        )
    effect = first(site.path, ev.EffectMeasured, memory=found.memory, task=found.task)
    page = site.page(f"effects/{effect}")
    assert page.html.count('class="side"') == 2
    assert page.html.count("step cited") == len(found.cited)


# -- the store at a task -----------------------------------------------------------------------


def test_the_store_shows_the_rules_as_they_were_worded_then(site: Site) -> None:
    with EventLog.open(site.path) as log:
        revised = next(each for each in log.read(types=("MemoryRevised",)))
        assert isinstance(revised.event, ev.MemoryRevised)
        assert revised.task_index is not None
        before, after = (
            row[0]
            for row in log.rows(
                "select body from versions where memory = ? order by version",
                (revised.event.memory,),
            )
        )
    earlier = site.page(f"store?at={revised.task_index - 1}")
    later = site.page(f"store?at={revised.task_index}")
    assert before in earlier.text
    assert after not in earlier.text
    assert after in later.text
    assert "changed in this task" in later.text
    (slider,) = [each for each in earlier.of("input") if each["type"] == "range"]
    assert (slider["min"], slider["max"]) == ("0", "12")
    assert slider["value"] == str(revised.task_index - 1)


def test_before_the_first_task_the_store_is_empty(site: Site) -> None:
    assert "No memory was there yet" in site.page("store?at=0").text


def test_a_store_of_one_state_has_only_that(site: Site) -> None:
    page = site.page("store?at=12&state=inactive")
    assert [to for to in page.links if to.endswith("/memories/m1")]
    assert not [to for to in page.links if to.endswith("/memories/m3")]


# -- Datasette ---------------------------------------------------------------------------------


def test_the_first_page_is_the_list_of_memories(site: Site) -> None:
    found = site.get("/")
    assert (found.status, found.headers["location"]) == (302, f"{site.base}/-/memories")


def test_tables_link_to_our_pages_and_back(site: Site) -> None:
    assert site.base in site.page("memories").links
    memories = site.get(f"{site.base}/memories").page.links
    assert f"{site.base}/-/memories/m1" in memories
    events = site.get(f"{site.base}/events").page.links
    assert [to for to in events if "/-/event?id=" in to]
    position = first(site.path, ev.StateChanged)
    assert f"{site.base}/-/events/{position}" in site.get(f"{site.base}/transitions").page.links
    effects = site.get(f"{site.base}/effects").page.links
    assert [to for to in effects if "/-/task?id=" in to]
    assert [to for to in effects if "/-/tasks/" in to]
    assert f"{site.base}/-/store" in site.get(site.base).page.links


def test_sql_is_there_and_reads_only(site: Site) -> None:
    query = urlencode({"sql": "select count(*) as n from events", "_shape": "array"})
    with EventLog.open(site.path) as log:
        last = log.head().position
    assert site.get(f"{site.base}.json?{query}").page.html == f'[{{"n": {last}}}]'
    for statement in ("delete from events", "insert into log_meta values ('a', 'b')"):
        found = site.get(f"{site.base}.json?{urlencode({'sql': statement})}")
        assert found.status == 400


@pytest.mark.parametrize(
    "address", ["/nothing", "/nothing/-/memories", "/run/nothing", "/-/nothing"]
)
def test_an_address_of_nothing_is_a_page_of_ours_and_no_traceback(
    site: Site, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = site.get(address)
    assert found.status == 404
    assert f"{site.base}/-/memories" in found.page.links
    assert capsys.readouterr() == ("", "")


def test_an_error_asked_for_as_json_is_json(site: Site) -> None:
    found = site.get("/run/nothing.json")
    assert found.status == 404
    assert found.headers["content-type"].startswith("application/json")
