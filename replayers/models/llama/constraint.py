"""A JSON schema as a limit on the next token; what cannot be enforced is refused."""

from __future__ import annotations

import ctypes
import functools
import json
import warnings
from collections.abc import Mapping
from importlib import import_module, metadata
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ....eventlog.errors import BadInput, Infrastructure
from .runtime import Runtime

# Written as json.dumps writes it: what models have seen most, and no room for running blanks.
_LAYOUT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}

# Keywords the GBNF converter enforces, and those that ask nothing. It drops others silently.
_GBNF_KEYWORDS = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "$defs",
        "definitions",
        "$ref",
        "title",
        "description",
        "$schema",
        "$comment",
        "examples",
        "default",
    }
)
_HINT = "install llguidance (pip install 'discernmem[llama]') or simplify the schema"


class Constraint(Protocol):
    """The state of one constrained answer."""

    def mask(self, logits: NDArray[np.float32]) -> None:
        """Set the logits of tokens that may not come next to ``-inf``, in place."""
        ...

    def accept(self, token: int) -> bool:
        """Advance by a chosen token; True when the answer is complete and nothing may follow."""
        ...


class ConstraintEngine(Protocol):
    """Compiles schemas for one model; ``name`` says which engine and version."""

    name: str

    def compile(self, schema: Mapping[str, Any]) -> Constraint:
        """A constraint for one answer.

        Raises:
            BadInput: the schema cannot be enforced in full.
        """
        ...


def open_engine(runtime: Runtime) -> ConstraintEngine:
    """llguidance where it is installed, llama.cpp's own grammars otherwise."""
    try:
        return GuidanceEngine(runtime)
    except ImportError:
        return GbnfEngine(runtime)


# -- llguidance --------------------------------------------------------------------------------


class GuidanceEngine:
    """Schemas through llguidance, which knows lengths, ranges and patterns."""

    def __init__(self, runtime: Runtime) -> None:
        """Find llguidance; its view of the vocabulary is built at the first schema.

        Raises:
            ImportError: llguidance is not installed.
        """
        self._guidance = import_module("llguidance")
        self._runtime = runtime
        self.name = f"llguidance {metadata.version('llguidance')}; {json.dumps(_LAYOUT)}"

    @functools.cached_property
    def _tokenizer(self) -> Any:
        make = import_module("llguidance.llamacpp").lltokenizer_from_vocab
        with warnings.catch_warnings():
            # It calls a function of llama.cpp by its old name.
            warnings.simplefilter("ignore", DeprecationWarning)
            return make(self._runtime.vocab, n_vocab=self._runtime.vocab_size)

    def compile(self, schema: Mapping[str, Any]) -> Constraint:
        """See `ConstraintEngine`."""
        matcher_type = self._guidance.LLMatcher
        try:
            grammar = matcher_type.grammar_from_json_schema(
                json.dumps(schema), defaults=_LAYOUT, overrides={"lenient": False}
            )
        except ValueError as error:
            raise BadInput(f"the answer schema cannot be enforced: {error}") from None
        matcher = matcher_type(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            reason = matcher.get_error().splitlines()[0]
            raise BadInput(f"the answer schema cannot be enforced: {reason}")
        return _GuidanceConstraint(matcher)


class _GuidanceConstraint:
    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def mask(self, logits: NDArray[np.float32]) -> None:
        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        allowed = np.unpackbits(bits, bitorder="little")[: logits.size]
        logits[allowed == 0] = -np.inf

    def accept(self, token: int) -> bool:
        self._matcher.consume_token(token)
        if self._matcher.is_error():
            reason = self._matcher.get_error().splitlines()[0]
            raise Infrastructure(f"llguidance lost the answer schema: {reason}")
        return bool(self._matcher.is_stopped())


# -- GBNF --------------------------------------------------------------------------------------


class GbnfEngine:
    """Schemas through llama.cpp's grammars: slower on large vocabularies, fewer keywords."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.name = "gbnf"

    def compile(self, schema: Mapping[str, Any]) -> Constraint:
        """See `ConstraintEngine`."""
        if unknown := _unenforced(schema):
            raise BadInput(
                f"the answer schema uses {unknown!r}, which llama.cpp grammars drop; {_HINT}"
            )
        convert = import_module("llama_cpp.llama_grammar").json_schema_to_gbnf
        try:
            grammar = convert(json.dumps(schema))
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            raise BadInput(f"the answer schema has no grammar: {error}; {_HINT}") from None
        return _GbnfConstraint(self._runtime, grammar)


def _unenforced(schema: object) -> str | None:
    """The first keyword of a schema that a grammar would not enforce."""
    if not isinstance(schema, Mapping):
        return None
    for keyword, value in schema.items():
        if keyword not in _GBNF_KEYWORDS:
            return str(keyword)
        if keyword == "$ref" and not str(value).startswith("#/"):
            return f"$ref {value}"
        nested: list[object] = []
        if keyword in ("properties", "$defs", "definitions") and isinstance(value, Mapping):
            nested = list(value.values())
        elif keyword in ("items", "additionalProperties"):
            nested = [value]
        elif keyword in ("prefixItems", "anyOf", "oneOf") and isinstance(value, list):
            nested = value
        for part in nested:
            if found := _unenforced(part):
                return found
    return None


class _GbnfConstraint:
    def __init__(self, runtime: Runtime, grammar: str) -> None:
        self._runtime = runtime
        self._library = lib = runtime.library
        self._sampler = lib.llama_sampler_init_grammar(runtime.vocab, grammar.encode(), b"root")
        if not self._sampler:
            raise BadInput(f"llama.cpp refuses the grammar of the answer schema; {_HINT}")
        token = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        self._candidates = np.zeros(runtime.vocab_size, dtype=token)

    def __del__(self) -> None:
        if self._sampler:
            self._library.llama_sampler_free(self._sampler)

    def mask(self, logits: NDArray[np.float32]) -> None:
        lib, rows = self._library, self._candidates
        rows["id"] = np.arange(rows.size)
        rows["logit"] = logits
        data = rows.ctypes.data_as(ctypes.POINTER(lib.llama_token_data))
        array = lib.llama_token_data_array(data, rows.size, -1, False)
        lib.llama_sampler_apply(self._sampler, ctypes.byref(array))
        logits[rows["id"]] = rows["logit"]

    def accept(self, token: int) -> bool:
        # Unlike llguidance, a finished grammar allows nothing but an end token, which the
        # generation loop sees by itself; a grammar must not be fed one.
        if not self._runtime.is_end(token):
            self._library.llama_sampler_accept(self._sampler, token)
        return False
