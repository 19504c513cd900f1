"""Writes docs/to_a_billion_points.md: what trainings take on how many cards, from measured constants.

    python benchmarks/road.py

The constants of the card were measured (CuPy 14.2, CUDA 13), those of network and disk come from data sheets.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "to_a_billion_points.md"
#: Bytes a second that a card sends (400 Gbit/s InfiniBand, data sheet), seconds of a message, bytes a second of a disk;
#: the last two are assumptions.
NETWORK, MESSAGE_SECONDS, DISK = 5.0e10, 5.0e-6, 2.0e9
#: Points of a batch where many cards share a step.
BATCH = 10_000
HOUR = 3600.0
#: Inputs up to which products are made in one pass, without a matrix.
FUSED_FEATURES = 32


@dataclass(frozen=True)
class Card:
    """Measured constants of a card."""

    title: str
    flops: float  # a second, of a large float32 product
    value_seconds: float  # elementwise work of a kernel value next to a product,
    fused_seconds: float  # and in one pass with it


H100 = Card("NVIDIA H100 80 GB", 4.8e13, 2.0e-11, 5.0e-12)


@dataclass(frozen=True)
class Training:
    """One training: n points of d inputs and c outputs, with m centers or random features, for some epochs."""

    name: str
    n: float
    d: int
    c: int
    m: float
    epochs: float = 1.0

    @property
    def pairs(self) -> float:
        """Kernel values, or features, of the whole training."""
        return self.epochs * self.n * self.m

    def arithmetic(self, card: Card) -> float:
        """Seconds of products on one card: distances or projections, values times coefficients, and the gradient."""
        return self.pairs * (2 * self.d + 4 * self.c) / card.flops

    def elementwise(self, card: Card) -> float:
        """Seconds of exponentials or cosines and of their memory traffic on one card."""
        return self.pairs * (card.fused_seconds if self.d <= FUSED_FEATURES else card.value_seconds)

    def network(self, cards: int) -> float:
        """Seconds of messages: each batch is sent to all cards, and its outputs are summed over them."""
        if cards == 1:
            return 0.0
        steps = self.epochs * self.n / BATCH
        return steps * (4 * BATCH * (self.d + 2 * self.c) / NETWORK + 2 * MESSAGE_SECONDS * math.log2(cards))

    def cards_for(self, card: Card, seconds: float) -> int | None:
        """The fewest cards that take no longer; None where the messages alone take longer."""
        work, cards = self.arithmetic(card) + self.elementwise(card), 1
        while work / cards + self.network(cards) > seconds:
            if self.network(cards) > seconds:
                return None
            rest = seconds - self.network(2 * cards)
            cards = max(cards + 1, math.ceil(work / rest) if rest > 0 else 2 * cards)
        return cards

    def bytes_on_a_card(self, cards: int) -> float:
        """Centres or frequencies with their coefficients, shared out, and two batches."""
        return 4 * (self.m * (self.d + self.c) / cards + 2 * BATCH * (self.d + self.c))


#: Trainings as large as the largest of the papers.
HEADLINES = [
    Training("EigenPro, MNIST-8M, every point a center, 10 epochs", 8.1e6, 784, 10, 8.1e6, 10),
    Training("EigenPro on 200,000 random features, MNIST-8M, 10 epochs", 8.1e6, 784, 10, 2e5, 10),
    # Each batch meets half of the features in the mean, since there is a block for each batch.
    Training("doubly SGD, ImageNet's 9,216 net features, one pass", 1.3e6, 9216, 1000, 0.5 * 1.3e6),
    Training("doubly SGD, MolecularSpace, one pass", 2.3e6, 2850, 1, 0.5 * 2.3e6),
    Training("CDSG, MNIST-8M, one pass, half the features", 8.1e6, 784, 10, 0.25 * 8.1e6),
    Training("kernel PCA by doubly SGD, 10 components, a million points", 1e6, 784, 10, 0.5e6),
]
BILLION = [
    Training("every point a center, one epoch", 1e9, 784, 10, 1e9),
    Training("a million centers, one epoch", 1e9, 784, 10, 1e6),
    Training("100,000 centers, one epoch", 1e9, 784, 10, 1e5),
    Training("100,000 random features, one epoch", 1e9, 784, 10, 1e5),
    Training("18 inputs, every point a center, one epoch", 1e9, 18, 1, 1e9),
    Training("18 inputs, a million centers, one epoch", 1e9, 18, 1, 1e6),
]


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 90:
        return f"{seconds:.2g} s"
    if seconds < 2 * HOUR:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / HOUR:,.0f} h" if seconds < 1000 * HOUR else f"{seconds / 24 / HOUR:,.0f} days"


def table(trainings: list[Training]) -> str:
    """A table in Markdown."""
    of_one = ("products, one card", "elementwise work, one card")
    rows = [("training", *of_one, "cards for an hour", "network between them", "memory of each")]
    for one in trainings:
        cards = one.cards_for(H100, HOUR)
        shown = cards or 1
        rows.append(
            (
                one.name,
                duration(one.arithmetic(H100)),
                duration(one.elementwise(H100)),
                f"{cards:,}" if cards else "no number is enough",
                duration(one.network(shown)) if shown > 1 else "none",
                f"{one.bytes_on_a_card(shown) / 1e9:.2g} GB",
            )
        )
    rows.insert(1, ("---", *["--:"] * 5))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page() -> str:
    """The page."""
    whole, million = BILLION[0], BILLION[1]
    products = whole.arithmetic(H100) / (whole.arithmetic(H100) + whole.elementwise(H100))
    parts = [
        "# The road to 10⁹ points",
        "<!-- benchmarks/road.py writes this page: change it there. -->",
        filled(
            f"""What would trainings as large as the papers' take today, and what would a billion points take? The
            numbers follow from constants that were measured on an {H100.title}: {H100.flops / 1e12:.0f} TFLOP/s of
            float32 products, {H100.value_seconds * 1e12:.0f} ps of elementwise work and traffic for a kernel value
            in addition to its product, and {H100.fused_seconds * 1e12:.0f} ps if at most {FUSED_FEATURES}
            inputs allow both in one pass. Nine measured runs were within a factor of 1.8 of such estimates. The
            network's constants come from a data sheet ({NETWORK / 1e9:.0f} GB/s a card) and an assumption
            ({MESSAGE_SECONDS * 1e6:.0f} µs a message); nothing was measured on
            several cards."""
        ),
        "## The formula",
        filled("An epoch meets each of n points with each of m centers (or random features). Each meeting costs"),
        filled(
            """*arithmetic*: 2 d operations for the distance (or projection) and 4 c for the prediction and the gradient
            of c outputs, at the product rate;""",
            "- ",
        ),
        filled("*bandwidth*: elementwise work, which goes with the card's memory more than with its arithmetic.", "- "),
        filled(
            f"""Cards share the centers. In each step the batch goes to all of them and its predictions are summed:
            4 · {BATCH:,} · (d + 2 c) bytes, and two messages for each doubling of the cards. That is the *network*. Its
            time hardly depends on the number of cards, so it limits the gain from more cards. The column
            *cards for an hour* has the smallest number of cards with which the training takes at most an hour: the
            work divided by the number of cards, plus the time of the network."""
        ),
        "## The papers' sizes",
        table(HEADLINES),
        "## A billion points",
        table(BILLION),
        filled(
            f"""With every point a center, {products:.0%} of the work is arithmetic and the rest bandwidth. Both grow
            with n², and the network is no limit. With a million centers the network takes
            {duration(million.network(2))} an epoch on two cards, and reading the points as bytes from a
            disk of {DISK / 1e9:.0f} GB/s takes {duration(million.n * million.d / DISK)}, while the work continues. So
            a billion points need fewer centers than points, or random features, and then several cards. Faster
            products alone would shorten an epoch to its elementwise part."""
        ),
        filled(
            """Not counted are the eigensystem of the subsample, the corrections of EigenPro, evaluation, and cards that
            wait for each other."""
        ),
    ]
    return "\n\n".join(parts) + "\n"


def filled(text: str, bullet: str = "") -> str:
    """A paragraph in lines of at most 120 characters."""
    words = " ".join(text.split())
    return textwrap.fill(words, 120, initial_indent=bullet, subsequent_indent=" " * len(bullet), break_on_hyphens=False)


def main() -> None:
    """Entry of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=PAGE, help="(default: %(default)s)")
    parser.parse_args().out.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
