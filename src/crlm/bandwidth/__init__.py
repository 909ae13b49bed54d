"""Which bandwidth to take: one for all clusters, or one for each.

In the order of reading: :mod:`~crlm.bandwidth.sigma` chooses one for all, from what
:mod:`~crlm.bandwidth.radii` finds among the references at each radius, or
:mod:`~crlm.bandwidth.rare` among all rows from :mod:`~crlm.bandwidth.near`;
:mod:`~crlm.bandwidth.histogram` is the paper's rule. Where one does not suit all,
:mod:`~crlm.bandwidth.tight` finds groups that keep wholly to themselves,
:mod:`~crlm.bandwidth.extent` asks how far each other cluster reaches,
:mod:`~crlm.bandwidth.own` draws the balls of both among all rows, and in few dimensions
:mod:`~crlm.bandwidth.closer` looks for narrower ones.
"""
