r"""The paper's theorems as functions: as printed, corrected, and sharp.

Natural logarithms throughout, the paper's symbols, results cited by LaTeX label. The statements
and their proofs, and what in the paper had to be mended, are in docs/theory.md.

>>> from crlm import theory
>>> theory.guarantee(1000, 20, 0.01, 1.0, sigma_max=2.5, D=60.0).weakest
'size'
"""

from __future__ import annotations

from crlm.theory.assumptions import Assumptions, assumptions
from crlm.theory.centers import (
    CenterRate,
    center_bound,
    center_rate,
    center_tail,
    sigma_interval,
)
from crlm.theory.conditions import Conditions, conditions
from crlm.theory.geometry import log_kummer_m1, log_lens, log_q, log_q2
from crlm.theory.guarantees import Guarantee, guarantee
from crlm.theory.landmarks import (
    candidate_weight,
    landmark_conditional,
    landmark_guarantee,
    plan_candidates,
    plan_landmarks,
)
from crlm.theory.margins import Margin
from crlm.theory.plan import (
    SigmaMaxInterval,
    adaptive_G,
    log_max_n,
    max_n,
    plan_n,
    plan_weight,
    points_per_cluster,
    sigma_max_interval,
)
from crlm.theory.sharp import log_small
from crlm.theory.tails import (
    chi2_logisf,
    chi2_logsf,
    chi2_logsf_chernoff,
    log_binom_ge,
    log_binom_le,
    log_fail_iid,
    ncx2_logcdf,
    ncx2_logcdf_chernoff,
)

__all__ = [
    "Assumptions",
    "CenterRate",
    "Conditions",
    "Guarantee",
    "Margin",
    "SigmaMaxInterval",
    "adaptive_G",
    "assumptions",
    "candidate_weight",
    "center_bound",
    "center_rate",
    "center_tail",
    "chi2_logisf",
    "chi2_logsf",
    "chi2_logsf_chernoff",
    "conditions",
    "guarantee",
    "landmark_conditional",
    "landmark_guarantee",
    "log_binom_ge",
    "log_binom_le",
    "log_fail_iid",
    "log_kummer_m1",
    "log_lens",
    "log_max_n",
    "log_q",
    "log_q2",
    "log_small",
    "max_n",
    "ncx2_logcdf",
    "ncx2_logcdf_chernoff",
    "plan_candidates",
    "plan_landmarks",
    "plan_n",
    "plan_weight",
    "points_per_cluster",
    "sigma_interval",
    "sigma_max_interval",
]
