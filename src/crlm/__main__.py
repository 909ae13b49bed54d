"""``python -m crlm`` is the command ``crlm``."""

import sys

from crlm.cli import main

sys.exit(main())
