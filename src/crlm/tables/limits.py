"""Sizes that a file declares, checked before anything is allocated for them."""

from __future__ import annotations

from crlm.errors import InputError, MemoryLimitError

SMALL = 2**26  # bytes that need no justification
MOST = 4096  # times its size that a file may hold; deflate reaches 1032


def check_declared(n_bytes: float, stored: int, source: str) -> None:
    """Refuse a file that claims to hold far more than its size can, or more than fits in memory.

    Parameters
    ----------
    n_bytes : float
        What reading it would allocate.
    stored : int
        Bytes in the file that are to hold it.
    source : str
        Its name.
    """
    if n_bytes <= SMALL:
        return
    if n_bytes > MOST * max(stored, 1):
        msg = (
            f"{source} is damaged: it claims to hold {n_bytes:,.0f} bytes in {stored:,}. "
            "Copy or save it again."
        )
        raise InputError(msg)
    from crlm.checks import check_memory_limit  # late: it knows the whole search

    free = check_memory_limit("auto")
    if n_bytes > free:
        msg = (
            f"{source} takes {n_bytes / 1e9:.1f} GB of memory, over half of what is free "
            f"({free / 1e9:.1f} GB). Save it as .npy, which is read in place."
        )
        raise MemoryLimitError(msg)
