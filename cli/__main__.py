"""``python -m discernmem.cli``."""

from . import main

main()
