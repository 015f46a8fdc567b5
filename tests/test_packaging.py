"""What a user installs: one name and the data it needs; and a command that starts fast."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("llama_cpp", "wordllama", "faiss", "numpy", "httpx", "pddl", "huggingface_hub")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names of the files in a wheel built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    # Built from a copy: setuptools writes its own folders beside the sources.
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "demo")
    shutil.copytree(ROOT, folder / "tree", ignore=unwanted)
    ready = int(metadata.version("setuptools").split(".")[0]) >= 77
    command = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-cache-dir"]
    command += ["--no-build-isolation"] if ready else []
    subprocess.run([*command, "-w", str(folder), str(folder / "tree")], check=True)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return archive.namelist()


def test_the_only_name_installed_is_ours(wheel: list[str]) -> None:
    version = metadata.version("discernmem")
    tops = {name.split("/")[0] for name in wheel}
    assert tops == {"discernmem", f"discernmem-{version}.dist-info"}


def test_every_module_is_installed_and_no_test(wheel: list[str]) -> None:
    installed = {name for name in wheel if name.endswith(".py")}
    rooms = (
        "cli",
        "eventlog",
        "projections",
        "decisions",
        "replayers",
        "pages",
        "sandbox",
        "frameworks",
    )
    modules = {
        f"discernmem/{path.relative_to(ROOT)}"
        for room in rooms
        for path in ROOT.glob(f"{room}/**/*.py")
    }
    assert modules <= installed
    assert not [name for name in installed if "/tests/" in name or "/bench/" in name]


@pytest.mark.parametrize(
    "pattern",
    [
        "eventlog/*.sql",
        "pages/**/*.*",
        "replayers/search/*.sql",
        "replayers/hosts/*.toml",
        "data/**/*.*",
    ],
)
def test_the_files_that_code_reads_are_installed(wheel: list[str], pattern: str) -> None:
    files = [path for path in ROOT.glob(pattern) if path.suffix not in (".md", ".py", ".pyc")]
    assert files
    assert {f"discernmem/{path.relative_to(ROOT)}" for path in files} <= set(wheel)


def test_the_types_are_installed(wheel: list[str]) -> None:
    assert "discernmem/py.typed" in wheel


@pytest.mark.parametrize("module", ["discernmem.cli", "discernmem.replayers.models"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
