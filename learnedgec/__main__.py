"""`python -m learnedgec COMMAND …`, the command line without its script."""

from learnedgec.cli.main import run

run()
