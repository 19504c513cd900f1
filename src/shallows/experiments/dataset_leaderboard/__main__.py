"""Print the path of the page of a dataset's leaderboard: python -m ... adult --scale laptop."""

from __future__ import annotations

import argparse
import sys

from shallows.errors import ShallowsError

from ..planning.configuration import SCALES
from ..planning.plan import Plan
from .board import Leaderboards


def main() -> None:
    """Find the dataset by any of its names, or say why it has no leaderboard."""
    parser = argparse.ArgumentParser(prog="make leaderboard", description="Print the path of a leaderboard's page.")
    parser.add_argument("dataset", nargs="?", help="a dataset of data/README.md, by its name there or in a paper")
    parser.add_argument("--scale", choices=SCALES, default=SCALES[0])
    given = parser.parse_args()
    if given.dataset is None:
        parser.error("say which dataset: make leaderboard DATASET=mnist SCALE=laptop (data/README.md lists them)")
    try:
        plan = Plan.load()
        boards = Leaderboards(plan.configuration, plan.catalogue)
        print(boards.page(given.scale, boards.find(given.scale, given.dataset).name))
    except ShallowsError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
