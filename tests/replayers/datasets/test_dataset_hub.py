"""The hub's data sets are fetched once, whole, and then read without a network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest
from standing_hub import standing_in

from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.datasets import read_rows

COMMIT = "c" * 40
API = "/api/datasets/owner/"


def lines(*names: str) -> bytes:
    return b"".join(json.dumps({"name": name}).encode() + b"\n" for name in names)


PLAIN = {
    "README.md": b"read me",
    "data/train-00000-of-00002.jsonl": lines("one", "two"),
    "data/train-00001-of-00002.jsonl": lines("three"),
    "data/test-00000-of-00001.jsonl": lines("four"),
}
SEVERAL = {
    "large/validation.jsonl": lines("large"),
    "small/validation.jsonl": lines("small"),
}


@attrs.define
class Hub:
    """A stand-in hub: what it holds, what it was asked for, and what it breaks off at."""

    sets: dict[str, dict[str, bytes]]
    asked: list[str] = attrs.field(factory=list)
    broken: str = ""
    commits: dict[str, str] = attrs.field(factory=dict)

    def answer(self, path: str) -> tuple[int, bytes, str]:
        """Status, body and commit."""
        for name, files in self.sets.items():
            if path.startswith(f"{API}{name}/tree/"):
                listed = [
                    {"type": "file", "path": file, "size": len(content), "oid": "0" * 40}
                    for file, content in files.items()
                ]
                return 200, json.dumps(listed).encode(), COMMIT
            if path.startswith(f"/datasets/owner/{name}/resolve/"):
                file = path.split("/", 6)[6]
                if file != self.broken and file in files:
                    return 200, files[file], self.commits.get(file, COMMIT)
        return 404, b"", COMMIT


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    held = Hub({"plain": PLAIN, "several": SEVERAL})

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.reply(body=False)

        def do_GET(self) -> None:
            self.reply(body=True)

        def reply(self, *, body: bool) -> None:
            path = urlsplit(self.path).path
            held.asked.append(path)
            status, content, commit = held.answer(path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Type", "application/json")
            self.send_header("ETag", f'"{abs(hash(content)):040x}"')
            self.send_header("X-Repo-Commit", commit)
            self.end_headers()
            if body:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with standing_in(Handler, monkeypatch, tmp_path / "hub"):
        yield held


def names(source: str, split: str = "train") -> list[str]:
    return [row.fields["name"] for row in read_rows(source, split=split).rows]


def test_a_split_is_fetched_once_and_then_found_without_the_network(hub: Hub) -> None:
    first = read_rows("hf:owner/plain")
    assert [row.fields["name"] for row in first.rows] == ["one", "two", "three"]
    assert first.facts["source"] == "hf:owner/plain"
    assert first.facts["revision"] == COMMIT
    asked = len(hub.asked)
    assert asked > 0
    assert read_rows("hf:owner/plain") == first
    assert len(hub.asked) == asked


def test_only_the_files_of_the_split_are_fetched(hub: Hub) -> None:
    assert names("hf:owner/plain", "test") == ["four"]
    assert not [path for path in hub.asked if "train" in path or "README" in path]
    assert names("hf:owner/plain") == ["one", "two", "three"]


def test_a_configuration_is_named_after_a_colon(hub: Hub) -> None:
    assert names("hf:owner/several:small", "validation") == ["small"]
    with pytest.raises(BadInput, match=r"lies in large, small; name one: hf:OWNER/NAME:CONF"):
        names("hf:owner/several", "validation")
    assert hub.asked


def test_a_revision_is_asked_for_and_kept_apart(hub: Hub) -> None:
    assert names("hf:owner/plain@v2", "test") == ["four"]
    assert all("/v2" in path for path in hub.asked)
    asked = len(hub.asked)
    assert names("hf:owner/plain@v2", "test") == ["four"]
    assert len(hub.asked) == asked


def test_an_interrupted_fetch_is_completed_not_taken_for_the_whole(hub: Hub) -> None:
    files = {"train/0000.jsonl": lines("one"), "train/0001.jsonl": lines("two")}
    hub.sets["unnumbered"] = files
    hub.broken = "train/0001.jsonl"
    with pytest.raises(Infrastructure, match="cannot be fetched"):
        names("hf:owner/unnumbered")
    hub.broken = ""
    assert names("hf:owner/unnumbered") == ["one", "two"]


def test_a_data_set_that_changes_meanwhile_is_not_mixed(hub: Hub) -> None:
    hub.commits["data/train-00001-of-00002.jsonl"] = "d" * 40
    with pytest.raises(Infrastructure, match=r"changed while it was fetched: run again"):
        names("hf:owner/plain")


def test_what_the_hub_lacks_names_what_to_do(hub: Hub) -> None:
    with pytest.raises(BadInput, match="no file of split 'validation'"):
        names("hf:owner/plain", "validation")
    with pytest.raises(Infrastructure, match=r"cannot be fetched .*give the path") as caught:
        names("hf:owner/other")
    assert "\n" not in str(caught.value)
    assert hub.asked


def test_an_unreachable_hub_names_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(Infrastructure, match=r"cannot be fetched .*give the path") as caught:
        names("hf:owner/plain")
    assert "\n" not in str(caught.value)


def test_a_missing_hub_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(Infrastructure, match=r"pip install 'discernmem\[hub\]'"):
        names("hf:owner/plain")


@pytest.mark.parametrize(
    "source", ["hf:", "hf:owner", "hf:a/b/c", "hf:a/b@", "hf:a/b:", "hf:a/b:c d"]
)
def test_a_malformed_name_is_refused(source: str) -> None:
    with pytest.raises(BadInput, match=r"write hf:OWNER/NAME"):
        names(source)
