"""``python -m crlm`` is the command ``crlm``."""

import sys


def main() -> int:
    """Run the command; an interrupt while it is still being imported ends it quietly too."""
    try:
        from crlm.cli import main as run
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
