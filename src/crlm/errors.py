"""What can go wrong, in words a user can act on.

Every message says what was given, what is wrong with it and how to mend it.
"""

from __future__ import annotations


class CRLMError(Exception):
    """Base of every error that crlm raises on purpose."""


class ParameterError(CRLMError, ValueError):
    """A parameter is out of its range, or two parameters do not go together."""


class InputError(CRLMError, ValueError):
    """The data cannot be used as they are."""


class OutputError(CRLMError, OSError):
    """A result cannot be written where it was asked for."""


class MissingExtraError(CRLMError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, purpose: str, *, package: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed. Install it: "
            f"pip install 'crlm[{extra}]'"
        )


class MemoryLimitError(CRLMError, MemoryError):
    """The work would take more memory than `memory_limit` allows."""


class CRLMWarning(UserWarning):
    """Base of every warning that crlm gives."""


class WeakEvidenceWarning(CRLMWarning):
    """The data do not say clearly which bandwidth is right; a best guess was used."""


class TooSmallWarning(CRLMWarning):
    """What differs from background is smaller than `min_cluster_size`."""


class TooLargeWarning(CRLMWarning):
    """A ball holds most rows, so that there is too little background to compare it with."""


class DiskFullError(OutputError):
    """There is no room for a result; what was there before is untouched."""
