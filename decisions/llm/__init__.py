"""The seven LLM decisions: prompts, schemas, readers and fallbacks, all pure (§10, Appendix E)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .decision import Decision, Prompt, parse, reask
from .diagnosis import DIAGNOSIS, Diagnosis, DiagnosisFacts
from .extraction import EXTRACTION, Extraction, ExtractionFacts
from .facts import Listed, Step
from .generalisation import GENERALISATION, GeneralisationFacts
from .identity import IDENTITY, Identity, IdentityFacts
from .parsing import Problem, extract_object
from .repair import REPAIR, Feedback, RepairFacts
from .scope import SCOPE, ScopeFacts
from .selection import SELECTION, Selection, SelectionFacts

DECISIONS: Mapping[str, Decision[Any, Any]] = MappingProxyType(
    {
        decision.name: decision
        for decision in (
            EXTRACTION,
            IDENTITY,
            SELECTION,
            SCOPE,
            DIAGNOSIS,
            GENERALISATION,
            REPAIR,
        )
    }
)
"""All seven by name, in the order of the paper's appendix."""

__all__ = [
    "DECISIONS",
    "DIAGNOSIS",
    "EXTRACTION",
    "GENERALISATION",
    "IDENTITY",
    "REPAIR",
    "SCOPE",
    "SELECTION",
    "Decision",
    "Diagnosis",
    "DiagnosisFacts",
    "Extraction",
    "ExtractionFacts",
    "Feedback",
    "GeneralisationFacts",
    "Identity",
    "IdentityFacts",
    "Listed",
    "Problem",
    "Prompt",
    "RepairFacts",
    "ScopeFacts",
    "Selection",
    "SelectionFacts",
    "Step",
    "extract_object",
    "parse",
    "reask",
]
