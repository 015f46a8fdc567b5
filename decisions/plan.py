"""How many team executions a task can cost, before any is made."""

from __future__ import annotations

from .settings import Settings


def worst_case(settings: Settings, roles: int) -> int:
    """Most executions the plain algorithm makes for one task of a team of ``roles``.

    Every injected memory is harmful and repaired over all rounds without success, except that a
    content defect stops extraction; or none is, and every role's proposal is admitted and its
    calibration repaired in vain, or attached and repaired.
    """
    supplied = roles * settings.k_inj if settings.k_ret else 0
    reuse_repair = _reuse_repair(settings)
    assessed = 1 + supplied if supplied else 0
    learning_from_uses = assessed + supplied * reuse_repair
    attached = 1 + reuse_repair
    admitted = 2 * settings.n2 + _candidates(settings) * settings.n2
    learning_from_experience = max(assessed, 1) + roles * max(attached, admitted)
    return 1 + max(learning_from_uses, learning_from_experience)


def _reuse_repair(settings: Settings) -> int:
    """Replays of one repair: parent and nothing on the history, candidates on all of V."""
    if not settings.validates_repairs:
        return 0
    tried = settings.n1 + (settings.related_tries if settings.n2 else 0)
    return 2 * tried + _candidates(settings) * (1 + settings.n1 + settings.n2)


def _candidates(settings: Settings) -> int:
    """Candidates of one repair that are replayed."""
    return settings.rounds * settings.candidates if settings.validates_repairs else 0
