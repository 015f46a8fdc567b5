"""The plugin for Datasette: our pages beside its tables, and links from these to ours."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Generator
from typing import Any, Final

from datasette.utils import tilde_decode
from datasette.utils.asgi import Base400, Request, Response
from datasette.views.base import DatasetteError
from datasette.views.index import IndexView
from markupsafe import Markup
from pluggy import HookimplMarker, Result

from .guarding import App, Guard
from .links import MEMORY, PAGES, Links
from .routing import Reply, reply, trouble
from .served import ServedLogs

NAME: Final = "discernmem"
"""The plugin's, in Datasette's configuration: its ``host`` is there on our own server only."""

hookimpl = HookimplMarker("datasette")

_SERVED: Final = ServedLogs()
_POSITION: Final = re.compile("(?:.*_)?position|admitted_at|ended_at|judged_at")


# -- pages -------------------------------------------------------------------------------------


@hookimpl
def register_routes() -> list[tuple[str, Any]]:
    """Our pages come before those of Datasette."""
    return [("/(?P<format>)$", _first), (r"/(?P<database>[^/]+)/-(?:/(?P<path>.*))?$", _page)]


async def _first(datasette: Any, request: Request, send: Any) -> Response:
    """Of a server with one log its memories; else the list of what there is."""
    names = _SERVED.names(datasette)
    others = set(datasette.databases) - {"_internal", *names}
    if len(names) != 1 or others:
        return await IndexView.as_view(datasette)(request, send)
    return Response.redirect(_links(datasette, names[0]).page("memories"))


async def _page(datasette: Any, request: Request) -> Response:
    route = tilde_decode(request.url_vars["database"])
    found = [name for name, each in datasette.databases.items() if each.route == route]
    served = _SERVED.find(datasette, found[0]) if found else None
    if served is None:
        return _response(trouble(_only_links(datasette), 404, "There is no such log here."))
    query = {key: request.args.get(key) for key in request.args}
    made = await asyncio.get_running_loop().run_in_executor(
        datasette.executor,
        reply,
        served,
        _links(datasette, found[0]).base,
        request.url_vars["path"] or "memories",
        query,
    )
    return _response(made)


def _response(made: Reply) -> Response:
    headers = dict(made.headers)
    kind = headers.pop("content-type", "text/plain; charset=utf-8")
    headers["x-content-type-options"] = "nosniff"
    return Response(made.body, status=made.status, headers=headers, content_type=kind)


# -- links -------------------------------------------------------------------------------------


@hookimpl
def render_cell(value: Any, column: str, database: str, datasette: Any) -> Markup | None:
    """Memories, tasks and positions in Datasette's tables are links to our pages."""
    if _SERVED.find(datasette, database) is None:
        return None
    link = _links(datasette, database)
    if isinstance(value, int):
        if column in ("task_index", "admitted_at_task"):
            return _anchor(link("task", value), value)
        if _POSITION.fullmatch(column):
            return _anchor(link("event", value), value)
    if isinstance(value, str) and value:
        if column in ("memory", "id") and MEMORY.fullmatch(value):
            return _anchor(link("memory", value), value)
        if column in ("task", "trigger_task", "source_task"):
            return _anchor(link.page("task", id=value), value)
        if column in ("event_id", "causation_id"):
            return _anchor(link.page("event", id=value), value)
    return None


def _anchor(to: str, text: object) -> Markup:
    return Markup('<a href="{}">{}</a>').format(to, text)


@hookimpl
def menu_links(datasette: Any) -> list[dict[str, str]]:
    """Our pages in the menu of every page of Datasette."""
    names = _SERVED.names(datasette)
    return [
        {
            "href": _links(datasette, name).page(page),
            "label": label if len(names) == 1 else f"{name}: {label}",
        }
        for name in names
        for page, label in PAGES.items()
    ]


@hookimpl
def database_actions(datasette: Any, database: str) -> list[dict[str, str]]:
    """Our pages in the menu of a log."""
    if _SERVED.find(datasette, database) is None:
        return []
    link = _links(datasette, database)
    return [{"href": link.page(page), "label": label} for page, label in PAGES.items()]


def _links(datasette: Any, database: str) -> Links:
    return Links(str(datasette.urls.database(database)))


def _only_links(datasette: Any) -> Links | None:
    names = _SERVED.names(datasette)
    return _links(datasette, names[0]) if len(names) == 1 else None


# -- our own server ----------------------------------------------------------------------------


def _host(datasette: Any) -> str:
    config: dict[str, str] = datasette.plugin_config(NAME) or {}
    return config.get("host", "")


@hookimpl
def asgi_wrapper(datasette: Any) -> Any:
    """Guard our own server; who starts Datasette themselves decide about theirs."""
    host = _host(datasette)

    def guarded(app: App) -> App:
        return Guard(app, host) if host else app

    return guarded


@hookimpl(hookwrapper=True)
def handle_exception(
    datasette: Any, request: Request, exception: Exception
) -> Generator[None, Result[Any], None]:
    """Where a log is served an error is a page: Datasette would print a traceback of each."""
    outcome = yield
    if _SERVED.names(datasette):
        outcome.force_result([_trouble(datasette, request, exception)])


def _trouble(datasette: Any, request: Request, exception: Exception) -> Response:
    """A page of ours for an error of Datasette's, or JSON where that was asked for."""
    status, why = 500, f"{type(exception).__name__}: {exception}"
    if isinstance(exception, DatasetteError):
        status, why = exception.status, Markup(exception.message).striptags()
    elif isinstance(exception, Base400):
        status, why = exception.status, str(exception) or "There is no such page."
    elif lost := [each for each in _SERVED.of(datasette) if not each.path.exists()]:
        status, why = 410, f"{lost[0].path.name} is no longer there: it was moved or deleted"
    else:
        print(f"discernmem: {request.path}: {' '.join(why.split())}", file=sys.stderr)
    if request.path.endswith(".json"):
        return Response.json({"ok": False, "error": why, "status": status}, status=status)
    return _response(trouble(_only_links(datasette), status, why))
