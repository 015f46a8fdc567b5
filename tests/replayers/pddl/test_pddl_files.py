"""The generated stream is AgentBoard's own, and unusable files are refused in one line."""

import json
import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks.pddl import PddlBenchmark
from discernmem.replayers.benchmarks.pddl.parse import normalised, read_domain, read_problem
from discernmem.replayers.benchmarks.pddl.problems import read_table
from discernmem.replayers.benchmarks.pddl.strips import Domain


@pytest.fixture(scope="module")
def files(agentboard: Path) -> PddlBenchmark:
    return PddlBenchmark(str(agentboard))


@pytest.fixture
def gripper() -> Domain:
    return read_domain(GRIPPER, "g.pddl")


def test_the_table_generates_the_objects_initial_facts_and_goals_of_all_sixty_files(
    paper: PddlBenchmark, files: PddlBenchmark
) -> None:
    assert len(files.tasks()) == 60
    for ours, theirs in zip(paper.tasks(), files.tasks(), strict=True):
        assert (ours.id, ours.domain) == (theirs.id, theirs.domain)
        assert ours.data == theirs.data, ours.id


def test_generated_and_real_problems_read_the_same_to_a_team(
    paper: PddlBenchmark, files: PddlBenchmark
) -> None:
    assert [task.text for task in paper.tasks()] == [task.text for task in files.tasks()]
    assert paper.facts["digest"] == files.facts["digest"]
    assert files.facts["problems"] == "files"


def test_the_stream_order_is_that_of_the_published_task_records(
    paper: PddlBenchmark, agentboard: Path
) -> None:
    """String order puts blockworld's problem10 second; the records say which goals that means."""
    records = [json.loads(line) for line in (agentboard / "tasks.jsonl").read_text().splitlines()]
    for task, record in zip(paper.tasks(), records, strict=True):
        assert task.domain == record["additional_info"]["subtask"]
        named = {name for goal in task.data["goals"] for name in goal[1:]}
        words = record["goal"].replace(".", " ").split()
        assert named == {word for word in words if word in task.data["objects"]}, task.id
        assert len(task.data["goals"]) == len(record["subgoals"])


def test_our_domains_mean_what_the_real_ones_do(agentboard: Path) -> None:
    """Types, constants and every action's needs and effects, whatever the parameters are called."""
    ours = Path(__file__).resolve().parents[3] / "data" / "pddl"
    for name in ("gripper", "blockworld", "barman", "tyreworld"):
        pair = [
            read_domain((folder / f"{name}.pddl").read_text(), name)
            for folder in (ours, agentboard)
        ]
        assert pair[0] == pair[1], name


def test_a_changed_action_in_a_real_domain_is_refused(agentboard: Path, tmp_path: Path) -> None:
    shutil.copytree(agentboard / "gripper", tmp_path / "gripper")
    domain = (agentboard / "gripper.pddl").read_text()
    (tmp_path / "gripper.pddl").write_text(domain.replace("(not (free ?gripper))", ""))
    with pytest.raises(BadInput, match=r"gripper\.pddl: its types, predicates or actions"):
        PddlBenchmark(str(tmp_path))


# -- traps of real files ---------------------------------------------------------------------------

GRIPPER = """
(define (domain g) (:predicates (at ?b ?r) (free ?g))
  (:action drop :parameters (?b ?r) :precondition (free ?b) :effect (and (at ?b ?r))))
"""


def test_a_missing_space_between_parameters_still_ends_the_type() -> None:
    text = """
    (define (domain d) (:requirements :strips :typing) (:types level - object)
      (:predicates (up ?l - level?l1 - level))
      (:action rise :parameters (?l - level?l1 - level)
        :precondition (up ?l ?l1) :effect (not (up ?l ?l1))))
    """
    action = read_domain(text, "d.pddl").actions["rise"]
    assert action.parameters == ("l", "l1")
    assert action.types == ("level", "level")


def test_constants_may_follow_the_predicates_and_be_objects_as_well() -> None:
    text = """
    (define (domain d) (:types tool box - object)
      (:predicates (in ?x - box ?y - tool)) ; declared the wrong way round
      (:constants jack - tool)
      (:action take :parameters (?b - box) :precondition (in jack ?b) :effect (not (in jack ?b))))
    """
    domain = read_domain(text, "d.pddl")
    assert domain.constants == {"jack": "tool"}
    assert domain.actions["take"].needs == frozenset({("in", "jack", 0)})
    problem = read_problem(
        "(define (problem p) (:domain d) (:objects JACK - tool boot - box) "
        "(:init (in jack boot)) (:goal (and (in jack BOOT))))",
        domain,
        "p.pddl",
    )
    assert problem.objects == {"boot": "box", "jack": "tool"}
    assert problem.goals == problem.init == frozenset({("in", "jack", "boot")})


def test_normalising_keeps_every_section_of_a_domain() -> None:
    text = "(define (domain D) ; (:types no)\n(:predicates (p)) (:constants C) (:types t))"
    expected = (
        "(define (domain d) (:requirements :strips :typing) (:types t) "
        "(:constants c) (:predicates (p)) )"
    )
    assert " ".join(normalised(text).split()) == expected


# -- what cannot be used ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("(define (problem p) (:domain g)", "not readable as PDDL"),
        ("", "not readable as PDDL"),
        (
            "(define (problem p) (:domain g) (:objects a) (:init) (:goal (on a a)))",
            r"\(on a a\) is not a fact of the domain",
        ),
        (
            "(define (problem p) (:domain g) (:objects a) (:init (free a a)) (:goal (free a)))",
            r"\(free a a\) is not a fact of the domain",
        ),
        (
            "(define (problem p) (:domain g) (:objects a) (:init) (:goal (free b)))",
            "object b is not declared",
        ),
        (
            "(define (problem p) (:domain g) (:objects a - pig) (:init) (:goal (free a)))",
            "type pig is not in the domain",
        ),
        (
            "(define (problem p) (:domain g) (:objects a b) (:init) "
            "(:goal (or (free a) (free b))))",
            "not readable as PDDL .*disjunctive",
        ),
        (
            "(define (problem p) (:domain g) (:objects a) (:init) (:goal (and)))",
            "it has no goal",
        ),
    ],
)
def test_an_unusable_problem_is_refused_in_one_line_that_names_it(
    gripper: Domain, problem: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        read_problem(problem, gripper, "dir/p.pddl")
    assert str(caught.value).startswith("dir/p.pddl: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (":precondition (free ?b)", ":precondition (not (free ?b))"),
        (":precondition (free ?b)", ":precondition (or (free ?b) (at ?b ?r))"),
        (":effect (and (at ?b ?r))", ":effect (when (free ?b) (at ?b ?r))"),
        ("(?b ?r) :precondition", "(?b - (either c d) ?r) :precondition"),
    ],
)
def test_what_goes_beyond_strips_is_refused_instead_of_ignored(old: str, new: str) -> None:
    text = GRIPPER.replace("(:predicates", "(:requirements :adl) (:types c d) (:predicates")
    assert read_domain(text, "g.pddl")
    with pytest.raises(BadInput, match=r"g\.pddl: .* is beyond plain STRIPS"):
        read_domain(text.replace(old, new), "g.pddl")


def test_a_broken_file_does_not_spoil_the_next_one() -> None:
    """The library's parsers keep a broken state after an error."""
    with pytest.raises(BadInput):
        read_domain(GRIPPER + ")", "broken.pddl")
    assert set(read_domain(GRIPPER, "g.pddl").actions) == {"drop"}


def test_a_broken_file_does_not_cut_the_tracebacks_of_others() -> None:
    """The library takes them away while it reads, and after an error for good."""
    with pytest.raises(BadInput):
        read_domain(GRIPPER + ")", "broken.pddl")
    try:
        raise ValueError
    except ValueError:
        assert traceback.format_exc().startswith("Traceback")


@pytest.mark.parametrize("content", [b"(define", b"\xff\xfe"])
def test_an_unreadable_file_in_a_folder_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "gripper").mkdir()
    (tmp_path / "gripper" / "p1.pddl").write_text("")
    (tmp_path / "gripper.pddl").write_bytes(content)
    with pytest.raises(BadInput, match=r"gripper\.pddl: ") as caught:
        PddlBenchmark(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_missing_folder_an_empty_folder_and_a_missing_domain_are_told_apart(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadInput, match="is no folder"):
        PddlBenchmark(str(tmp_path / "absent"))
    with pytest.raises(BadInput, match="no problems in it"):
        PddlBenchmark(str(tmp_path))
    (tmp_path / "barman").mkdir()
    (tmp_path / "barman" / "p1.pddl").write_text("")
    with pytest.raises(BadInput, match=r"barman\.pddl: cannot be read \(No such file"):
        PddlBenchmark(str(tmp_path))


@pytest.mark.parametrize(
    "table",
    [
        'gripper = "1 a a→b"',
        'gripper = "0 c a→b"',
        'gripper = "0 a aa→b"',
        'gripper = "0 a a b"',
        'blockworld = "0 b1 b2 | b1>b3"',
        'blockworld = "0 b1 b2 |"',
        'blockworld = "0 | b1>b2"',
        'barman = "0 shots1 c1=1+4 | shot1:c1"',
        'barman = "0 shots1 c1=1+0 | shot1:c1"',
        'barman = "0 shots1 c1=1+2 | shot2:c1"',
        'barman = "0 shots1 c1=1+2 | shot1:x1"',
        'tyreworld = "0 hubs1 | on2"',
        'tyreworld = "0 hubs1 | off1"',
        'tyreworld = "0 wheels1 | on1"',
        'chess = "0 e4"',
        "gripper = 0",
        "gripper = ",
    ],
)
def test_a_line_that_is_not_in_the_notation_is_refused(table: str) -> None:
    with pytest.raises(BadInput, match=r"t\.toml: ") as caught:
        read_table(table, "t.toml")
    assert "\n" not in str(caught.value)


def test_the_shipped_files_are_found_from_any_directory(tmp_path: Path) -> None:
    code = (
        "from discernmem.replayers.benchmarks.pddl import PddlBenchmark as B;"
        "print(len(B('demo').tasks()))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "8\n"
