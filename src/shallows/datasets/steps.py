"""The steps of a preparation, as data: their names, their parameters, and the checks that need no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar

from shallows.datasets.catalogue import Dataset
from shallows.datasets.files import DatasetError
from shallows.errors import UnknownNameError
from shallows.nets import architectures


@dataclass(frozen=True)
class Step:
    """A step.

    Attributes
    ----------
    learns, holds_out : bool
        Whether it takes statistics from the training part, and whether it makes training rows the test part.
    extra : str or None
        Which extra it needs.
    """

    name: ClassVar[str]
    learns: ClassVar[bool] = False
    holds_out: ClassVar[bool] = False
    extra: ClassVar[str | None] = None

    def check(self) -> str | None:
        """Return what is wrong with the parameters, or None."""
        return None

    def as_data(self) -> dict[str, dict[str, Any]]:
        """Return the step in the form in which configurations hold it, with every parameter."""
        return {self.name: asdict(self)}


@dataclass(frozen=True)
class Subset(Step):
    """Keep a seeded draw of the rows.

    Attributes
    ----------
    n_train, n_test : int or None
        Rows to keep of each part; None keeps them all.
    seed : int
    stratify : bool or None
        Whether every class keeps its share; None: in classification.
    """

    name: ClassVar[str] = "subset"
    n_train: int | None = None
    n_test: int | None = None
    seed: int = 0
    stratify: bool | None = None

    def check(self) -> str | None:
        """See `Step.check`."""
        for key in ("n_train", "n_test"):
            value = getattr(self, key)
            if value is not None and not (_is_int(value) and value > 0):
                return f"{key} must be a positive whole number or null, not {value!r}"
        return _check_seed(self.seed)


@dataclass(frozen=True)
class Split(Step):
    """Hold out a seeded draw of the training rows as the test part.

    For data that has no test part, and for choosing parameters without a look at the test part, which is then
    left out.

    Attributes
    ----------
    n : int or float
        Rows to hold out: a number of them, or a share between 0 and 1.
    seed : int
    stratify : bool or None
        Whether every class keeps its share; None: in classification.
    """

    name: ClassVar[str] = "split"
    holds_out: ClassVar[bool] = True
    n: int | float
    seed: int = 0
    stratify: bool | None = None

    def check(self) -> str | None:
        """See `Step.check`."""
        share = isinstance(self.n, float) and 0 < self.n < 1
        if not share and not (_is_int(self.n) and self.n > 0):
            return f"n must be a positive whole number or a share between 0 and 1, not {self.n!r}"
        return _check_seed(self.seed)

    def held_out(self, n_rows: int) -> int:
        """Return how many of `n_rows` training rows are held out."""
        return round(self.n * n_rows) if isinstance(self.n, float) else self.n


@dataclass(frozen=True)
class Fold(Step):
    """Hold out one of several parts of the training rows as the test part, for a cross validation.

    The parts of one seed have no row in common and are together all rows. Their sizes differ by one row at most, in
    every class as in all.

    Attributes
    ----------
    fold : int
        Which part, from 1.
    of : int
        How many parts there are.
    seed : int
    stratify : bool or None
        Whether every class keeps its share; None: in classification.
    """

    name: ClassVar[str] = "fold"
    holds_out: ClassVar[bool] = True
    fold: int
    of: int
    seed: int = 0
    stratify: bool | None = None

    def check(self) -> str | None:
        """See `Step.check`."""
        if not (_is_int(self.of) and self.of > 1):
            return f"of must be a whole number above 1, not {self.of!r}"
        if not (_is_int(self.fold) and 1 <= self.fold <= self.of):
            return f"fold must be a whole number from 1 to {self.of}, not {self.fold!r}"
        return _check_seed(self.seed)

    def held_out(self, n_rows: int) -> int:
        """Return how many of `n_rows` training rows are held out."""
        return len(range(self.fold - 1, n_rows, self.of))


@dataclass(frozen=True)
class Unit(Step):
    """Scale features to [0, 1].

    By their known range where the catalogue or `range` gives one, the same for all (pixels); otherwise each
    by its smallest and largest value in the training part, so that test values may lie outside.

    Attributes
    ----------
    range : (float, float) or None
    """

    name: ClassVar[str] = "unit"
    learns: ClassVar[bool] = True
    range: Sequence[float] | None = None

    def check(self) -> str | None:
        """See `Step.check`."""
        if self.range is not None:
            good = isinstance(self.range, Sequence) and len(self.range) == 2 and all(map(_is_number, self.range))
            if not (good and self.range[0] < self.range[1]):
                return f"range must be two ascending numbers, not {self.range!r}"
        return None


@dataclass(frozen=True)
class ZScore(Step):
    """Give every feature mean 0 and standard deviation 1 over the training part; constant ones become 0.

    Attributes
    ----------
    center : bool
        Whether the mean is subtracted. Without that, sparse data stay sparse.
    numeric_only : bool
        Whether columns that hold codes of categories are left as they are, for a one_hot that follows.
    """

    name: ClassVar[str] = "zscore"
    learns: ClassVar[bool] = True
    center: bool = True
    numeric_only: bool = False


@dataclass(frozen=True)
class Impute(Step):
    """Fill in missing values (NaN) by what the training part has in their column.

    Attributes
    ----------
    strategy : {"mean", "median", "most_frequent"} or number
        Columns of codes of categories take the most frequent value, whatever is asked for the others.
    """

    name: ClassVar[str] = "impute"
    learns: ClassVar[bool] = True
    strategy: str | float = "mean"

    def check(self) -> str | None:
        """See `Step.check`."""
        if self.strategy not in IMPUTATIONS and not _is_number(self.strategy):
            return f"strategy must be one of {', '.join(IMPUTATIONS)}, or a number, not {self.strategy!r}"
        return None


@dataclass(frozen=True)
class Grayscale(Step):
    """Make one grey channel of the three of RGB images.

    Attributes
    ----------
    weights : list of three numbers
        Shares of red, green and blue. The default are those of luma in ITU-R BT.601, which Pillow's mode "L" and
        MATLAB's rgb2gray use; they add up to 1, so the range of the values stays.
    height, width : int or None
        Of the images; None: as the catalogue says.
    order : {"planar", "interleaved"} or None
        Whether all red values come before the green ones, or the three of a pixel stand together.
    """

    name: ClassVar[str] = "grayscale"
    weights: Sequence[float] = (0.299, 0.587, 0.114)
    height: int | None = None
    width: int | None = None
    order: str | None = None

    def check(self) -> str | None:
        """See `Step.check`."""
        good = isinstance(self.weights, Sequence) and len(self.weights) == 3 and all(map(_is_number, self.weights))
        if not good:
            return f"weights must be three numbers, not {self.weights!r}"
        return _check_image(self)


@dataclass(frozen=True)
class Halves(Step):
    """Make two views of images, their left and their right half: all pixels of the one, then all of the other.

    The record says under ``views`` which columns are whose. With an odd width the middle column goes to the right.

    Attributes
    ----------
    height, width : int or None
        Of the images; None: as the catalogue says.
    order : {"planar", "interleaved"} or None
        See `Grayscale`; of no matter with one channel.
    """

    name: ClassVar[str] = "halves"
    height: int | None = None
    width: int | None = None
    order: str | None = None

    def check(self) -> str | None:
        """See `Step.check`."""
        return _check_image(self)


@dataclass(frozen=True)
class PCA(Step):
    """Project on the leading principal components of the training part.

    Attributes
    ----------
    n_components : int
    whiten : bool
        Whether each component is scaled to variance 1.
    method : {"auto", "covariance", "randomised", "incremental"}
        ``covariance`` is exact and holds d x d numbers; ``randomised`` holds d times the components and goes over the
        data once for each of `iterations`, whose start it draws; ``incremental`` goes over them once, and what it
        gives depends on their order. ``auto`` takes the first up to 4,096 features and the second beyond.
    iterations : int
        Of the randomised method.
    seed : int
        Of the randomised method.
    """

    name: ClassVar[str] = "pca"
    learns: ClassVar[bool] = True
    n_components: int
    whiten: bool = False
    method: str = "auto"
    iterations: int = 4
    seed: int = 0

    def check(self) -> str | None:
        """See `Step.check`."""
        for key in ("n_components", "iterations"):
            value = getattr(self, key)
            if not (_is_int(value) and value > 0):
                return f"{key} must be a positive whole number, not {value!r}"
        if self.method not in PCA_METHODS:
            raise UnknownNameError("method of the step pca", self.method, PCA_METHODS)
        return _check_seed(self.seed)


@dataclass(frozen=True)
class OneHot(Step):
    """Replace every categorical column by one 0/1 column for each value of the training part.

    The new columns come after the others. A value that only the test part has becomes a row of zeros.

    Attributes
    ----------
    columns : list of int or None
        Numbers of the columns; None: those that the catalogue calls categorical.
    """

    name: ClassVar[str] = "one_hot"
    learns: ClassVar[bool] = True
    columns: Sequence[int] | None = None

    def check(self) -> str | None:
        """See `Step.check`."""
        if self.columns is not None and not all(_is_int(column) and column >= 0 for column in self.columns):
            return f"columns must be column numbers from 0, not {self.columns!r}"
        return None


@dataclass(frozen=True)
class Signs(Step):
    """Code the classes as -1 and +1.

    With two classes the second one is +1. With more, `positive` names the classes that are +1 (one against
    the rest); without it the targets become a matrix of one column a class.

    Attributes
    ----------
    positive : list of str or None
        Names of classes.
    """

    name: ClassVar[str] = "signs"
    positive: Sequence[str] | None = None


@dataclass(frozen=True)
class Indicators(Step):
    """Code the classes as 0 and 1: one column of the targets a class."""

    name: ClassVar[str] = "indicators"


@dataclass(frozen=True)
class KeepClasses(Step):
    """Keep the rows of some classes: a pair of digits, say.

    Attributes
    ----------
    classes : list of str
        Their names, in the order that they are to have: with ``[6, 8]`` and the step signs, 8 becomes +1.
    """

    name: ClassVar[str] = "keep_classes"
    classes: Sequence[str | int]

    def check(self) -> str | None:
        """See `Step.check`."""
        names = self.classes
        good = isinstance(names, Sequence) and not isinstance(names, str) and len(set(map(str, names))) == len(names)
        if not (good and len(names) > 1):
            return f"classes must be two or more different names, not {names!r}"
        return None


@dataclass(frozen=True)
class CenterTarget(Step):
    """Subtract the training mean from a regression target.

    Attributes
    ----------
    scale : bool
        Whether to divide by the training standard deviation too, which standardises the target.
    """

    name: ClassVar[str] = "center_target"
    scale: bool = False


@dataclass(frozen=True)
class NetFeatures(Step):
    """Replace features by those of a small neural net, trained on the training part (extra ``nets``).

    The features are the outputs of the net's last pooling layer, or of its last hidden layer where none pools. What the
    net was trained on and how stands in the record. On a CPU they are a function of the files and of this step, for one
    version of PyTorch; a GPU's differ in their last digits, which training enlarges.

    Attributes
    ----------
    architecture : str
        A name of `shallows.nets.ARCHITECTURES`.
    epochs, batch_size : int
    step_size : float or None
        None: that of `shallows.nets`.
    rows : int or None
        The net is trained on a seeded draw of so many training rows, which are held in memory; None takes them all.
    seed : int
    device : str
        ``"auto"``, ``"cpu"`` or ``"gpu"``.
    """

    name: ClassVar[str] = "net_features"
    learns: ClassVar[bool] = True
    extra: ClassVar[str | None] = "nets"
    architecture: str
    epochs: int = 10
    batch_size: int = 128
    step_size: float | None = None
    rows: int | None = None
    seed: int = 0
    device: str = "auto"

    def check(self) -> str | None:
        """See `Step.check`."""
        architectures.find(self.architecture)
        for key in ("epochs", "batch_size"):
            value = getattr(self, key)
            if not (_is_int(value) and value > 0):
                return f"{key} must be a positive whole number, not {value!r}"
        if self.rows is not None and not (_is_int(self.rows) and self.rows > 0):
            return f"rows must be a positive whole number or null, not {self.rows!r}"
        if self.step_size is not None and not (_is_number(self.step_size) and self.step_size > 0):
            return f"step_size must be a positive number or null, not {self.step_size!r}"
        if self.device not in ("auto", "cpu", "gpu"):
            return f"device must be auto, cpu or gpu, not {self.device!r}"
        return _check_seed(self.seed)

    def n_features(self, n_inputs: int, image: Mapping[str, Any] | None) -> int:
        """Return how many features the net has, of examples of `n_inputs` numbers that may be images."""
        net = architectures.find(self.architecture)
        stated = None if image is None else (image["channels"], image["height"], image["width"])
        return net.n_features(architectures.shape_of_examples(n_inputs, net.of_images, stated))


IMPUTATIONS = ("mean", "median", "most_frequent")
PCA_METHODS = ("auto", "covariance", "randomised", "incremental")

_ALL = (
    Subset,
    Split,
    Fold,
    KeepClasses,
    Impute,
    Grayscale,
    Unit,
    ZScore,
    Halves,
    NetFeatures,
    PCA,
    OneHot,
    Signs,
    Indicators,
    CenterTarget,
)
STEPS: dict[str, type[Step]] = {step.name: step for step in _ALL}


def check_steps(steps: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Check a list of steps as a configuration holds it.

    Parameters
    ----------
    steps : sequence of mappings
        Each of one key, the step's name, and its parameters: ``[{"unit": {}}, {"pca": {"n_components":
        100}}]``.

    Returns
    -------
    list of Step

    Raises
    ------
    UnknownNameError
        For an unknown step or parameter, naming the nearest right one.
    DatasetError
        For a missing or impossible value, or rows held out after a step that has already learned from them.
    """
    checked: list[Step] = []
    for entry in steps:
        if not isinstance(entry, Mapping) or len(entry) != 1:
            raise DatasetError(f"A preparation step is one name with its parameters, like 'unit: {{}}', not {entry!r}.")
        ((name, parameters),) = entry.items()
        step = _step(name, parameters or {})
        learned = [earlier.name for earlier in checked if earlier.learns]
        if step.holds_out and learned:
            raise DatasetError(
                f"The step {name} must stand before {learned[0]}: statistics come from the training part "
                f"alone, and the rows that {name} holds out would have been part of them."
            )
        checked.append(step)
    return checked


def shape_after(dataset: Dataset, steps: Sequence[Mapping[str, Any]]) -> tuple[int, int, int]:
    """Return the size that a preparation will leave, without doing it.

    Parameters
    ----------
    dataset : Dataset
        Its entry in the catalogue.
    steps : sequence of mappings
        As for `check_steps`.

    Returns
    -------
    n_train, n_test, n_features : int
        Exact, but for the features after ``one_hot``, whose number depends on the data (those before are counted),
        and for the rows after ``keep_classes`` (classes of equal size are supposed).
    """
    n_train, n_test, n_features = dataset.n_train, dataset.n_test, dataset.n_features
    image = dict(dataset.picture) or None
    for step in check_steps(steps):
        if isinstance(step, Subset):
            n_train, n_test = step.n_train or n_train, step.n_test or n_test
        elif isinstance(step, Split | Fold):
            n_test = step.held_out(n_train)
            n_train -= n_test
        elif isinstance(step, KeepClasses):
            share = len(step.classes) / max(dataset.n_classes, len(step.classes))
            n_train, n_test = round(n_train * share), round(n_test * share)
        elif isinstance(step, Grayscale):
            n_features //= 3
            image = image and {**image, "channels": 1}
        elif isinstance(step, NetFeatures):
            n_features, image = step.n_features(n_features, image), None
        elif isinstance(step, PCA):
            n_features, image = step.n_components, None
    return n_train, n_test, n_features


def _step(name: str, parameters: Mapping[str, Any]) -> Step:
    if name not in STEPS:
        raise UnknownNameError("preparation step", name, STEPS)
    if not isinstance(parameters, Mapping):
        raise DatasetError(f"The parameters of the step {name} must be names with values, not {parameters!r}.")
    known = {field.name: field for field in fields(STEPS[name])}
    for key in parameters:
        if key not in known:
            raise UnknownNameError(f"parameter of the step {name} called", key, known or ["(none)"])
    missing = [key for key, field in known.items() if field.default is MISSING and key not in parameters]
    if missing:
        raise DatasetError(f"The step {name} needs {', '.join(missing)}.")
    step = STEPS[name](**parameters)
    problem = step.check()
    if problem:
        raise DatasetError(f"The step {name}: {problem}.")
    return step


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_image(step: Any) -> str | None:
    for key in ("height", "width"):
        value = getattr(step, key)
        if value is not None and not (_is_int(value) and value > 0):
            return f"{key} must be a positive whole number, not {value!r}"
    if step.order not in (None, "planar", "interleaved"):
        return f"order must be planar or interleaved, not {step.order!r}"
    return None


def _check_seed(seed: Any) -> str | None:
    return None if _is_int(seed) and seed >= 0 else f"seed must be a whole number from 0, not {seed!r}"
