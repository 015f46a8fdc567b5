"""Who may ask our server, and what a browser may do with its answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from site_logs import Site

from discernmem.pages.site.assets import DATASETTE_POLICY, policy, script, styles
from discernmem.pages.site.guarding import is_loopback, is_ours


@pytest.fixture(scope="module")
def site(lively_log: Path) -> Site:
    return Site(lively_log)


@pytest.mark.parametrize(
    ("named", "host", "ours"),
    [
        ("127.0.0.1:8001", "127.0.0.1", True),
        ("localhost", "127.0.0.1", True),
        ("LocalHost:80", "127.0.0.1", True),
        ("[::1]:8001", "127.0.0.1", True),
        ("127.8.9.1", "127.0.0.1", True),
        ("evil.example", "127.0.0.1", False),
        ("evil.example:8001", "localhost", False),
        ("localhost.evil.example", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("localhost@evil.example", "127.0.0.1", False),
        ("localhost:80:90", "127.0.0.1", False),
        ("localhost:port", "127.0.0.1", False),
        ("192.0.2.7:8001", "127.0.0.1", False),
        ("", "127.0.0.1", False),
        ("192.0.2.7:8001", "0.0.0.0", True),
        ("[2001:db8::1]", "::", True),
        ("lab", "lab", True),
        ("lab:8001", "LAB", True),
        ("evil.example", "0.0.0.0", False),
    ],
)
def test_a_host_header_must_name_this_server(named: str, host: str, ours: bool) -> None:
    assert is_ours(named, host.lower()) is ours


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.7", False),
        ("lab", False),
    ],
)
def test_only_addresses_of_this_machine_itself_are_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_foreign_host_is_refused_whatever_is_asked_for(site: Site) -> None:
    for address in ("/", f"{site.base}/-/memories", f"{site.base}.json", "/-/static/app.css"):
        found = site.get(address, headers={"host": "evil.example"})
        assert found.status == 400
        assert "its own name" in found.page.html
        assert "m1" not in found.page.html


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_only_reading_is_let_through(site: Site, method: str) -> None:
    found = asyncio.run(getattr(site.datasette.client, method)(f"{site.base}/-/memories"))
    assert found.status_code == 405


def test_no_page_may_load_anything_from_elsewhere(site: Site) -> None:
    for address in ("/", f"{site.base}/-/memories", site.base, f"{site.base}/events", "/nothing"):
        headers = site.get(address).headers
        given = headers["content-security-policy"]
        assert given in (policy(), DATASETTE_POLICY)
        assert "default-src 'none'" in given
        assert "http" not in given
        assert "*" not in given
        assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in policy()


def test_style_and_script_are_put_into_a_page_as_they_were_hashed(site: Site) -> None:
    html = site.page("store").html
    assert f"<style>{styles()}</style>" in html
    assert f"<script>{script()}</script>" in html
