"""What is told of a target that failed: never what is secret."""

from __future__ import annotations

import logging
from collections.abc import Callable

from trunkline.egress.opening import Secret
from trunkline.engine.runner.masking import masked_traceback, masker
from trunkline.model.egress import Target

log = logging.getLogger("trunkline.egress")


def note_bug(target: Target, secrets: Secret, error: Exception) -> str:
    """Log an error that a target has no words for, with where it is; one line that names it."""
    shown = masked_traceback(error, _values(target, secrets))
    log.error("the target %s (%s) met a bug:\n%s", target.name, target.kind, shown)
    return f"A bug in the target: {type(error).__name__}."


def mask_of(target: Target, secrets: Secret) -> Callable[[str], str]:
    return masker(_values(target, secrets))


def _values(target: Target, secrets: Secret) -> dict[str, str]:
    return {name: secrets(name) or "" for _, name in target.secrets}
