from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from offering import offer

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks import open_benchmark
from discernmem.replayers.hosts import open_host
from discernmem.replayers.models import open_embedder, open_model
from discernmem.replayers.plugins import (
    BENCHMARKS,
    EMBEDDERS,
    HOSTS,
    MODELS,
    plugin,
    plugin_names,
    refusals,
)

ECHO = """
class Echo:
    def __init__(self, rest):
        self.rest = rest
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_plugin_is_found_by_group_and_name_and_is_what_its_line_names(site: Path) -> None:
    offer(site, "finding_it", BENCHMARKS, {"sorting": "finding_it:Echo"}, module=ECHO)
    found = plugin(BENCHMARKS, "sorting")
    assert found is sys.modules["finding_it"].Echo
    assert plugin(HOSTS, "sorting") is None
    assert plugin(BENCHMARKS, "sort") is None


def test_nothing_is_imported_before_it_is_asked_for(site: Path) -> None:
    offer(site, "left_alone", HOSTS, {"zeta": "left_alone:Z", "alpha": "left_alone:A"})
    assert plugin_names(HOSTS) == ("alpha", "zeta")
    assert plugin(HOSTS, "beta") is None
    assert "left_alone" not in sys.modules


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (
            "import no_such_module_here",
            "ModuleNotFoundError: No module named 'no_such_module_here'",
        ),
        ("raise RuntimeError('first\\nsecond')", "RuntimeError: first"),
        ("raise SystemExit", "SystemExit"),
        ("def:", "SyntaxError: "),
        ("", "AttributeError: "),
    ],
)
def test_a_plugin_that_does_not_load_is_one_line_naming_its_distribution(
    site: Path, module: str, said: str
) -> None:
    offer(site, "failing_one", HOSTS, {"panel": "failing_one:Panel"}, module=module)
    with pytest.raises(BadInput, match=r"host 'panel' of failing_one \(failing_one:Panel\)") as it:
        plugin(HOSTS, "panel")
    assert said in str(it.value)
    assert "\n" not in str(it.value)


def test_a_name_offered_twice_is_refused_with_both_distributions_and_neither_is_imported(
    site: Path,
) -> None:
    for name in ("twice_b", "twice_a"):
        offer(site, name, BENCHMARKS, {"sorting": f"{name}:Echo"}, module=ECHO)
    with pytest.raises(BadInput, match=r"by twice_a \(.*\) and by twice_b \(.*\): uninstall"):
        plugin(BENCHMARKS, "sorting")
    assert not {"twice_a", "twice_b"} & sys.modules.keys()


def test_a_plugin_with_a_built_in_name_is_refused_by_name_and_distribution(site: Path) -> None:
    offers = {"reading": "taking_names:Echo", "sorting": "taking_names:Echo"}
    offer(site, "taking_names", BENCHMARKS, offers, module=ECHO)
    (line,) = refusals(BENCHMARKS, {"reading", "pddl"})
    assert line.startswith("benchmark 'reading' of taking_names (taking_names:Echo) is refused")
    assert refusals(HOSTS, {"reading"}) == ()


@pytest.mark.parametrize(("group", "open_"), [(MODELS, open_model), (EMBEDDERS, open_embedder)])
def test_a_model_or_embedder_plugin_is_given_what_follows_its_name(
    site: Path, group: str, open_: object
) -> None:
    offer(site, f"echo_of_{group[-6:]}", group, {"echo": f"echo_of_{group[-6:]}:Echo"}, module=ECHO)
    assert callable(open_)
    assert open_("echo:a:b#c").rest == "a:b#c"
    assert open_("echo:").rest == ""


def test_what_a_plugin_cannot_make_is_one_line(site: Path) -> None:
    module = "def make(*given, **options):\n    raise ValueError('no\\nluck')\n"
    for group in (HOSTS, BENCHMARKS, MODELS, EMBEDDERS):
        name = f"unlucky_{group.removeprefix('discernmem.')}"
        offer(site, name, group, {"unlucky": f"{name}:make"}, module=module)
    opening: list[Callable[[], object]] = [
        lambda: open_host("unlucky"),
        lambda: open_benchmark("unlucky", {}),
        lambda: open_model("unlucky:x"),
        lambda: open_embedder("unlucky:x"),
    ]
    for open_ in opening:
        with pytest.raises(BadInput, match=r"unlucky.*: cannot be made \(ValueError: no\)") as it:
            open_()
        assert "\n" not in str(it.value)


def test_a_model_plugin_cannot_take_what_is_built_in(site: Path) -> None:
    offers = dict.fromkeys(("hf", "http", "bundled"), "taking_models:Echo")
    offer(site, "taking_models", MODELS, offers, module=ECHO)
    with pytest.raises(BadInput, match="hf:owner/repository"):
        open_model("hf:x")
    with pytest.raises(BadInput, match="add the model's name"):
        open_model("http://host/v1")
    assert "taking_models" not in sys.modules


def test_a_path_with_a_colon_is_still_a_path(tmp_path: Path) -> None:
    file = tmp_path / "a:b.gguf"
    file.write_bytes(b"not one")
    with pytest.raises(BadInput, match="not GGUF"):
        open_model(str(file))
