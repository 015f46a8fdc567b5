"""Chat messages to one prompt, by the model's own template."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ....eventlog.codec import digest
from ....eventlog.errors import BadInput
from ..base import Message
from ..cards import clean

# Part of the digest: what this module does to messages besides running the template.
_RULE = "control tokens spelled out in a message are broken up; no clock; 1"


class ChatTemplate:
    """A compiled chat template.

    Templates come with the model file, so they run in a sandbox; they get no clock, since a
    prompt that carries today's date can never be asked again.
    """

    def __init__(self, source: str, *, bos: str, eos: str, control: Sequence[str]) -> None:
        """Compile a template.

        Args:
            source: Jinja template in the form the GGUF carries it.
            bos: text of the token a sequence begins with, or empty.
            eos: text of the token a sequence ends with, or empty.
            control: texts of all control tokens of the vocabulary.

        Raises:
            BadInput: the template cannot be compiled.
        """
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _refuse
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise BadInput(f"the chat template cannot be compiled: {error}") from None
        self._tokens = {"bos_token": bos, "eos_token": eos}
        spelled = sorted((text for text in control if len(text) > 1), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, spelled))) if spelled else None
        self.digest = digest(f"{_RULE}\0{source}".encode())

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt for an answer to these messages.

        Raises:
            BadInput: the template refuses the messages, for example a role it does not know.
        """
        plain = [{"role": item.role, "content": self._as_data(item.content)} for item in messages]
        try:
            return self._template.render(messages=plain, add_generation_prompt=True, **self._tokens)
        except (jinja2.TemplateError, TypeError) as error:
            raise BadInput(f"the chat template refuses the messages: {error}") from None

    def _as_data(self, text: str) -> str:
        """Text that cannot end its own message: a spelled-out control token becomes words."""
        text = clean(text)
        if self._control is None:
            return text
        return self._control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)


def _tojson(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
