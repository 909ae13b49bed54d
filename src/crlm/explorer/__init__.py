"""The explorer: a page on this machine to drag sigma_max and look.

::

    subject (rows, pictures, words)  --+
    engine (pairs, stops, answers)   --+--> session --> app (routes) --> guard --> serve
    notes (names, exclusions)        --+

Nothing leaves this machine: the server listens on loopback, and the page loads nothing from
elsewhere.
"""

from __future__ import annotations
