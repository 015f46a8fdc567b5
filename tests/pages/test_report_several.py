"""Reports of several runs: side by side, paired over common tasks, and the paper's sweeps."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import pytest
from lively import (
    LivelyModel,
    lively_world,
    quick_folder,
    record,
    record_with_fork,
    rich_seed,
)
from report_pages import HTML, SVG, Report, reported
from scenario import Scenario, play
from sweeps import planned, sweep

from discernmem.eventlog import EventLog
from discernmem.pages.report import Comparison, compare, figures_of
from discernmem.pages.report.score_charts import of_sweep
from discernmem.replayers.headers import segments
from discernmem.replayers.session import start
from discernmem.replayers.sweeping import PRESETS, Axis

SWEPT = (
    PRESETS["ablations"],
    Axis("method.k_inj", (0, 2, 1)),
    Axis("method.rounds", (1, 2)),
    Axis("method.n1", (1, 2)),
)


@pytest.fixture(scope="module")
def swept() -> Iterator[dict[str, list[Path]]]:
    """The logs of some sweeps, by the setting, in the order of their plan."""
    found = {}
    with quick_folder() as folder:
        for axis in SWEPT:
            runs = planned(folder, axis)
            place = folder / axis.key
            sweep(place, runs, folder, LivelyModel(4))
            found[axis.key] = [each.log(place) for each in runs]
        yield found


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def compared(logs: Sequence[Path]) -> Comparison:
    found = []
    for path in logs:
        with EventLog.open(path) as log:
            found.append(figures_of(log, path.name))
    return compare(found)


def table(found: Report, name: str) -> list[list[str]]:
    """The body of a table of a class, cell by cell."""
    (chosen,) = (
        each for each in found.root.iter(f"{HTML}table") if name in str(each.get("class")).split()
    )
    body = chosen.find(f"{HTML}tbody")
    assert body is not None
    return [[" ".join("".join(cell.itertext()).split()) for cell in row] for row in body]


# -- side by side ------------------------------------------------------------------------------


def test_runs_stand_side_by_side_in_the_order_given(
    swept: dict[str, list[Path]], tmp_path: Path
) -> None:
    logs = swept["method.k_inj"]
    found = reported(logs, tmp_path)
    assert "3 runs side by side" in found.text
    assert "Differences are to the first, k_inj=0.db." in found.text
    assert [row[0] for row in table(found, "scores")] == ["k_inj=0.db", "k_inj=2.db", "k_inj=1.db"]
    (setting,) = table(found, "settings")
    assert setting == ["method.k_inj", "0", "2", "1"]
    assert found.stories == {}
    assert str(tmp_path) not in found.html


def test_differences_are_paired_over_the_common_tasks(
    swept: dict[str, list[Path]], tmp_path: Path
) -> None:
    logs = swept["method.k_inj"]
    found = compared(logs)
    first, *others = table(reported(logs, tmp_path), "scores")
    assert first[5:] == ["", "", ""]
    for run, pair, row in zip(found.runs[1:], found.paired, others, strict=True):
        assert pair is not None
        assert pair.gain is not None
        both = zip(run.rows, found.runs[0].rows, strict=True)
        gains = [mine.score - its.score for mine, its in both]
        assert pair.gain.mean == pytest.approx(sum(gains) / len(gains), abs=1e-6)
        assert row[5] == str(len(gains))
        assert row[6].startswith(f"{pair.gain.mean:+.3f} [")
        assert row[7] == f"{pair.better} / {pair.worse}"


def test_a_run_that_is_not_as_far_is_paired_over_what_both_have(tmp_path: Path) -> None:
    seed = rich_seed()
    whole = record(tmp_path, seed, tasks=6)
    start(tmp_path / "part.db", lively_world(tmp_path, seed, tasks=6), until=4)
    found = compared([whole, tmp_path / "part.db"])
    assert found.settings == {}
    (pair,) = found.paired
    assert pair is not None
    assert (pair.tasks, pair.better, pair.worse) == (4, 0, 0)
    text = reported([whole, tmp_path / "part.db"], tmp_path).text
    assert "Nothing that could change a conclusion." in text


def test_a_run_over_another_stream_has_no_difference_and_says_why(tmp_path: Path) -> None:
    seed = rich_seed()
    one = record(tmp_path, seed, tasks=3)
    other = record(tmp_path / "other", seed, tasks=2, name="other.db")
    found = compared([one, other])
    assert found.paired == (None,)
    page = reported([one, other], tmp_path)
    assert table(page, "scores")[1][-1] == "none: it is over another stream of tasks"
    assert "Difference to run.db" not in page.text
    assert "stream.digest" in page.text


def test_runs_without_a_score_or_a_memory_stand_beside_each_other(tmp_path: Path) -> None:
    for name in ("a", "b"):
        start(tmp_path / f"{name}.db", lively_world(tmp_path, 1, tasks=2), until=0)
    page = reported([tmp_path / "a.db", tmp_path / "b.db"], tmp_path)
    assert table(page, "scores")[1][-1] == "none: no task is scored in both"
    assert "No task is scored yet in any of the runs." in page.text
    assert page.said("figures").count("No memory was ever") == 5
    played = play(Scenario(tasks=2), tmp_path / "none")
    page = reported([played.path, tmp_path / "a.db"], tmp_path)
    assert "2 runs side by side" in page.text


def test_a_fork_is_held_against_its_origin(tmp_path: Path) -> None:
    page = reported(record_with_fork(tmp_path), tmp_path)
    assert table(page, "settings") == [["method.k_inj", "2", "0"]]
    assert "fork.db is a fork from task 3 on" in page.text


# -- the paper's sweeps ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("method.k_inj", "Score by memories injected per task and role (Fig. 9)"),
        ("method.rounds", "Score by repair rounds (Fig. 4)"),
    ],
)
def test_a_sweep_is_drawn_by_value_with_its_highest_marked(
    key: str, title: str, swept: dict[str, list[Path]], tmp_path: Path
) -> None:
    page = reported(swept[key], tmp_path)
    assert title in page.text
    values = [each.varied for each in planned(tmp_path, next(a for a in SWEPT if a.key == key))]
    scores = {
        v[key]: run.scores.mean for v, run in zip(values, compared(swept[key]).runs, strict=True)
    }
    highest = max(each.mean for each in scores.values() if each)
    best = [each for each in page.root.iter(f"{SVG}circle") if each.get("class") == "best"]
    assert len(best) == sum(each.mean == highest for each in scores.values() if each)
    descriptions = [each.text or "" for each in page.root.iter(f"{SVG}desc")]
    said = "; ".join(f"{value}: {scores[value].mean:.3f}" for value in sorted(scores))  # type: ignore[union-attr]
    assert said in descriptions


def test_ablations_become_table_2(swept: dict[str, list[Path]], tmp_path: Path) -> None:
    logs = swept["method.without"]
    found = compared(logs)
    whole = found.runs[0].scores.mean
    assert whole is not None
    rows = table(reported(logs, tmp_path), "ablations")
    assert [row[:2] for row in rows] == [
        ["✓ with", "✓ with"],
        ["✓ with", "✗ without"],
        ["✗ without", "✓ with"],
        ["✗ without", "✗ without"],
    ]
    for run, row in zip(found.runs, rows, strict=True):
        assert run.scores.mean is not None
        assert row[2] == f"{run.scores.mean.mean:.3f}"
        if run.whole:
            assert row[3] == "–"  # noqa: RUF001
        else:
            assert row[3] == f"{run.scores.mean.mean - whole.mean:+.3f}".replace("-0.000", "+0.000")


def test_the_whole_method_need_not_come_first_nor_be_there(
    swept: dict[str, list[Path]], tmp_path: Path
) -> None:
    logs = swept["method.without"]
    there = table(reported(logs[::-1], tmp_path), "ablations")
    assert there[::-1] == table(reported(logs, tmp_path), "ablations")
    page = reported(logs[1:], tmp_path)
    assert "which is not among the runs" in page.text
    assert {row[3] for row in table(page, "ablations")} == {"–"}  # noqa: RUF001


@pytest.mark.parametrize("key", ["method.n1", "two"])
def test_other_settings_are_neither_a_figure_nor_a_table_of_the_paper(
    key: str, swept: dict[str, list[Path]], tmp_path: Path
) -> None:
    both = [swept["method.k_inj"][0], swept["method.without"][1]]
    text = reported(swept.get(key, both), tmp_path).text
    assert "Score by" not in text
    assert "Table 2" not in text


# -- names -------------------------------------------------------------------------------------


def test_logs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    log = record(tmp_path, 1, tasks=2)
    (tmp_path / "b").mkdir()
    (tmp_path / "c" / "b").mkdir(parents=True)
    copies = [Path(shutil.copy(log, tmp_path / folder)) for folder in ("b", "c/b")]
    one, two = (
        [row[0] for row in table(reported(logs, tmp_path), "scores")]
        for logs in ([log, copies[0]], copies)
    )
    assert one == [f"{tmp_path.name}/run.db", "b/run.db"]
    assert two == ["b/run.db (1)", "b/run.db (2)"]


def test_a_log_named_in_two_ways_is_one_log(tmp_path: Path) -> None:
    log = record(tmp_path, 1, tasks=2)
    (tmp_path / "link.db").symlink_to(log)
    found = reported([log, tmp_path / "link.db"], tmp_path)
    assert "side by side" not in found.text


def test_a_file_in_another_folder_is_no_other_setting(tmp_path: Path) -> None:
    logs = [record(tmp_path / name, 1, tasks=2) for name in ("one", "two")]
    with EventLog.open(logs[0]) as one, EventLog.open(logs[1]) as two:
        sources = {segments(log)[0].header.config["benchmark"]["source"] for log in (one, two)}
    assert len(sources) == 2
    assert "Nothing that could change a conclusion." in reported(logs, tmp_path).said("runs")


def test_scores_that_are_all_the_same_have_no_highest(
    swept: dict[str, list[Path]],
) -> None:
    found = compared(swept["method.k_inj"])
    runs = tuple(attrs.evolve(run, scores=found.runs[0].scores) for run in found.runs)
    chart = of_sweep(attrs.evolve(found, runs=runs))
    assert chart is not None
    assert chart.says.endswith("; the same everywhere.")
