"""``python -m lexmill.cli``: the command where no script is installed."""

from lexmill.cli import main

main()
