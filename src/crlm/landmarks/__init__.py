"""Fits with a random subset of rows as candidate centres, for data beyond memory or one machine.

::

    source --> survey: n, box, rows of smallest key       pass 1
                 |       (the bandwidth and the background are learnt from some of them)
                 v
               groups: rows by their near landmarks        pass 2
                 |
                 v
               greedy loop over LandmarkGraph
                 |
                 v
               tally: labels, counts, means, sigmas        pass 3

Each pass turns some rows into a small result, and results add up to the same in any order. So
threads, blocks, files, shards and machines change no bit. `passes` does it here, `crlm.dask` on a
cluster.
"""
