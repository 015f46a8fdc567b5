"""Which address shows which page, and how a page is made of what a visit is answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from ...eventlog.errors import DiscernmemError
from ..rendering import environment
from . import events, executions, memories, searching, stores, tasks
from .assets import policy, script, styles
from .links import PAGES, Links
from .served import Gone, ServedLog
from .visiting import Answer, NotHere, Plain, Redirect, Visit

View = Callable[..., Answer | Plain | Redirect]

_NUMBER: Final = "([0-9]{1,15})"
_VIEWS: Final[Mapping[str, View]] = {
    "memories": memories.memories,
    "memories/([^/]{1,40})": memories.memory,
    "tasks": tasks.tasks,
    "task": tasks.task_named,
    f"tasks/{_NUMBER}": tasks.task,
    "event": events.event_named,
    f"events/{_NUMBER}": events.event,
    f"executions/{_NUMBER}": executions.execution,
    f"effects/{_NUMBER}": executions.effect,
    "contents/([0-9a-f]{64})": events.contents,
    "store": stores.store,
    "search": searching.search,
}
_NO_PAGE: Final = "There is no such page. Begin with one of those above."


@attrs.frozen
class Reply:
    """What is sent back: a status, a body, and headers, the kind of the body among them."""

    status: int
    body: str
    headers: Mapping[str, str]


def reply(served: ServedLog, base: str, path: str, query: Mapping[str, str]) -> Reply:
    """The page of a log at an address below ``base/-/``, or one that says why there is none."""
    link = Links(base)
    frame = _Frame(link, served.path.name, path.partition("/")[0])
    try:
        with served.opened() as log:
            frame = attrs.evolve(frame, run=log.run)
            head = served.catalogue.catch_up(log)
            frame = attrs.evolve(frame, position=head.position)
            answer = _answer(Visit(log, served.catalogue, head, link, query), path)
            if isinstance(answer, Redirect):
                return Reply(302, "", {"location": answer.to})
            if isinstance(answer, Plain):
                return Reply(200, answer.text, {"content-type": "text/plain; charset=utf-8"})
            return frame.page(200, answer)
    except NotHere as error:
        return frame.trouble(404, "Not in this log", error)
    except Gone as error:
        return frame.trouble(410, "The log is gone", error)
    except DiscernmemError as error:
        return frame.trouble(503, "The log cannot be read", error)


def trouble(link: Links | None, status: int, why: str) -> Reply:
    """A page that says why there is no other, for what is wrong outside of any log."""
    title = "No such page" if status == 404 else "This did not work"
    return _Frame(link).page(status, Answer("trouble", title, {"why": why}))


def _answer(visit: Visit, path: str) -> Answer | Plain | Redirect:
    for pattern, view in _VIEWS.items():
        found = re.fullmatch(pattern, path)
        if found:
            return view(visit, *found.groups())
    raise NotHere(_NO_PAGE)


@attrs.frozen
class _Frame:
    """What is the same around all pages of a log."""

    link: Links | None
    file: str = ""
    here: str = ""
    run: str = ""
    position: int = 0

    def trouble(self, status: int, title: str, error: DiscernmemError) -> Reply:
        """A page that says why there is no other."""
        return self.page(status, Answer("trouble", title, {"why": str(error)}))

    def page(self, status: int, answer: Answer) -> Reply:
        """A page as HTML."""
        template = environment().get_template(f"site/{answer.template}.html")
        body = template.render(
            title=answer.title,
            link=self.link,
            file=self.file,
            here=self.here,
            run=self.run,
            head=self.position,
            pages_of_site=PAGES,
            styles=styles,
            script=script,
            **answer.context,
        )
        headers = {
            "content-type": "text/html; charset=utf-8",
            "content-security-policy": policy(),
            "cache-control": "no-cache",
        }
        return Reply(status, body, headers)
