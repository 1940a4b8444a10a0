"""Average evaluators that were trained with one configuration and several seeds, and package the mean.

    python scripts/average_evaluators.py mini-1 mini-2 mini-3 --config configs/some-mini.yaml --name mini

All other arguments are those of `learnedgec train` in these runs; their dev and test parts evaluate the mean.
"""

from __future__ import annotations

import argparse
import sys
from argparse import ArgumentError
from pathlib import Path

from learnedgec import Runtime
from learnedgec.errors import LearnedgecError
from learnedgec.training.averaging import average
from learnedgec.training.fit import training_data


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[-1]
    )
    parser.add_argument("evaluators", nargs="+", help="names or directories")
    parser.add_argument("--name", required=True, help="of the package")
    parser.add_argument("--output", type=Path, default=Path("checkpoints"))
    parser.add_argument(
        "--bits",
        type=int,
        choices=(16, 4),
        default=16,
        help="of a stored weight, whatever the configuration says",
    )
    options, words = parser.parse_known_args()
    try:
        data = training_data([*words, "--name", options.name])
        average(
            options.evaluators,
            options.output,
            options.name,
            data,
            bits=options.bits,
            runtime=Runtime(progress=True),
        )
    except (LearnedgecError, ArgumentError) as error:
        print(f"average_evaluators: {error}", file=sys.stderr)
        return 2
    print(f"The evaluator is in {options.output / options.name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
