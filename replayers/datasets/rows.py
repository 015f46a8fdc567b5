"""The rows of a data set: JSON Lines, Parquet or tab-separated, from a path or from the hub."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import orjson

from ...eventlog.errors import BadInput, Infrastructure
from .hub import fetch
from .layout import SUFFIXES, split_files


@attrs.frozen(kw_only=True)
class Row:
    """One row; ``place`` says where it stands, for messages: ``train.jsonl, line 3``."""

    place: str
    fields: Mapping[str, Any]

    def text(self, field: str, *, digits: bool = False) -> str:
        """A field that says something; with ``digits``, a whole number is taken as its own.

        Raises:
            BadInput: the field is absent or holds something else.
        """
        value = self.fields.get(field)
        if value is None:
            raise BadInput(f"{self.place}: no field {field!r}; write it, or name another data set")
        if digits and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            raise BadInput(
                f"{self.place}: {field!r} holds no text where text is wanted; write a string"
            )
        return value

    def parsed(self, field: str) -> Any:
        """A field that may be written as JSON inside a text.

        Raises:
            BadInput: it is such a text, but no JSON.
        """
        value = self.fields.get(field)
        if not isinstance(value, str):
            return value
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise BadInput(
                f"{self.place}: {field!r} is not JSON ({error.msg}); correct the row"
            ) from None


@attrs.frozen(kw_only=True)
class Rows:
    """All rows of a source, in order, and what they are.

    ``source`` is the hub's name or the file's, without its folder; ``revision`` is the hub's
    commit, None for a file; ``digest`` is SHA-256 in hex over the uncompressed content.
    """

    rows: tuple[Row, ...]
    source: str
    revision: str | None
    digest: str

    @property
    def facts(self) -> dict[str, Any]:
        """Plain JSON for a manifest and the run header."""
        return {"source": self.source, "revision": self.revision, "data_digest": self.digest}


def read_rows(
    source: str | Path, *, split: str = "train", columns: Collection[str] | None = None
) -> Rows:
    """The rows of a data set.

    Args:
        source: the path of a ``.jsonl``, ``.jsonl.gz``, ``.parquet`` or ``.tsv`` file, of a folder
            that holds such files by split, or ``hf:OWNER/NAME[@REVISION][:CONFIG]``.
        split: which split of a folder or of the hub's data set; a single file is read whole.
        columns: the fields to keep, all where None. One that a row lacks is not there: which are
            needed is for the caller to say.

    Raises:
        BadInput: a name, a file or a row is not usable; the message names the place.
        Infrastructure: the hub cannot be reached, or a library for it is not installed.
    """
    revision: str | None = None
    if isinstance(source, str) and source.startswith("hf:"):
        revision, paths = fetch(source, split)
        label = source
    else:
        paths = _own(Path(source).expanduser(), split)
        label = Path(source).name
    digest = hashlib.sha256()
    rows: list[Row] = []
    for path in paths:
        content = _content(path)
        digest.update(content)
        rows += _parse(path.name)(content, path.name, columns)
    if not rows:
        raise BadInput(f"data set {label!r}: no rows in it; give one that has some")
    return Rows(rows=tuple(rows), source=label, revision=revision, digest=digest.hexdigest())


def _own(path: Path, split: str) -> tuple[Path, ...]:
    if path.is_dir():
        names = (each.relative_to(path).as_posix() for each in path.rglob("*"))
        return tuple(path / name for name in split_files(names, split, None, path.name))
    if not path.name.endswith(SUFFIXES):
        raise BadInput(
            f"data set {str(path)!r}: give a file that ends in {', '.join(SUFFIXES)}, "
            "a folder of such files, or hf:OWNER/NAME"
        )
    return (path,)


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"data set {str(path)!r}: not gzip ({error}); fetch it again") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise BadInput(f"data set {str(path)!r}: {reason}; name a file that is there") from error


# -- formats -----------------------------------------------------------------------------------

_Reader = Callable[[bytes, str, Collection[str] | None], Iterator[Row]]


def _parse(name: str) -> _Reader:
    if name.endswith(".parquet"):
        return _parquet
    return _tsv if name.endswith(".tsv") else _jsonl


def _jsonl(content: bytes, label: str, columns: Collection[str] | None) -> Iterator[Row]:
    # Only line feeds separate: a text may hold any other line separator Unicode knows.
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"{label}, line {number}"
        try:
            fields = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise BadInput(f"{place}: not JSON ({error.msg}); write one object a line") from error
        if not isinstance(fields, dict):
            raise BadInput(f"{place}: not a JSON object; write one object a line")
        yield Row(place=place, fields=_kept(fields, columns))


def _tsv(content: bytes, label: str, columns: Collection[str] | None) -> Iterator[Row]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{label}: not UTF-8 ({error.reason}); convert it") from error
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    try:
        for fields in reader:
            place = f"{label}, line {reader.line_num}"
            if None in fields or None in fields.values():
                raise BadInput(f"{place}: not as many cells as the first line; correct the row")
            yield Row(place=place, fields=_kept(fields, columns))
    except csv.Error as error:
        raise BadInput(f"{label}, line {reader.line_num}: {error}; correct the row") from error


def _parquet(content: bytes, label: str, columns: Collection[str] | None) -> Iterator[Row]:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise Infrastructure(
            f"{label}: Parquet is read by pyarrow: pip install 'discernmem[data]', "
            "or give the rows as JSON Lines"
        ) from None
    invalid = import_module("pyarrow").ArrowException
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        names = [name for name in file.schema_arrow.names if columns is None or name in columns]
        found = file.read(columns=names).to_pylist()
    except (invalid, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"{label}: not Parquet ({reason}); fetch it again") from error
    for number, fields in enumerate(found, start=1):
        yield Row(place=f"{label}, row {number}", fields=fields)


def _kept(fields: Mapping[str, Any], columns: Collection[str] | None) -> Mapping[str, Any]:
    if columns is None:
        return fields
    return {name: value for name, value in fields.items() if name in columns}
