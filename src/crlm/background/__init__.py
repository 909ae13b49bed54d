"""What a background looks like, and whether something in the data is more than that.

In the order of reading: :mod:`~crlm.background.references` are the rows to measure against,
:mod:`~crlm.background.growth` is how many of them come in sight as a ball grows (with
:mod:`~crlm.background.shells` and, in few dimensions, :mod:`~crlm.background.sides`),
:mod:`~crlm.background.rest` learns that without what looks like clusters, and
:mod:`~crlm.background.significance` asks whether a ball is more than chance. Whether there is
anything at all is asked of :mod:`~crlm.background.decoys` too: :mod:`~crlm.background.inflation`
says how surprising a ball of theirs is, :mod:`~crlm.background.kinship` how far all their rows keep
to themselves (:mod:`~crlm.background.closure`).
"""
