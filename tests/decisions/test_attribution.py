"""The attribution table, row by row (method, section 4; Eq. 5 and 6)."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.decisions.attribution import (
    DEFECT_TYPES,
    UNKNOWN,
    Scope,
    attribute,
    effective_scope,
    needs_diagnosis,
    supported,
)
from discernmem.eventlog import events as ev

PHI = "the drawer is locked"
SIGNS: tuple[ev.Sign, ...] = get_args(ev.Sign)
SCOPES = st.builds(Scope, st.booleans(), st.booleans(), st.text(), st.booleans())


@pytest.mark.parametrize(
    ("avoid", "signs", "uses", "supports", "label", "boundary"),
    [
        pytest.param(
            True,
            SIGNS,
            (True, False),
            (True, False),
            "SCOPE",
            PHI,
            id="an avoid match is SCOPE whatever the effect, and teaches an exception",
        ),
        pytest.param(
            False,
            ("negative",),
            (False,),
            (True, False),
            "SCOPE",
            PHI,
            id="harm outside the use conditions is SCOPE and teaches an exception",
        ),
        pytest.param(
            False,
            ("negative",),
            (True,),
            (True,),
            "CONTENT",
            "",
            id="harm in scope with a supported defect is CONTENT",
        ),
        pytest.param(
            False,
            ("negative",),
            (True,),
            (False,),
            "NONE",
            "",
            id="harm in scope without a supported defect changes nothing",
        ),
        pytest.param(
            False,
            ("neutral", "positive"),
            (True, False),
            (True, False),
            "NONE",
            "",
            id="no harm and no avoid match is NONE",
        ),
    ],
)
def test_each_row_of_the_table_gives_its_label(
    avoid: bool,
    signs: tuple[ev.Sign, ...],
    uses: tuple[bool, ...],
    supports: tuple[bool, ...],
    label: str,
    boundary: str,
) -> None:
    reasons = set()
    for sign, use, supports_it in itertools.product(signs, uses, supports):
        made = attribute(sign, Scope(use, avoid, PHI), supports_it)
        assert (made.label, made.boundary) == (label, boundary)
        reasons.add(made.reason)
    assert len(reasons) == 1


def test_every_row_names_another_reason() -> None:
    every = {
        attribute(sign, Scope(use, avoid, PHI, known), supports_it).reason
        for sign in SIGNS
        for use, avoid, known, supports_it in itertools.product((True, False), repeat=4)
    }
    assert every == {
        "the scope check gave no usable answer",
        "an avoid condition matched",
        "harm outside the use conditions",
        "harm in scope with a supported defect",
        "harm in scope without a supported defect",
        "no harm and no avoid condition matched",
    }


@pytest.mark.parametrize("sign", SIGNS)
def test_a_failed_scope_check_teaches_nothing(sign: ev.Sign) -> None:
    made = attribute(sign, UNKNOWN, True)
    assert (made.label, made.boundary) == ("NONE", "")
    assert not needs_diagnosis(sign, UNKNOWN)


@given(st.sampled_from(SIGNS), SCOPES, st.booleans())
def test_content_needs_known_harm_in_scope_and_a_supported_defect(
    sign: ev.Sign, scope: Scope, supports_it: bool
) -> None:
    label = attribute(sign, scope, supports_it).label
    blamed = scope.known and sign == "negative" and scope.use and not scope.avoid and supports_it
    assert (label == "CONTENT") == blamed


@given(st.sampled_from(SIGNS), SCOPES)
def test_the_diagnosis_runs_exactly_where_it_can_change_the_label(
    sign: ev.Sign, scope: Scope
) -> None:
    matters = attribute(sign, scope, True) != attribute(sign, scope, False)
    assert needs_diagnosis(sign, scope) == matters


def test_without_use_conditions_harm_is_out_of_scope() -> None:
    scope = effective_scope(Scope(use=True, avoid=False, boundary=PHI), (), ("never here",))
    assert not scope.use
    assert attribute("negative", scope, True).label == "SCOPE"


def test_without_avoid_conditions_none_can_match() -> None:
    scope = effective_scope(Scope(use=True, avoid=True, boundary=PHI), ("always",), ())
    assert scope == Scope(use=True, avoid=False, boundary=PHI)


def test_with_conditions_the_check_is_taken_at_its_word() -> None:
    for use, avoid, known in itertools.product((True, False), repeat=3):
        scope = Scope(use, avoid, PHI, known)
        assert effective_scope(scope, ("a",), ("b",)) == scope


@pytest.mark.parametrize("defect", get_args(ev.DefectType))
def test_each_of_the_six_defects_can_be_supported(defect: str) -> None:
    assert supported(defect, "step 3 comes too late", ["s3"], {"s1", "s3"}) == (True, "")


def test_there_are_six_defects() -> None:
    assert len(DEFECT_TYPES) == 6


@pytest.mark.parametrize(
    ("defect", "description", "cited", "problem"),
    [
        pytest.param(
            "bad_luck", "d", ["s1"], "unknown defect type: bad_luck", id="type is not of the six"
        ),
        pytest.param("wrong_order", " \n", ["s1"], "empty description", id="description is empty"),
        pytest.param("wrong_order", "d", [], "no step cited", id="no step is cited"),
        pytest.param(
            "wrong_order", "d", ["s1", "s9"], "step not displayed: s9", id="a step was not shown"
        ),
        pytest.param(
            "wrong_order",
            "d",
            [f"s{n}" for n in range(1, 10)],
            "more than 8 steps cited",
            id="nine steps are cited",
        ),
    ],
)
def test_a_diagnosis_is_unsupported_for_a_named_reason(
    defect: str, description: str, cited: list[str], problem: str
) -> None:
    displayed = {f"s{n}" for n in range(1, 9)}
    assert supported(defect, description, cited, displayed) == (False, problem)
