"""The vocabulary: every fact a run can record, one frozen class each.

An *observed* event is what the world answered and cannot be recomputed. A *derived* event is what
the rules of `decisions/` concluded from observed ones; replay recomputes it and compares.
References of the form ``§3.2``, ``Eq. 9``, ``A.1`` are to the paper.

Conventions shared by all payloads:

- ``task`` is a task id, ``memory`` a memory id (``m17``), ``version`` a body version from 1.
- ``request`` is the digest of everything that could change the answer; an observation's stream
  *is* its request, so an equal request is found again by its stream.
- a field of type `BlobRef` names a text or array in ``blobs`` by the SHA-256 of its content.
- ``evidence`` lists the ids of further events a conclusion rests on, besides its direct cause.
- ``fallback`` is empty when the model's answer was used, else why every attempt was unusable.
- ``replies`` are digests of the model's texts a decision read, in the order of the attempts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NewType, TypeVar, dataclass_transform

import attrs

BlobRef = NewType("BlobRef", str)

Kind = Literal["observed", "derived"]
Sign = Literal["positive", "negative", "neutral"]
Label = Literal["CONTENT", "SCOPE", "NONE"]
State = Literal["provisional", "active", "inactive"]
ConditionKind = Literal["use_when", "avoid_when"]
ConditionSource = Literal["scope check", "generalisation", "override"]
Origin = Literal["reuse", "attachment", "calibration"]
LifecycleRule = Literal[
    "failed repair",
    "new version",
    "promotion",
    "sustained harm",
    "ineffectiveness",
    "revival",
    "override",
]
OverrideAction = Literal["retire", "revive", "edit", "add-avoid", "add-use", "withdraw-condition"]
RepairKind = Literal["reuse", "calibration"]
RepairOutcome = Literal["committed", "failed", "kept"]
Operation = Literal["ADD", "REPLACE", "DELETE", "REORDER"]
DefectType = Literal[
    "missing_step",
    "wrong_condition",
    "wrong_order",
    "unexecutable_action",
    "missing_progress_check",
    "wrong_stop_condition",
]


class Event:
    """Base of all events; subclasses are frozen attrs classes made by `event`."""

    KIND: ClassVar[Kind]
    STREAM: ClassVar[str]
    SCHEMA_VERSION: ClassVar[int]

    @property
    def stream(self) -> str:
        """The stream this event belongs to, for example ``memory:m3``."""
        return self.STREAM.format_map(self.__dict__)


EVENT_TYPES: dict[str, type[Event]] = {}

E = TypeVar("E", bound=type[Event])


@dataclass_transform(kw_only_default=True, frozen_default=True)
def event(kind: Kind, *, stream: str, schema_version: int = 1) -> Callable[[E], E]:
    """Make a class a frozen event of the vocabulary.

    Args:
        kind: whether the world answered it or the rules concluded it.
        stream: format of the stream id over the event's own fields.
        schema_version: version of the payload's shape; raising it asks for an upcaster.
    """

    def decorate(cls: E) -> E:
        made = attrs.frozen(kw_only=True, slots=False)(cls)
        made.KIND = kind
        made.STREAM = stream
        made.SCHEMA_VERSION = schema_version
        EVENT_TYPES[made.__name__] = made
        return made

    return decorate


# -- values used inside payloads ---------------------------------------------------------------


@attrs.frozen(kw_only=True, slots=False)
class MessageRef:
    """One chat message of a request: its chat role and the blob of its content."""

    role: str
    content: BlobRef


@attrs.frozen(kw_only=True, slots=False)
class Injected:
    """A memory as it was handed out: identity, version, the role that received it.

    ``body`` is the start of the SHA-256 of the rule, since a repair candidate is tried under its
    parent's identity and version.
    """

    memory: str
    version: int
    role: str
    body: str


@attrs.frozen(kw_only=True, slots=False)
class Candidate:
    """A memory considered for retrieval or identity, with its cosine similarity (6 decimals)."""

    memory: str
    similarity: float


@attrs.frozen(kw_only=True, slots=False)
class Comparison:
    """The three scores of one validation task and the margins of Eq. 15 (9 decimals).

    ``gamma`` is candidate minus parent, ``beta`` candidate minus no memory.
    """

    task: str
    purpose: Literal["trigger", "retention", "related", "calibration"]
    candidate: float
    parent: float
    none: float
    gamma: float
    beta: float


@attrs.frozen(kw_only=True, slots=False)
class Capability:
    """A correction a past repair achieved and the related tasks that validated it (Eq. 11)."""

    id: str
    correction: str
    tasks: tuple[str, ...]


# -- observed ----------------------------------------------------------------------------------


@event("observed", stream="run:{run}")
class RunStarted(Event):
    """A run began: everything that was fixed for all of it.

    ``config`` is the whole configuration as plain JSON; ``model`` and ``embedder`` describe what
    answered and carry the fingerprints that enter request digests; ``stream_digest`` is over all
    tasks in order; ``decision_version`` names the rules and prompts that derived events came from.
    """

    run: str
    config: dict[str, Any]
    host: dict[str, Any]
    benchmark: dict[str, Any]
    model: dict[str, Any]
    embedder: dict[str, Any]
    stream_digest: str
    tasks: int
    decision_version: str
    software: dict[str, str]


@event("observed", stream="fork:{origin}")
class RunForked(RunStarted):
    """The log goes on, from a copy of the beginning of another one, as another run might have.

    ``origin`` is the id of the log that was copied up to ``position``, where its chain had the
    hash ``hash`` (hex); ``path`` is where it was found, for people and for going on. ``changed``
    holds the options that differ from there on, by their dotted names; the inherited fields are
    those of the whole configuration in force now.
    """

    origin: str
    position: int
    hash: str
    path: str
    changed: dict[str, Any]


@event("observed", stream="memory:{memory}")
class MemoryOverridden(Event):
    """A person decided about a memory between two tasks; what follows from it is derived.

    ``version`` and ``body`` (SHA-256 of the rule) are the memory as it was decided about. ``text``
    is the new body of an edit or the condition added or withdrawn, ``kind`` the condition's; both
    are empty where the action has none.
    """

    memory: str
    version: int
    body: str
    action: OverrideAction
    kind: ConditionKind | None
    text: str
    reason: str
    by: str


@event("observed", stream="task:{index}")
class TaskStarted(Event):
    """The stream handed out its ``index``-th task (from 1), as the team will read it."""

    index: int
    task: str
    domain: str
    text: BlobRef


@event("observed", stream="request:{request}")
class ContextObserved(Event):
    """What a role had seen just before its first call in a task: no memory text (§3.3)."""

    request: str
    task: str
    role: str
    context: BlobRef


@event("observed", stream="request:{request}", schema_version=2)
class ModelReplied(Event):
    """A model's answer to one request.

    ``purpose`` is ``role`` for a team member's turn, else the name of the LLM decision;
    exactly one of ``text`` and ``text_blob`` is set, the latter for long answers. ``schema`` is
    the blob of the JSON schema the answer was constrained to.
    """

    request: str
    purpose: str
    role: str | None
    messages: tuple[MessageRef, ...]
    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    schema: BlobRef | None
    text: str | None
    text_blob: BlobRef | None
    finish: str
    prompt_tokens: int
    completion_tokens: int


@event("observed", stream="request:{request}")
class TextEmbedded(Event):
    """The embedding of one text: ``vector`` is a blob of little-endian float32, unit length."""

    request: str
    text: BlobRef
    dimensions: int
    vector: BlobRef


@event("observed", stream="request:{request}")
class PassagesFound(Event):
    """What a search answered: ``passages`` is a blob of canonical JSON, titles with texts."""

    request: str
    query: str
    k: int
    passages: BlobRef


@event("observed", stream="request:{request}", schema_version=2)
class ExecutionFinished(Event):
    """A team ran on a task under exactly the memories ``supplied`` and was scored.

    ``trajectory`` is a blob of canonical JSON: the steps with their ids; ``contexts`` likewise,
    role to pre-action context. ``metrics`` are the benchmark's other figures; ``grading`` says in
    words how the score came about (which sandbox was in force, why a program failed).
    """

    request: str
    task: str
    supplied: tuple[Injected, ...]
    score: float
    metrics: dict[str, float]
    grading: dict[str, str]
    trajectory: BlobRef
    contexts: BlobRef
    environment_steps: int
    model_calls: int


# -- derived: solving and scoring --------------------------------------------------------------


@event("derived", stream="task:{index}")
class MemoriesRetrieved(Event):
    """Eligible memories of a role by cosine with its observed context (Eq. 13)."""

    index: int
    task: str
    role: str
    context: BlobRef
    candidates: tuple[Candidate, ...]


@event("derived", stream="task:{index}")
class SelectionDecided(Event):
    """The relevance selector picked among the retrieved; similarity order is kept (A.3)."""

    index: int
    task: str
    role: str
    selected: tuple[str, ...]
    unknown: tuple[str, ...]
    fallback: str
    replies: tuple[str, ...]
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class MemorySupplied(Event):
    """A memory was injected into the scored execution of a task (a member of U_t)."""

    memory: str
    version: int
    role: str
    task: str
    similarity: float


@event("derived", stream="task:{index}")
class TaskScored(Event):
    """The original score s_t of a task; no later event changes it (Eq. 1)."""

    index: int
    task: str
    score: float
    execution: str
    supplied: tuple[Injected, ...]


# -- derived: assessing a use ------------------------------------------------------------------


@event("derived", stream="memory:{memory}")
class EffectMeasured(Event):
    """The paired effect of a memory on a task, with against without (Eq. 4).

    ``changed`` says whether the pair differs in score or trajectory (A.1, ineffectiveness).
    """

    memory: str
    version: int
    task: str
    origin: Origin
    score_with: float
    score_without: float
    effect: float
    sign: Sign
    changed: bool
    execution_with: str
    execution_without: str
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class ScopeChecked(Event):
    """Whether the observed contexts satisfied the memory's conditions (Eq. 5).

    ``context`` is what was checked: the pre-action context of the role that received the memory, or
    for an attachment one made of the task and the proposal.
    """

    memory: str
    version: int
    task: str
    context: BlobRef
    use: bool
    avoid: bool
    boundary: str
    fallback: str
    replies: tuple[str, ...]
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class ContentDiagnosed(Event):
    """What the diagnosis of a harmful in-scope use named, and whether it is supported (§3.2)."""

    memory: str
    version: int
    task: str
    defect: str
    description: str
    cited: tuple[str, ...]
    supported: bool
    problem: str
    fallback: str
    replies: tuple[str, ...]
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class UseAttributed(Event):
    """The label of one use (Eq. 6) with the row of the table that gave it."""

    memory: str
    version: int
    task: str
    label: Label
    reason: str


@event("derived", stream="memory:{memory}")
class EffectRecorded(Event):
    """An effect entered the record E of a version; each task counts once per version.

    ``context`` is the context the scope check read; null when no scope check answered, as in
    calibration, which makes none.
    """

    memory: str
    version: int
    task: str
    origin: Origin
    effect: float
    sign: Sign
    label: Label
    avoid: bool
    changed: bool
    context: BlobRef | None


@event("derived", stream="memory:{memory}")
class UseConditionsGeneralised(Event):
    """The generaliser read the contexts of the qualifying positive tasks T+ (Eq. 12)."""

    memory: str
    version: int
    tasks: tuple[str, ...]
    returned: tuple[str, ...]
    fallback: str
    replies: tuple[str, ...]
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class ConditionAdded(Event):
    """A condition joined the scope; rules only ever add (Eq. 12), a person may, too."""

    memory: str
    version: int
    kind: ConditionKind
    text: str
    source: ConditionSource


@event("derived", stream="memory:{memory}")
class ConditionWithdrawn(Event):
    """A condition left the scope, on a person's word: no rule ever takes one away."""

    memory: str
    version: int
    kind: ConditionKind
    text: str


@event("derived", stream="memory:{memory}")
class StateChanged(Event):
    """A lifecycle transition: the rule of A.1, or an override, and the events it rests on."""

    memory: str
    version: int
    before: State
    after: State
    rule: LifecycleRule
    evidence: tuple[str, ...]


# -- derived: repair ---------------------------------------------------------------------------


@event("derived", stream="memory:{memory}")
class RepairStarted(Event):
    """A repair began: its trigger and the validation sets, fixed over the rounds (Eq. 8).

    ``skipped`` are tasks nearer than the related ones on which nothing could be shown, parent and
    no memory both scoring the maximum; ``calibration`` is set for a calibration repair only.
    """

    memory: str
    version: int
    repair: str
    kind: RepairKind
    trigger: str
    retention: tuple[str, ...]
    related: tuple[str, ...]
    calibration: tuple[str, ...]
    skipped: tuple[str, ...]
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class RepairProposed(Event):
    """One round of the repair decision: how many edits it returned, or NO_UPDATE."""

    memory: str
    version: int
    repair: str
    round: int
    edits: int
    fallback: str
    replies: tuple[str, ...]
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class CandidateProposed(Event):
    """One local edit and the body it makes; ``problem`` says why it could not be made."""

    memory: str
    version: int
    repair: str
    round: int
    number: int
    operation: str
    anchor: str
    edit: str
    cited: tuple[str, ...]
    correction: str
    body: str
    problem: str


@event("derived", stream="memory:{memory}")
class CandidateJudged(Event):
    """A candidate's scores on the validation tasks and the gate's verdict (Eq. 9, 10, 16).

    ``rejected_by`` is the task whose comparison failed, empty when none did. ``worst_margin`` is
    null when there is no historical task (it then counts as infinite in the ranking).
    """

    memory: str
    version: int
    repair: str
    round: int
    number: int
    comparisons: tuple[Comparison, ...]
    failures: int
    parent_failures: int
    accepted: bool
    improving: bool
    trigger_gain: float
    worst_margin: float | None
    distance: int
    rejected_by: str
    reason: str
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class MemoryRevised(Event):
    """A memory has a new body version, provisional and with no effects (Eq. 11).

    ``repair`` names the repair that was committed, with the ``round`` and ``number`` of the
    candidate; it is empty, and they are 0, when a person edited the body.
    """

    memory: str
    version: int
    body: str
    repair: str
    round: int
    number: int
    capability: Capability | None


@event("derived", stream="memory:{memory}")
class RepairEnded(Event):
    """A repair ended: committed, failed (reuse-triggered), or kept (calibration)."""

    memory: str
    version: int
    repair: str
    outcome: RepairOutcome
    rounds: int


# -- derived: new experience -------------------------------------------------------------------


@event("derived", stream="task:{index}")
class ExtractionDecided(Event):
    """What a role's trajectory taught: at most one rule, or an abstention (§3.1)."""

    index: int
    task: str
    role: str
    store: bool
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    fallback: str
    replies: tuple[str, ...]
    evidence: tuple[str, ...]


@event("derived", stream="task:{index}")
class IdentityJudged(Event):
    """Whether a proposal is a memory the role already has (Eq. 3)."""

    index: int
    task: str
    role: str
    candidates: tuple[Candidate, ...]
    matched: str
    reason: str
    fallback: str
    replies: tuple[str, ...]
    evidence: tuple[str, ...]


@event("derived", stream="memory:{memory}")
class MemoryAdmitted(Event):
    """A proposal became a provisional memory, version 1."""

    memory: str
    role: str
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    source_task: str
    source_execution: str


@event("derived", stream="memory:{memory}")
class ExperienceAttached(Event):
    """A proposal was recognised as this memory; ``note`` says why no replay followed, if none."""

    memory: str
    version: int
    task: str
    body: str
    use_when: tuple[str, ...]
    avoid_when: tuple[str, ...]
    note: str


@event("derived", stream="memory:{memory}")
class CalibrationDrawn(Event):
    """The earlier tasks a new memory is tried on (A.2)."""

    memory: str
    version: int
    tasks: tuple[str, ...]


# -- derived: ends of things -------------------------------------------------------------------


@event("derived", stream="task:{index}")
class TaskCompleted(Event):
    """The cycle of a task ended; the fold up to here is the store M_{t+1}.

    ``executions_asked`` is the number of team executions the plain algorithm makes for this task.
    """

    index: int
    task: str
    score: float
    executions_asked: int


@event("derived", stream="run:{run}")
class StoreCheckpointed(Event):
    """SHA-256 of the canonical store state after a task, so that every log checks itself."""

    run: str
    index: int
    state_version: int
    state_hash: str


@event("derived", stream="run:{run}")
class RunFinished(Event):
    """The stream ended: tasks done and the mean of their original scores (Eq. 1)."""

    run: str
    tasks: int
    mean_score: float


DERIVED = tuple(name for name, cls in EVENT_TYPES.items() if cls.KIND == "derived")
"""The names of the derived event types."""
