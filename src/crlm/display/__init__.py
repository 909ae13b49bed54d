"""Pictures. A display holds numbers; drawing them is separate and needs matplotlib."""

from __future__ import annotations

from crlm.display.certificate import CertificateDisplay
from crlm.display.gallery import GalleryDisplay
from crlm.display.histogram import SigmaHistogramDisplay
from crlm.display.map import ClusterMapDisplay
from crlm.display.region import AdmissibleRegionDisplay
from crlm.display.sweep import SweepDisplay

__all__ = [
    "AdmissibleRegionDisplay",
    "CertificateDisplay",
    "ClusterMapDisplay",
    "GalleryDisplay",
    "SigmaHistogramDisplay",
    "SweepDisplay",
]
