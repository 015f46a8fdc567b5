"""Files of passages, read one line at a time, plain or gzipped.

Three forms are told apart by what is in them:

- JSON Lines, ``{"id": …, "title": "…", "text": "…"}`` a line;
- JSON Lines, ``{"id": …, "contents": "title\\ntext"}`` a line, the corpus of Search-R1;
- tab-separated ``id  text  title``, DPR's ``psgs_w100.tsv``; a first line of these names in any
  order says the order.

Ids are not read: a searcher finds texts, and nothing refers to them.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

import orjson

from ...eventlog.errors import BadInput
from ..benchmarks.base import Passage

_GZIP = b"\x1f\x8b"
_COLUMNS = ("id", "text", "title")
_NO_MARK = "\ufeff"
_STEP = 1 << 20

Told = Callable[[int], object]
"""Is told from time to time how many bytes of the file were read since it was told last."""


def read_passages(path: Path, told: Told | None = None) -> Iterator[Passage]:
    """The passages of a file, in its order; blank lines are skipped.

    Raises:
        BadInput: the file cannot be read, a line is no passage, or there is none; the message names
            the file and the line.
    """
    found = False
    parse: Callable[[str, str], Passage | None] | None = None
    for number, line in _lines(path, told):
        place = f"{path.name}, line {number}"
        if parse is None:
            parse = _json_line if line.lstrip().startswith("{") else _Table()
        passage = parse(line, place)
        if passage is not None:
            found = True
            yield passage
    if not found:
        raise BadInput(f"{path}: no passages; write one JSON object with title and text a line")


def title_and_text(contents: str) -> Passage:
    """A passage from Search-R1's ``contents``: the first line is the title, often in quotes."""
    title, _, text = contents.partition("\n")
    title = title.strip()
    if len(title) > 1 and title.startswith('"') and title.endswith('"'):
        title = title[1:-1].strip()
    return Passage(title=title, text=text.strip())


# -- lines -------------------------------------------------------------------------------------


def _lines(path: Path, told: Told | None) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    number = 0
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == _GZIP
            file.seek(0)
            lines = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if zipped else file
            before = 0
            for number, line in enumerate(lines, start=1):
                if told is not None and file.tell() - before >= _STEP:
                    told(file.tell() - before)
                    before = file.tell()
                text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
                text = text.removeprefix(_NO_MARK) if number == 1 else text
                if text.strip():
                    yield number, text
            if told is not None:
                told(file.tell() - before)
    except UnicodeDecodeError:
        raise BadInput(f"{path.name}, line {number}: not UTF-8; convert the file") from None
    except (EOFError, gzip.BadGzipFile) as error:
        raise BadInput(
            f"{path.name}, after line {number}: damaged ({error}); copy it again"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise BadInput(f"{str(path)!r}: {reason}; name a file of passages") from None


def _passage(title: object, text: object, place: str) -> Passage:
    for name, value in (("title", title), ("text", text)):
        if not isinstance(value, str):
            raise BadInput(f"{place}: {name!r} is no text; write a string")
    title, text = cast("str", title).strip(), cast("str", text).strip()
    if not text:
        raise BadInput(f"{place}: a passage without text; write its text or remove the line")
    return Passage(title=title, text=text)


def _json_line(line: str, place: str) -> Passage:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{place}: not JSON ({error.msg}); write one object a line") from None
    if not isinstance(row, dict):
        raise BadInput(f"{place}: not a JSON object; write one object a line")
    if "text" in row:
        return _passage(row.get("title", ""), row["text"], place)
    contents = row.get("contents")
    if not isinstance(contents, str):
        raise BadInput(f"{place}: needs title and text, or contents; add them")
    passage = title_and_text(contents)
    return _passage(passage.title, passage.text, place)


class _Table:
    """Lines of tab-separated columns, in the order the first line may give."""

    def __init__(self) -> None:
        self._columns: tuple[str, ...] | None = None

    def __call__(self, line: str, place: str) -> Passage | None:
        fields = tuple(_unquoted(field) for field in line.split("\t"))
        if self._columns is None:
            named = tuple(field.strip().lower() for field in fields)
            self._columns = named if sorted(named) == sorted(_COLUMNS) else _COLUMNS
            if self._columns is named:
                return None
        if len(fields) != len(_COLUMNS):
            raise BadInput(
                f"{place}: {len(fields)} columns; write {', '.join(self._columns)} with a tab "
                "between them, or one JSON object a line"
            )
        row = dict(zip(self._columns, fields, strict=True))
        return _passage(row["title"], row["text"], place)


def _unquoted(field: str) -> str:
    """A column without the quotes of a CSV writer, which doubles those inside; else as it is."""
    inside = field[1:-1]
    if len(field) > 1 and field[0] == field[-1] == '"' and '"' not in inside.replace('""', ""):
        return inside.replace('""', '"')
    return field
