"""The life of a memory as `why` tells it: a head, and the tree of what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..eventlog import events as ev
from ..eventlog.log import EventLog, Recorded
from ..projections.audit import Life, Node
from ..projections.facts import task_of
from ..projections.lifeline import Stretch
from ..projections.telling import counted, tell, tell_edit, tell_verdict
from ..projections.words import word_diff
from .layout import Screen, Span, difference
from .printing import conditions, effect, heading, shown, tallied
from .widths import at_left, at_right, columns_of

LISTED: Final = 12
"""Effects that a conclusion is shown to rest on, one by one; of more only the newest are."""
_SIGNS: Final = {"positive": "good", "neutral": "", "negative": "bad"}
_LABELS: Final = {"CONTENT": "bad", "SCOPE": "apart", "NONE": ""}
_STATES: Final = {"provisional": "open", "active": "good", "inactive": "quiet"}


def print_life(log: EventLog, told: Life, screen: Screen) -> None:
    """A memory and the tree of its life."""
    _Teller(log, told, screen).tell()


class _Teller:
    """Prints one life."""

    def __init__(self, log: EventLog, told: Life, screen: Screen) -> None:
        self._log = log
        self._told = told
        self._screen = screen
        self._searched: set[int] = set()

    def tell(self) -> None:
        """Print it."""
        self._head()
        told = self._told
        if told.earlier:
            self._screen.put()
            self._screen.put(
                Span(f"… {counted(told.earlier, 'event')} before that left out", "quiet")
            )
        moments: list[tuple[Recorded, Node | None, tuple[Recorded, ...]]] = [
            *((r, None, ()) for r in told.forks),
            *((n.recorded, n, c) for n, c in zip(told.roots, told.leading, strict=True)),
        ]
        here: tuple[int, bool] | None = None
        for recorded, root, chain in sorted(moments, key=lambda moment: moment[0].position):
            place = self._place(recorded)
            if place != here:
                here = place
                self._screen.put()
                self._screen.put(Span(_when(place, chain), "heading"))
            if root is None:
                self._outside(recorded)
                continue
            for each in chain[1:]:
                self._outside(each)
            self._node(root, "  ", True)
        if told.earlier and not moments:
            self._screen.put(Span("nothing since then", "quiet"))
        if told.deeper:
            self._screen.put()
            self._screen.put(
                Span(f"… {counted(told.deeper, 'event')} further down left out", "quiet")
            )

    def _head(self) -> None:
        memory, put = self._told.memory, self._screen.put
        put(Span(heading(memory), "heading"))
        put(*_life_line(self._told.stretches), first="life: ", rest="      ")
        put(Span(tallied(self._told.tally)), first="tally: ", rest="       ")
        put(Span(memory.body), first="rule: ", rest="      ")
        for line in conditions(self._log, memory):
            put(Span(line), rest="  ")

    def _place(self, recorded: Recorded) -> tuple[int, bool]:
        """The task of an event, or the one it came after."""
        return task_of(self._log, recorded), recorded.task_index is None

    def _outside(self, recorded: Recorded) -> None:
        """An event that is not of the memory's stream."""
        self._line((Span(tell(recorded.event)),), recorded, "  · ", "    ")
        self._searches(recorded, "    ")

    def _node(self, node: Node, indent: str, last: bool) -> None:
        branch, deeper = ("└─ ", "   ") if last else ("├─ ", "│  ")
        inner = indent + deeper
        rail = inner + ("│  " if node.children or node.deeper else "   ")
        self._line(_sentence(node.recorded.event), node.recorded, indent + branch, rail)
        self._more(node.recorded.event, rail)
        replies = [r for r in node.evidence if r.type == "ModelReplied"]
        for words, reply in zip(node.words, replies, strict=True):
            said = (Span("the model said: ", "quiet"), Span(" ".join(words.split())))
            self._line(said, reply, rail, rail + "  ")
        self._rests_on(node, rail)
        for number, child in enumerate(node.children, start=1):
            self._node(child, inner, number == len(node.children) and not node.deeper)
        if node.deeper:
            self._screen.put(
                Span(f"… {counted(node.deeper, 'event')} left out", "quiet"), first=f"{inner}└─ "
            )

    def _line(self, spans: Sequence[Span], recorded: Recorded, first: str, rest: str) -> None:
        """An event, and where it is."""
        self._screen.put(*spans, Span(f"  [{recorded.position}]", "quiet"), first=first, rest=rest)

    def _more(self, event: ev.Event, rail: str) -> None:
        """What an event says that is more than a sentence."""
        match event:
            case ev.CandidateProposed(problem=""):
                self._becomes(event.version, event.body, rail)
            case ev.MemoryRevised():
                self._becomes(event.version - 1, event.body, rail)
            case ev.CandidateJudged():
                for row in _scores(event):
                    self._screen.put(row, first=rail + "  ", rest=rail + "    ")
            case _:
                pass

    def _becomes(self, version: int, body: str, rail: str) -> None:
        """A rule made from that of a version, with the words that differ."""
        before = self._told.memory.versions[version - 1].body
        self._screen.put(
            Span("becomes: ", "quiet"),
            *difference(word_diff(before, body)),
            first=rail,
            rest=rail + "  ",
        )

    def _rests_on(self, node: Node, rail: str) -> None:
        """What else a conclusion rests on; several effects together, with that which caused it."""
        effects = [r for r in node.evidence if r.type == "EffectRecorded"]
        if len(effects) > 1:
            self._screen.put(*_effects(effects), first=rail, rest=rail + "  ")
        for recorded in node.evidence:
            told = recorded.type == "EffectRecorded" and len(effects) > 1
            causes = recorded.event_id == node.recorded.causation_id
            if told or causes or recorded.type == "ModelReplied":
                continue
            said = (Span("rests on: ", "quiet"), Span(tell(recorded.event)))
            self._line(said, recorded, rail, rail + "  ")
            self._searches(recorded, rail + "  ")

    def _searches(self, execution: Recorded, rail: str) -> None:
        """What an execution searched for, where it is first told of."""
        found = self._told.searches.get(execution.position, ())
        if execution.position in self._searched:
            return
        self._searched.add(execution.position)
        for search in found:
            titles = ", ".join(search.titles) or "nothing"
            said = (Span(tell(search.recorded.event)), Span(f" and found {titles}"))
            self._line(said, search.recorded, rail, rail + "  ")


def _when(place: tuple[int, bool], chain: Sequence[Recorded]) -> str:
    task, between = place
    if between:
        return f"after task {task}"
    names = [r.event.task for r in chain if isinstance(r.event, ev.TaskStarted)]
    return " ".join(["task", str(task), *map(shown, names[:1])])


def _life_line(stretches: Sequence[Stretch]) -> Iterator[Span]:
    version = 1
    for number, stretch in enumerate(stretches):
        if number:
            yield Span(" → ", "quiet")
        if stretch.version != version:
            yield Span(f"v{stretch.version} ")
            version = stretch.version
        yield Span(stretch.state, _STATES[stretch.state])
        yield Span(f" t{stretch.after}", "quiet")


def _sentence(event: ev.Event) -> tuple[Span, ...]:
    """An event of the memory's stream, without what `_more` adds."""
    match event:
        case ev.EffectMeasured() | ev.EffectRecorded():
            return (Span(tell(event), _SIGNS[event.sign]),)
        case ev.UseAttributed():
            return (Span(tell(event), _LABELS[event.label]),)
        case ev.StateChanged():
            return (Span(tell(event), _STATES[event.after]),)
        case ev.CandidateProposed(problem=""):
            return (Span(tell_edit(event)),)
        case ev.CandidateJudged():
            return (Span(tell_verdict(event), "good" if event.accepted else "bad"),)
        case ev.MemoryRevised():
            return (Span(f"version {event.version} committed", "made"),)
        case _:
            return (Span(tell(event)),)


def _scores(event: ev.CandidateJudged) -> Iterator[Span]:
    """The comparisons of a candidate as a table, the one that rejected it marked."""
    head = ("task", "purpose", "candidate", "parent", "none", "over parent", "over none")
    rows = [
        (
            shown(c.task),
            c.purpose,
            f"{c.candidate:.2f}",
            f"{c.parent:.2f}",
            f"{c.none:.2f}",
            effect(c.gamma),
            effect(c.beta),
        )
        for c in event.comparisons
    ]
    if not rows:
        return
    widths = [max(map(columns_of, column)) for column in zip(head, *rows, strict=True)]
    yield Span(_row(head, widths), "quiet")
    for row, compared in zip(rows, event.comparisons, strict=True):
        rejects = compared.task == event.rejected_by
        yield Span(_row(row, widths) + ("  rejects" if rejects else ""), "bad" if rejects else "")


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Words to the left, numbers to the right."""
    words = map(at_left, cells[:2], widths[:2])
    numbers = map(at_right, cells[2:], widths[2:])
    return "  ".join([*words, *numbers])


def _effects(recorded: Sequence[Recorded]) -> Iterator[Span]:
    """The effects that a conclusion rests on, the newest of many."""
    yield Span(f"rests on {len(recorded)} recorded effects: ", "quiet")
    newest = recorded if len(recorded) <= LISTED else recorded[-(LISTED - 1) :]
    if len(newest) < len(recorded):
        older = len(recorded) - len(newest)
        yield Span(f"{older} from [{recorded[0].position}] on, then ", "quiet")
    for number, each in enumerate(newest):
        event = each.event
        assert isinstance(event, ev.EffectRecorded)
        yield Span(f"{', ' if number else ''}{event.task} ")
        yield Span(effect(event.effect), _SIGNS[event.sign])
        yield Span(f" [{each.position}]", "quiet")
