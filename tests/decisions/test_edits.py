"""Local edits with one exact anchor (method, section 7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.edits import Edit, apply_edit, check, levenshtein

BODY = "Open the box. Take the key. Unlock the door."
SMALL = st.text(alphabet="ab .\n", max_size=12)
OPERATIONS = st.sampled_from(["ADD", "REPLACE", "DELETE", "REORDER", "NO_UPDATE", ""])


def edit(
    operation: str,
    anchor: str,
    text: str = "",
    cited: tuple[str, ...] = (),
    correction: str = "the key is taken first",
) -> Edit:
    return Edit(operation=operation, anchor=anchor, text=text, cited=cited, correction=correction)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(
            edit("ADD", "Take the key.", "Check it."),
            "Open the box. Take the key. Check it. Unlock the door.",
            id="ADD a sentence after a sentence",
        ),
        pytest.param(
            edit("ADD", "Unlock the door.", "Enter."),
            f"{BODY} Enter.",
            id="ADD at the end",
        ),
        pytest.param(
            edit("ADD", "Open the box", ", if it is closed"),
            "Open the box, if it is closed. Take the key. Unlock the door.",
            id="ADD a clause before a full stop",
        ),
        pytest.param(
            edit("ADD", "Take the", "small"),
            "Open the box. Take the small key. Unlock the door.",
            id="ADD a word between words",
        ),
        pytest.param(
            edit("ADD", "Take the ", "small"),
            "Open the box. Take the small key. Unlock the door.",
            id="ADD after an anchor that ends in a space",
        ),
        pytest.param(
            edit("REPLACE", "the box", "every drawer"),
            "Open every drawer. Take the key. Unlock the door.",
            id="REPLACE the anchor and nothing else",
        ),
        pytest.param(
            edit("DELETE", "Take the key."),
            "Open the box. Unlock the door.",
            id="DELETE in the middle leaves one space",
        ),
        pytest.param(
            edit("DELETE", "Open the box."),
            "Take the key. Unlock the door.",
            id="DELETE at the start leaves no space",
        ),
        pytest.param(
            edit("DELETE", "Unlock the door."),
            "Open the box. Take the key.",
            id="DELETE at the end leaves no space",
        ),
        pytest.param(
            edit("REORDER", "Open the box.", "Take the key."),
            "Take the key. Open the box. Unlock the door.",
            id="REORDER forwards",
        ),
        pytest.param(
            edit("REORDER", "Unlock the door.", "Open the box."),
            "Open the box. Unlock the door. Take the key.",
            id="REORDER backwards",
        ),
        pytest.param(
            edit("REORDER", "Open the box. ", "Unlock the door."),
            "Take the key. Unlock the door. Open the box.",
            id="REORDER to the end",
        ),
    ],
)
def test_an_edit_does_to_the_body_what_its_operation_says(made: Edit, expected: str) -> None:
    assert apply_edit(BODY, made) == (expected, "")


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        pytest.param(edit("ADD", "the lamp", "x"), "anchor not found", id="anchor is missing"),
        pytest.param(edit("ADD", "OPEN the box", "x"), "anchor not found", id="letters differ"),
        pytest.param(edit("ADD", "the", "x"), "anchor not unique", id="anchor occurs thrice"),
        pytest.param(edit("ADD", "", "x"), "anchor empty", id="anchor is empty"),
        pytest.param(edit("ADD", " ", "x"), "anchor empty", id="anchor is blank"),
        pytest.param(
            edit("SWAP", "the box"), "unknown operation: SWAP", id="operation is not of the four"
        ),
        pytest.param(edit("DELETE", BODY), "resulting body empty", id="nothing is left"),
        pytest.param(
            edit("REORDER", "Open the box.", "the lamp"),
            "reorder target not found",
            id="target is missing",
        ),
        pytest.param(
            edit("REORDER", "Open the box.", "the box"),
            "reorder target not found",
            id="target lies inside the anchor",
        ),
        pytest.param(
            edit("REORDER", "Open the box.", "the"),
            "reorder target not unique",
            id="target occurs twice outside the anchor",
        ),
        pytest.param(
            edit("REORDER", "Open the box."), "reorder target empty", id="target is empty"
        ),
    ],
)
def test_an_edit_that_makes_no_body_says_why(made: Edit, problem: str) -> None:
    assert apply_edit(BODY, made) == ("", problem)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(edit("REPLACE", "the box", "the box"), id="the text is the anchor"),
        pytest.param(edit("REPLACE", "the box", "the  box"), id="only spacing differs"),
        pytest.param(edit("ADD", "the box", " "), id="nothing is added"),
        pytest.param(edit("REORDER", "Take the key.", "Open the box."), id="it is there already"),
    ],
)
def test_an_edit_that_changes_nothing_is_rejected(made: Edit) -> None:
    assert apply_edit(BODY, made)[1] == "body unchanged"


def test_overlapping_occurrences_of_an_anchor_count() -> None:
    assert apply_edit("xaaax", edit("DELETE", "aa")) == ("", "anchor not unique")


def test_a_body_tried_before_is_rejected_whatever_its_spacing() -> None:
    made = edit("DELETE", "Take the key.")
    tried = {"Open the box.\nUnlock the door."}
    assert check(BODY, made, tried, ()) == (
        "Open the box. Unlock the door.",
        "body already tried",
    )


def test_an_unknown_evidence_id_is_rejected_by_name() -> None:
    made = edit("DELETE", "Take the key.", cited=("s1", "s99"))
    assert check(BODY, made, (), {"s1"})[1] == "unknown evidence id: s99"
    assert check(BODY, made, (), {"s1", "s99"})[1] == ""


def test_the_first_problem_is_the_one_reported() -> None:
    cited = ("s99",)
    assert check(BODY, edit("DELETE", "lamp", cited=cited), (), ())[1] == "anchor not found"
    tried = {"Open the box. Unlock the door."}
    made = edit("DELETE", "Take the key.", cited=cited)
    assert check(BODY, made, tried, ())[1] == "body already tried"


def test_an_edit_knows_whether_it_cites_and_states() -> None:
    made = edit("ADD", "a", cited=("s1", "s2"))
    assert made.cites_any({"s2"})
    assert not made.cites_any({"s3"})
    assert made.states_correction
    assert not edit("ADD", "a", correction=" \n").states_correction


@given(OPERATIONS, SMALL, SMALL, SMALL)
def test_no_edit_raises_and_a_body_comes_with_no_problem_or_a_named_one(
    operation: str, body: str, anchor: str, text: str
) -> None:
    made, problem = apply_edit(body, edit(operation, anchor, text))
    if not problem:
        assert made.strip()
        assert made.split() != body.split()
    elif problem != "body unchanged":
        assert made == ""


@given(SMALL, SMALL, SMALL)
def test_replace_changes_exactly_the_span_of_its_anchor(left: str, right: str, text: str) -> None:
    made, problem = apply_edit(left + "KEY" + right, edit("REPLACE", "KEY", text))
    if problem != "resulting body empty":
        assert made == left + text + right


@given(SMALL, SMALL, st.text(alphabet="xy ", min_size=1))
def test_add_keeps_what_was_there_and_adds_only_its_text(left: str, right: str, text: str) -> None:
    made, problem = apply_edit(left + "KEY" + right, edit("ADD", "KEY", text))
    without_space = "".join((left + "KEY" + text + right).split())
    assert "".join(made.split()) == without_space
    assert (problem == "") == bool(text.strip())


@given(SMALL, SMALL, SMALL)
def test_reorder_loses_no_word(one: str, two: str, three: str) -> None:
    body = f"{one} KEY {two} LOCK {three}"
    for moved, target in (("KEY", "LOCK"), ("LOCK", "KEY")):
        made, problem = apply_edit(body, edit("REORDER", moved, target))
        assert problem in ("", "body unchanged")
        assert sorted("".join(made.split())) == sorted("".join(body.split()))
        assert "".join(made.split()).count(target + moved) == 1


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("kitten", "sitting", 3),
        ("flaw", "lawn", 2),
        ("abc", "abc", 0),
        ("ab", "ba", 2),
    ],
)
def test_the_distance_counts_single_character_edits(a: str, b: str, distance: int) -> None:
    assert levenshtein(a, b) == distance


@given(SMALL, SMALL, SMALL)
def test_the_distance_is_a_metric(a: str, b: str, c: str) -> None:
    assert levenshtein(a, b) == levenshtein(b, a)
    assert (levenshtein(a, b) == 0) == (a == b)
    assert levenshtein(a, c) <= levenshtein(a, b) + levenshtein(b, c)
