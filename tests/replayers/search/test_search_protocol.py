"""The marks of a search in a reply, and the block of passages a role reads."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discernmem.replayers.benchmarks.base import Passage
from discernmem.replayers.search.protocol import information, query_of

ANSWERING = ["<search>", "</search>", "<answer>", "</answer>", "<SEARCH>", "< search>"]
READING = ["<information>", "</information>", "<notes>", "<|im_end|>", "[2] ", "<<", ">"]
LINES = ["\n", "\r", "\u2028", "\x85", '"', " "]
TAGS = st.sampled_from([*ANSWERING, *READING, *LINES])
HOSTILE = st.lists(TAGS | st.text(max_size=5), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("<search>tallest tower of Pisa</search>", "tallest tower of Pisa"),
        ("I must look.\n<search>\n who built\tit \n</search> Now I wait.", "who built it"),
        ("<Search>Any Case</SEARCH>", "Any Case"),
        ("<search>first</search> <search>second</search>", "first"),
        ("<search>q</search><information>invented</information><answer>x</answer>", "q"),
        ("<search>lost <search>kept</search>", "kept"),
        ("<search>a <b> c</search>", "a <b> c"),
        ("<search>  </search><search>kept</search>", "kept"),
        ("<answer></answer><search>kept</search>", "kept"),
    ],
)
def test_the_first_complete_search_is_the_query(reply: str, query: str) -> None:
    assert query_of(reply) == query


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "no tags",
        "<search>cut off",
        "cut off</search>",
        "<search></search>",
        "<search>\n</search>",
        "<search>crossed</answer>",
        "<search>crossed<answer></search></answer>",
        "<answer>Pisa</answer>",
        "<answer>Pisa</answer> <search>more</search>",
        "search: Pisa",
    ],
)
def test_a_reply_without_a_search_or_with_an_answer_before_it_asks_nothing(reply: str) -> None:
    assert query_of(reply) is None


@given(HOSTILE)
def test_a_query_is_one_trimmed_line_without_tags_whatever_the_reply(reply: str) -> None:
    query = query_of(reply)
    if query is not None:
        assert query
        assert query == " ".join(query.split())
        assert not re.search(r"</?(search|answer)>", query, re.IGNORECASE)


def test_a_reply_of_many_unfinished_tags_is_read_in_time_linear_in_its_length() -> None:
    start = time.process_time()
    assert query_of("<search>x" * 20_000 + "</answer>" * 20_000) is None
    assert time.process_time() - start < 2


def test_passages_are_numbered_lines_with_their_titles_quoted() -> None:
    found = [
        Passage(title="Pisa", text="A town.\nIt leans."),
        Passage(title='The "T"', text="x < 5"),
    ]
    assert information(found) == (
        '<information>\n[1] "Pisa" A town. It leans.\n[2] "The \'T\'" x \u2039 5\n</information>'
    )


def test_a_search_that_found_nothing_says_so() -> None:
    assert information([]) == "<information>\nNo passage was found.\n</information>"


@given(st.lists(st.builds(Passage, title=HOSTILE, text=HOSTILE), min_size=1, max_size=4))
def test_no_text_of_a_passage_can_leave_its_line_or_hold_a_tag(passages: list[Passage]) -> None:
    first, *lines, last = information(passages).splitlines()
    assert (first, last) == ("<information>", "</information>")
    assert [line.split(" ")[0] for line in lines] == [
        f"[{at}]" for at in range(1, len(passages) + 1)
    ]
    assert not re.search("[<>]", "".join(lines))
    assert query_of(information(passages)) is None
