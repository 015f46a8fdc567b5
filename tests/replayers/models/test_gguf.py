from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.models.gguf import check_gguf, file_digest


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_gguf_passes(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF and more")
    check_gguf(file)


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04", b"<!doctype html>"])
def test_another_format_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    with pytest.raises(BadInput, match="not GGUF") as caught:
        check_gguf(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"missing\.gguf: No such file"):
        check_gguf(tmp_path / "missing.gguf")
    with pytest.raises(BadInput, match="directory"):
        check_gguf(tmp_path)
    with pytest.raises(BadInput, match="No such file"):
        file_digest(tmp_path / "missing.gguf")


def test_a_digest_is_the_sha256_and_is_remembered(tmp_path: Path, own_cache: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"one")
    assert file_digest(file) == hashlib.sha256(b"one").hexdigest()
    before = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_digest(file) == hashlib.sha256(b"one").hexdigest()
    for entry in own_cache.rglob("*.json"):
        entry.write_text("[damaged")
    assert file_digest(file) == hashlib.sha256(b"two").hexdigest()


def test_a_changed_file_gets_a_new_digest(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"one")
    file_digest(file)
    file.write_bytes(b"longer")
    assert file_digest(file) == hashlib.sha256(b"longer").hexdigest()


def test_no_cache_folder_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert file_digest(blocked) == hashlib.sha256(b"").hexdigest()
