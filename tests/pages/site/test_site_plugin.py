"""Our pages in a Datasette that somebody else has started, beside databases that are no logs."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from datasette.app import Datasette
from datasette.plugins import pm
from site_logs import Page

from discernmem.pages.site import plugin


@pytest.fixture(autouse=True)
def registered() -> None:
    if not pm.is_registered(plugin):
        pm.register(plugin, plugin.NAME)


def other(folder: Path) -> str:
    path = folder / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table memories (memory text, position integer)")
        connection.execute("insert into memories values ('m1', 1)")
    connection.close()
    return str(path)


def get(server: Datasette, address: str, **options: Any) -> tuple[int, Page, Any]:
    found = asyncio.run(server.client.get(address, **options))
    return found.status_code, Page(found.text), found.headers


def test_a_log_has_the_same_pages(log_path: Path) -> None:
    server = Datasette([str(log_path)])
    assert get(server, "/")[2]["location"] == "/run/-/memories"
    status, page, headers = get(server, "/run/-/memories/m1")
    assert (status, "Memory m1" in page.text) == (200, True)
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "/run/-/memories/m1" in get(server, "/run/memories")[1].links
    assert get(server, "/run/-/nothing")[0] == 404


def test_who_may_ask_is_for_them_to_say_who_started_it(log_path: Path) -> None:
    server = Datasette([str(log_path)])
    status, _, headers = get(server, "/run", headers={"host": "audits.example"})
    assert status == 200
    assert "content-security-policy" not in headers


def test_of_several_databases_the_list_is_shown_and_only_logs_have_pages(
    log_path: Path, tmp_path: Path
) -> None:
    server = Datasette([str(log_path), other(tmp_path)])
    status, page, _ = get(server, "/")
    assert status == 200
    assert {"/run", "/other", "/run/-/memories"} <= set(page.links)
    assert get(server, "/other/-/memories")[0] == 404
    table = get(server, "/other/memories")[1]
    assert not [to for to in table.links if to.startswith("/other/-/")]


def test_it_may_be_below_another_address(log_path: Path) -> None:
    server = Datasette([str(log_path)], settings={"base_url": "/audits/"})
    status, page, _ = get(server, "/run/-/memories")
    assert status == 200
    assert [to for to in page.links if to.startswith("/")]
    assert all(to.startswith("/audits/run") for to in page.links if to.startswith("/"))


def test_it_may_run_without_threads(log_path: Path) -> None:
    server = Datasette([str(log_path)], settings={"num_sql_threads": 0})
    assert get(server, "/run/-/memories/m1")[0] == 200


def test_a_log_opened_as_immutable_is_served(log_path: Path) -> None:
    server = Datasette(immutables=[str(log_path)])
    assert get(server, "/run/-/store")[0] == 200
