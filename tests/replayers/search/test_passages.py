"""Files of passages in the forms that exist, and what is said of bad ones."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from discernmem.eventlog.errors import BadInput
from discernmem.replayers.benchmarks.base import Passage
from discernmem.replayers.search.passages import read_passages, title_and_text

TWO = [Passage(title="Pisa", text="It leans."), Passage(title="", text='A "quoted" word')]
FORMS = {
    "title and text": b'{"id": "p1", "title": "Pisa", "text": "It leans."}\n\n'
    b'{"text": "A \\"quoted\\" word", "url": "ignored"}\n',
    "contents": b'{"id": 1, "contents": "\\"Pisa\\"\\nIt leans."}\r\n'
    b'{"id": 2, "contents": "\\nA \\"quoted\\" word"}',
    "table": b'1\tIt leans.\tPisa\n2\t"A ""quoted"" word"\t\n',
    "table with names": b'title\tid\ttext\nPisa\t1\tIt leans.\n\t2\tA "quoted" word\n',
    "byte order mark": b'\xef\xbb\xbfid\ttext\ttitle\n1\tIt leans.\tPisa\n2\tA "quoted" word\t\n',
}


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "passages.any"
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_form_is_known_by_its_content_plain_or_gzipped(
    form: str, pack: Callable[[bytes], bytes], written: Callable[[bytes], Path]
) -> None:
    assert list(read_passages(written(pack(FORMS[form])))) == TWO


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no passages"),
        (b"\n \n", "no passages"),
        (b"id\ttext\ttitle\n", "no passages"),
        (b'{"text": "x"}\n{"text": \n', "line 2: not JSON"),
        (b'{"text": "x"}\n["x"]\n', "line 2: not"),
        (b'{"text": "x"}\n\n{"title": "T"}\n', "line 3: needs title and text, or contents"),
        (b'{"contents": 5}\n', "line 1: needs title and text, or contents"),
        (b'{"title": 5, "text": "x"}\n', "line 1: 'title' is no text"),
        (b'{"title": null, "text": "x"}\n', "line 1: 'title' is no text"),
        (b'{"title": "T", "text": ["x"]}\n', "line 1: 'text' is no text"),
        (b'{"title": "T", "text": "  "}\n', "line 1: a passage without text"),
        (b'{"contents": "title only"}\n', "line 1: a passage without text"),
        (b'{"text": "\\ud800"}\n', "line 1: not JSON"),
        (b'{"text": "x"}\n{"text": "\xff"}\n', "line 2: not UTF-8"),
        (b"1\tIt leans.\tPisa\n2\tno title\n", "line 2: 2 columns"),
        (b"plain words\n", "line 1: 1 columns"),
        (gzip.compress(b'{"text": "x"}\n' * 99, mtime=0)[:-9], "damaged"),
        (gzip.compress(b'{"text": "x"}\n', mtime=0)[:-6] + b"123456", "damaged"),
        (b"\x1f\x8bnot gzip", "damaged"),
    ],
)
def test_a_bad_line_is_named_with_its_file(
    content: bytes, message: str, written: Callable[[bytes], Path]
) -> None:
    with pytest.raises(BadInput, match=f"passages.any.*{message}"):
        list(read_passages(written(content)))


@pytest.mark.parametrize("name", ["absent.jsonl", ".", "a\0b"])
def test_what_is_no_readable_file_is_bad_input(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name a file of passages"):
        list(read_passages(tmp_path / name))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_bytes_told_of_add_up_to_the_file(
    pack: Callable[[bytes], bytes], written: Callable[[bytes], Path]
) -> None:
    told: list[int] = []
    lines = b"".join(b'{"text": "%d"}\n' % number for number in range(120_000))
    path = written(pack(lines))
    assert sum(1 for _ in read_passages(path, told.append)) == 120_000
    assert sum(told) == path.stat().st_size
    if path.stat().st_size > 2 << 20:
        assert len(told) > 2


def test_a_file_is_read_as_far_as_it_is_asked_for(written: Callable[[bytes], Path]) -> None:
    passages = read_passages(written(b'{"text": "first"}\nbroken'))
    assert next(passages).text == "first"
    with pytest.raises(BadInput, match="line 2"):
        next(passages)


@pytest.mark.parametrize(
    ("contents", "passage"),
    [
        ('"Pisa"\nIt leans.\nStill.', Passage(title="Pisa", text="It leans.\nStill.")),
        ("Pisa\nIt leans.", Passage(title="Pisa", text="It leans.")),
        ('"\nIt leans.', Passage(title='"', text="It leans.")),
        ("", Passage(title="", text="")),
    ],
)
def test_the_first_line_of_contents_is_the_title(contents: str, passage: Passage) -> None:
    assert title_and_text(contents) == passage
