"""The base class of all estimators: checks of parameters and data, the seed, what the machine offers, and fits."""

import contextlib
import difflib
import functools
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import arrays, kernels, training
from ..arrays.user_arrays import largest_unit, read_points, to_host
from ..errors import DeviceMemoryError, PrecisionError, ShallowsError
from ..fitting.fit_call import FitCall
from ..fitting.machine import Options, in_float64
from ..fitting.rows import EarlyStopping, TrainingSet, apply_class_weight, refuse_missing_labels
from ..kernels import precomputed
from ..models.centering import check_scores
from ..ranks import ALONE, Alone
from ..solvers import settings
from ..spectrum.kernel_ridge_choice import is_automatic
from ..utils import frozen, progress
from ..utils.checks import MOST, is_positive, is_whole, warn_user
from ..utils.plain_numbers import numeric_targets, plain_parameter
from .old_names import MovedAttribute
from .other_names import refuse_other_names

LEAST_WEIGHT = 1e-300
"""Smaller weights, in units of the largest, underflow to zero when they are divided by it."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def keeps_model_on_failure(fit: _Method) -> _Method:
    """Decorate a method that fits: if it raises, also by Ctrl-C, the estimator is as it was before the call.

    The method must set new attributes, and must not change the objects that old attributes refer to. With ``verbose``,
    long parts of the fit print a line now and then. If float32, which the user did not ask for, is too coarse, the fit
    is repeated in float64.
    """

    @functools.wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            with print_progress(self):
                try:
                    found = fit(self, *args, **kwargs)
                except PrecisionError:
                    if self._options().dtype != "auto" or fit.__name__ == "partial_fit":
                        raise
                    restore_attributes(self, before)
                    with in_float64():
                        found = fit(self, *args, **kwargs)
            if found is self:
                self.options_ = self._options()
            return found
        except BaseException as error:
            restore_attributes(self, before)
            if arrays.is_out_of_device_memory(error):
                raise DeviceMemoryError(
                    f"The GPU has no room for this fit: {' '.join(str(error).split())[:200]} End other processes on "
                    "the GPU ('nvidia-smi' lists them), fit on fewer rows or in smaller batches (batch_size of the "
                    "solver), or use Options(dtype='float32') or Options(device='cpu')."
                ) from error
            raise

    return fit_or_restore  # type: ignore[return-value]


def print_progress(estimator: Any) -> contextlib.AbstractContextManager[None]:
    """With ``verbose``, print how far long parts of the work inside the block are."""
    quiet = not estimator._options().verbose
    return contextlib.nullcontext() if quiet else progress.listening(progress.Lines(type(estimator).__name__))


def restore_attributes(estimator: Any, attributes: dict[str, Any]) -> None:
    """Give an estimator these attributes and no others."""
    vars(estimator).clear()
    vars(estimator).update(attributes)


def check_kinds(estimator: Any) -> None:
    """Refuse a value of the wrong kind; the name or the default of a parameter shows which kind it needs."""
    named = getattr(estimator, "_named", {})
    for name, other in (("kernel", "solver"), ("solver", "kernel")):
        value, own, its = getattr(estimator, name, None), *(named.get(key, {}) for key in (name, other))
        if isinstance(value, str) and value in its and value not in own and hasattr(estimator, other):
            raise ShallowsError(f"There is no {name} {value!r}. It is a {other}: {other}={value!r}.")
    for name, parameter in inspect.signature(type(estimator)).parameters.items():
        value, default = getattr(estimator, name), parameter.default
        if name == "random_state":
            right = value is None or value is np.random
            right = right or is_whole(value, 0, None) or isinstance(value, np.random.RandomState)
            kind = "a whole number of at least 0, None or a numpy.random.RandomState"
        elif name == "early_stopping":
            EarlyStopping.of(value)
            continue
        elif name in ("calibration", "n_components") and default in ("auto", None):
            whole = name == "n_components"
            right = value is None or is_automatic(value) or (whole and is_whole(value))
            kind = (f"a whole number from 1 to {MOST:,}, " if whole else "") + "'auto' or None"
        elif name.endswith("bandwidth"):
            right = is_positive(value) or (isinstance(value, str) and value in (default, "median"))
            kernel = getattr(estimator, name.replace("bandwidth", "kernel"), None)
            has_own = isinstance(kernel, kernels.Kernel) and kernel.takes_bandwidth and kernel.bandwidth is not None
            # `kernels.make` refuses a number next to such a kernel.
            if has_own and isinstance(value, str) and value != default:
                raise ShallowsError(
                    f"{kernel!r} has its own bandwidth, so {name}={value!r} would be ignored. Leave {name} out, or "
                    "give the kernel without a bandwidth."
                )
            kind = "a positive number or 'median', the median distance"
            kind = kind if default == "median" else "a positive number, 'auto' or 'median'"
        elif isinstance(default, bool) or name == "orthogonal":
            right, kind = isinstance(value, bool | np.bool_), "True or False"
        else:
            # A name is never a list, an array or a dictionary.
            is_name = isinstance(default, str) and name not in ("kernel", "features", "loss", "centers")
            several = isinstance(value, list | set | np.ndarray | dict)
            right, kind = not (is_name and several), f"one value, such as {default!r}"
            kind += ", or an object of shallows.solvers" if name == "solver" else ""
        if not right and not (value is None and default is None):
            raise ShallowsError(f"{name} must be {kind}, got {value!r}.")


class Estimator(BaseEstimator):
    """Base of all estimators. A fit is a function in `shallows.fitting`, its result a model in `shallows.models`."""

    _y_is_numeric = False
    _takes_targets = True
    _named: ClassVar[Mapping[str, Mapping[str, type]]] = {"kernel": kernels.KERNELS}
    """Classes of the objects that a parameter may be, by their names; a subclass adds its own."""
    _share_of_block = 4
    """The memory budget over the memory of a block of a prediction."""
    _warns_of_units = True
    """False for a transformer that another estimator fits, which has checked the same points."""
    report_: dict[str, Any]
    effective_params_, timings_ = MovedAttribute("report_"), MovedAttribute("report_['timings']")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._named = {**super(cls, cls)._named, **cls._named}
        # Otherwise editors and tools show the signature of `__new__`.
        of_constructor = inspect.signature(cls.__init__)
        cls.__signature__ = of_constructor.replace(parameters=list(of_constructor.parameters.values())[1:])

    def __new__(cls, *args: Any, **parameters: Any) -> Any:
        """Refuse unknown parameters, and suggest our name for a name of another library."""
        known = cls.__signature__.parameters.keys()
        refuse_other_names(cls, {**dict(zip(known, args, strict=False)), **parameters}, TypeError)
        unknown = sorted(parameters.keys() - known)
        if unknown:
            near = difflib.get_close_matches(unknown[0], known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}.{hint}")
        return super().__new__(cls)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Refuse a pickle without the present parameters, which another version wrote."""
        if missing := [name for name in self._get_param_names() if name not in state]:
            raise ShallowsError(
                f"Another version of shallows wrote this pickle of {type(self).__name__}: it has no {missing[0]!r}. "
                "Load it with that version, or fit the model again."
            )
        super().__setstate__(state)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, plain_parameter(self, name, value))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by their names; with ``deep`` also those of solvers and kernels, such as ``solver__rank``."""
        found = super().get_params(deep)
        if deep:
            parts, solver, table = dict(found), found.get("solver"), self._named.get("solver", {})
            if isinstance(solver, str) and solver in table:
                parts["solver"] = table[solver]()
            for name, value in parts.items():
                found |= {f"{name}__{path}": part for path, part in frozen.parameters(value).items()}
        return found

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters of the estimator, or of its solver, kernel or options, such as ``solver__rank=80``.

        A parameter of a named object, such as ``solver="eigenpro"``, replaces the name by the object. A wrong name
        raises a ValueError; for a name of another library, the message gives ours.
        """
        refuse_other_names(type(self), parameters, ValueError, getattr(self, "solver", None))
        whole = {name: value for name, value in parameters.items() if "__" not in name}
        super().set_params(**whole)
        parts: dict[str, dict[str, Any]] = {}
        for path, value in parameters.items():
            name, inside, rest = path.partition("__")
            if inside:
                parts.setdefault(name, {})[rest] = value
        for name, given in parts.items():
            if name not in self._get_param_names():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}.")
            found = self._object(name, next(iter(given)))
            if hasattr(found, "set_params"):
                found.set_params(**given)
            else:
                found = frozen.with_parameters(found, given)
            setattr(self, name, found)
        return self

    def _object(self, name: str, path: str) -> Any:
        """The object of a parameter, also if the parameter is the object's name."""
        value = getattr(self, name)
        table = self._named.get(name, {})
        key = kernels.OTHER_NAMES.get(value, value) if isinstance(value, str) and table is kernels.KERNELS else value
        if isinstance(key, str) and key in table:
            return table[key]()
        if name == "options" and value is None:
            return Options()
        if name == "early_stopping" and isinstance(value, bool):
            return EarlyStopping()
        if not (frozen.is_frozen(value) or hasattr(value, "set_params")) or isinstance(value, type):
            having = [key for key in table if path.partition("__")[0] in frozen.parameters(table[key]())]
            example = f" {name}={' or '.join(map(repr, having))} has it; set that first." if having else ""
            raise ValueError(f"{name}={value!r} has no parameter {path!r}.{example}")
        return value

    def _settings(self) -> Any:
        """The checked settings of the solver."""
        return settings.resolve(self.solver, self._named["solver"], type(self).__name__)

    _check_parameters = check_kinds
    """Refuse parameters that are wrong for any data. A subclass that checks more calls this first."""

    # --------------------------------------------------------------------------- checks of the data

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, read_points(X), accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    def _validated_training_set(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool = True, whole: bool = True
    ) -> TrainingSet:
        """Check points, targets and weights, and drop the rows of weight zero.

        ``first`` is False for further data of a model, which must have the same features. ``whole`` is False for a
        batch of a stream.
        """
        X, y, sample_weight = read_points(X), to_host(y), to_host(sample_weight)
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": first}
        if not self._takes_targets:
            X, y = validate_data(self, X, **options), None
        else:
            if self._y_is_numeric:
                y = numeric_targets(y)
            else:
                refuse_missing_labels(y)
            X, y = validate_data(self, X, y, multi_output=True, y_numeric=self._y_is_numeric, **options)
            # In C order, so that their means do not depend on the layout in memory.
            y = np.ascontiguousarray(y.toarray() if scipy.sparse.issparse(y) else y)
        matrix = None
        if precomputed.is_asked_for(self):
            matrix, X = X, precomputed.numbers_of_rows(X)
        weights, rows = None, np.arange(X.shape[0])
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not weights.any():
                raise ValueError("All sample weights are zero.")
            if not weights.all():
                X, y, weights, rows, _ = TrainingSet(X, y, weights, rows).take(np.flatnonzero(weights))
        if whole:
            self._warn_of_units(X)
        if getattr(self, "class_weight", None) is not None:
            weights = apply_class_weight(self.class_weight, y, weights, whole=whole)
        if weights is not None:
            least, largest = float(weights.min()), float(weights.max())
            if not len(weights) * largest < np.finfo(np.float64).max or least / largest < LEAST_WEIGHT:
                raise ShallowsError(
                    f"The weights of the rows are between {least:.3g} and {largest:.3g}. float64 cannot compare or add "
                    "such weights. Set the small ones to 0, which leaves their rows out, and rescale the others."
                )
        return TrainingSet(X, y, weights, rows, matrix)

    def _has_common_bandwidth(self) -> bool:
        """Whether the kernel, or the random units, have one bandwidth for all columns of X."""
        features, table = getattr(self, "features", None), self._named.get("features", {})
        if precomputed.is_asked_for(self) or (isinstance(features, str) and features == "linear"):
            return False
        named = table[features]() if isinstance(features, str) and features in table else None
        if named is not None and (named.bandwidth is None or not hasattr(self, "kernel")):
            features = named
        if not (features is None or isinstance(features, str)):
            # A feature map of the user does not use the kernel.
            return isinstance(features, Estimator) and features._has_common_bandwidth()
        if not hasattr(self, "kernel") or is_automatic(self.kernel):
            return hasattr(self, "bandwidth")
        return kernels.make(self.kernel).takes_bandwidth

    def _warn_of_units(self, X: Any, name: str = "X") -> None:
        """Warn if a column of checked points has a much larger spread than the others."""
        metric: Any = getattr(self, "metric", "none")
        learns = metric not in (None, "none", "auto")  # And begins with standardized columns
        found = largest_unit(X) if self._warns_of_units and not learns and self._has_common_bandwidth() else None
        if found is None:
            return
        column, spread, median = found
        names = getattr(self, "feature_names_in_", None) if name == "X" else None
        label = f"Column {column} of {name}" if names is None else f"Column {names[column]!r} of {name}"
        scaler = "StandardScaler(with_mean=False)" if scipy.sparse.issparse(X) else "StandardScaler"
        warn_user(
            f"{label} has a spread (standard deviation) of {spread:.2g}, and the median spread of the columns is "
            f"{median:.2g}. The kernel has one bandwidth for all columns, so the others hardly count. Scale the "
            f"columns first, for example with sklearn.preprocessing.{scaler}"
            f"{'' if metric == 'none' else ', or set metric=' + repr('diagonal') + ', which learns their weights'}.",
            UserWarning,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = precomputed.is_asked_for(self)
        return tags

    def _raw_predict(self, X: Any) -> np.ndarray:
        options = self._options()
        device = arrays.resolve_device(options.device)
        with print_progress(self):
            scores = self._model.scores(X, device, options.prediction_budget(device, share=self._share_of_block))
        check_scores(scores, X)
        return self._targets.unscale(scores)

    # ------------------------------------------------------------------------- seed, memory, progress

    def _seed(self) -> int:
        """The seed of all draws, from ``random_state``; for a warm start without an int, the seed of the fit before."""
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        before = self._seed_to_go_on_with()
        return before if before is not None else int(check_random_state(self.random_state).randint(2**31 - 1))

    def _seed_to_go_on_with(self) -> int | None:
        before = vars(self).get("_ended")
        return before.seed if before is not None and getattr(self, "warm_start", False) else None

    def _options(self) -> Options:
        """The checked options, with those of a block ``with shallows.options(...)``."""
        if self.options is None:
            return Options().in_block()
        if not isinstance(self.options, Options):
            raise ShallowsError(
                f"options must be shallows.Options(...) or None, got {self.options!r}. For example: "
                "options=Options(device='gpu', memory='8GB')."
            )
        self.options.check()
        return self.options.in_block()

    def _fit_device(self) -> arrays.Device:
        """The device of a fit. Refuses a GPU that cannot be used, and warns of slow settings."""
        return self._options().fit_device()

    def _forget(self, *names: str) -> None:
        """Remove fitted attributes that a fit with other parameters has set."""
        for name in names:
            self.__dict__.pop(name, None)

    def _parameters_of_fit(self, solver: Any) -> dict[str, Any]:
        """The parameters of a fit that a later one may continue, with names replaced by their objects."""
        objects = {"solver": solver, "options": self.options or Options()}
        objects["early_stopping"] = EarlyStopping.of(self.early_stopping)
        return {**self.get_params(deep=False), **objects}

    def _call(
        self,
        observers: Sequence[training.Observer] = (),
        checkpoint: training.Checkpoint | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        seed: int | None = None,
        max_seconds: float | None = None,
        ranks: Alone = ALONE,
    ) -> FitCall:
        """How a fit runs, for its function in `shallows.fitting`."""
        seed = ranks.from_first(self._seed() if seed is None else seed)
        stopping, before = EarlyStopping.of(getattr(self, "early_stopping", False)), vars(self).get("_ended")
        options = self._options()
        if options.verbose and not ranks.rank:
            observers = [training.Progress(type(self).__name__), *observers]
        return FitCall(seed, options, observers, checkpoint, stopping, parameters, before, max_seconds)

    def _set_course(self, run: training.Run) -> None:
        """Set the fitted attributes that describe a training in epochs."""
        if run.validation_errors:
            self.validation_scores_ = [1.0 - error for error in run.validation_errors]
            self.best_validation_score_ = max(self.validation_scores_)
        self.n_epochs_ = self.n_iter_ = max(run.epoch, 1)
        self.losses_, self.n_rollbacks_, self.n_resumes_ = run.losses, run.n_rollbacks, run.n_resumes


# ----------------------------------------------------------------------------------------------- fits

# A class has one of these as its method: ``fit = fit_in_epochs``. Its ``_train`` returns what a function of
# `shallows.fitting` found, and its ``_store`` sets the attributes.

_Trained = TypeVar("_Trained", bound=Estimator)


@keeps_model_on_failure
def fit_rows(self: _Trained, X: Any, y: Any, sample_weight: Any = None) -> _Trained:
    """Train on all rows.

    Parameters
    ----------
    X : array-like or CSR matrix, shape (n_samples, n_features)
    y : array-like, shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array-like, shape (n_samples,), optional
        Factors of the losses; rows of weight zero are left out. With λ next to a mean, only their ratios matter.

    Raises
    ------
    ValueError, ShallowsError
        NaN or infinity, a single class, a wrong parameter, or a kernel that is not positive semidefinite.
    """
    self._check_parameters()
    rows = self._validated_training_set(X, y, sample_weight)
    self._store(self._train(rows, self._call()))
    return self


@keeps_model_on_failure
def fit_in_epochs(
    self: _Trained,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    observers: Sequence[training.Observer] = (),
    checkpoint: training.Checkpoint | None = None,
) -> _Trained:
    """Train on all rows.

    Parameters
    ----------
    X : array-like or CSR matrix, shape (n_samples, n_features)
    y : array-like, shape (n_samples,) or (n_samples, n_outputs)
    sample_weight : array-like, shape (n_samples,), optional
        Factors of the losses; rows of weight zero are left out. With λ next to a mean, only their ratios matter.
    observers : sequence of shallows.training.Observer
        Called after every batch and epoch, or pass over blocks, such as `Progress` or `Curve`.
    checkpoint : shallows.training.Checkpoint, optional
        Continue from this file if it exists, and keep it up to date. Ridge on features: with "feature_eigenpro".

    Raises
    ------
    ValueError, ShallowsError
        NaN or infinity, shapes that do not agree, a single class, or a parameter that is wrong or cannot be used.
    DivergenceError
        A given ``step_size`` is too large.
    """
    self._check_parameters()
    rows = self._validated_training_set(X, y, sample_weight)
    self._store(self._train(rows, self._call(observers, checkpoint)))
    return self
