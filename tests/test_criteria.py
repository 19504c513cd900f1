"""Every criterion of the configuration can fail: data that are altered in a stated way make its verdict "deviates"."""

import functools
import math

import pytest

from own_plan import own_configuration
from shallows_papers import datasets
from shallows_papers.experiments.comparing import verdicts
from shallows_papers.experiments.comparing.claims import claims
from shallows_papers.experiments.comparing.evaluations import RunResult
from shallows_papers.experiments.comparing.measurements import Measurements
from shallows_papers.experiments.comparing.verdicts import Verdict
from shallows_papers.experiments.planning import plan
from shallows_papers.experiments.planning.plan import Plan
from shallows_papers.experiments.setting_text import parse_setting


class WithEverything(Plan):
    """A plan as on a machine that has all data and all optional packages."""

    def _to_be_supplied(self, dataset):
        return None

    def _missing_extra(self, variant):
        return None


with pytest.MonkeyPatch.context() as patch:
    patch.setattr(plan, "_not_installed", lambda extra: None)
    PLAN = WithEverything(own_configuration(), datasets.catalogue())
    PLAN.runs("demo")  # plans every scale

N_SEEDS = 5
SCALES = ("paper", "laptop", "demo")
GOOD, BAD = {Verdict.REPRODUCED, Verdict.AGREES}, {Verdict.DEVIATES, Verdict.REFUTED}


def judged(kind):
    """The metrics or claims of all targets that have a criterion and are measured at some scale."""
    for target, spec in PLAN.targets.items():
        for name, one in spec.get(kind, {}).items():
            counted = one.get("evidence") in verdicts.KINDS and "not_measured" not in one
            if counted and "why" not in one:
                yield target, name


@pytest.fixture(autouse=True)
def everything_installed(monkeypatch):
    monkeypatch.setattr(plan, "_not_installed", lambda extra: None)


@functools.cache
def planned(target, scale):
    return PLAN.comparison(target, scale)


def plain_claim(claim):
    """A claim without a paper's own functions, which have their own tests: its number is a value at the end."""
    return {key: value for key, value in claim.items() if key not in ("reduce", "across") or ":" not in value}


def invented(target, scale, name):
    """A comparison of one item of a target on data that count as the paper's, with five seeds."""
    comparison = dict(planned(target, scale))
    spec = comparison["spec"]
    comparison["series"] = [
        {**series, "run_ids": [f"{place}-{seed}" for seed in range(N_SEEDS)], "altered": {}}
        for place, series in enumerate(comparison["series"])
    ]
    comparison["scale"] = "laptop"  # where what fails is judged
    comparison["published"] = [row for row in comparison["published"] if row["metric"] == name]
    comparison["spec"] = {
        **spec,
        "published_data": {word: {"any": True} for word in comparison["sizes"]},
        "claims": {key: plain_claim(claim) for key, claim in spec.get("claims", {}).items() if key == name},
    }
    return comparison


def results_of(comparison, curves_of, jitter=0.0):
    """Runs with the curves of their series; with ``jitter`` a little different from seed to seed."""
    found = {}
    for series in comparison["series"]:
        for seed, run in enumerate(series["run_ids"]):
            record = {"run": {"id": run, "seed": seed, "dataset": "d", "variant": "v"}}
            record["data"] = {"title": "d", "n_train": 60000, "n_test": 10000, "n_features": 3}
            factor = 1.0 + jitter * seed
            curves = {
                metric: {at: value * factor for at, value in curve.items()}
                for metric, curve in curves_of(series).items()
            }
            found[run] = RunResult(f"runs/{run}", record, curves, comparison["spec"].get("mark", ""))
    return found


def places(claim):
    """Evaluation points that a claim looks at."""
    low, high = claim.get("from", 1), claim.get("to", math.inf)
    if "at" in claim:
        return [claim["at"]]
    points = [low * 2**power for power in range(6)]
    return [point for point in points if point <= high]


def shaped(claim, number, reference):
    """A curve that the claim makes the number of, next to a reference that is constant."""
    points = places(claim)
    if "less" in claim:
        number = reference + number
    elif "over" in claim:
        number = reference * number
    if claim.get("reduce") == "slope":
        power = number / reference if "over" in claim else number
        return {at: float(at) ** power for at in points}
    if claim.get("reduce") == "growth":
        return {at: 1.0 + (number - 1.0) * place / (len(points) - 1) for place, at in enumerate(points)}
    return dict.fromkeys(points, number)


def with_number(comparison, claim, number):
    """Results from which a claim makes a number, for each of the series that it is about."""
    spec, measurements = comparison["spec"], Measurements(comparison, {})
    metric = claim.get("metric", next(iter(spec["metrics"])))
    definition = spec["metrics"].get(metric, {})
    passage = definition.get("first_passage")
    about = measurements.selected(claim.get("of", {}))
    against = {**claim.get("over", {}), **claim.get("less", {})}
    reference = 1.0 if "slope" in claim.get("reduce", "") or not against else 2.0

    def curves_of(series):
        mine = series in about
        if passage:  # the level is passed at the evaluation point that is the number, or after 4 of the partner
            at = number * (4.0 if against else 1.0) if mine else 4.0
            falling = {point: 1.0 if point >= at else 100.0 for point in sorted({1, 2, 4, at, 1000})}
            exact = {None: 50.0} if not series["marks"] else falling
            return {passage["of"]: exact, "train_error": exact, "fit_seconds": {None: 1.0}}
        value = shaped(claim, number, reference) if mine else dict.fromkeys(places(claim), reference)
        if definition.get("over") == "first":
            value = {**value, 1: 1.0}
        found = {definition.get("of", metric): value}
        if "metric" in against:
            found[against["metric"]] = dict.fromkeys(places(claim), reference)
        return found

    return results_of(comparison, curves_of, jitter=1e-6 if claim.get("paired") else 0.0)


def verdicts_on(comparison, results, name):
    rows = [row for row in claims(Measurements(comparison, results)) if row.metric == name and row.published]
    return {row.verdict for row in rows if row.measured_mean is not None}


def is_tolerance(target, name):
    return "tolerance" in PLAN.target(target)["claims"][name]


CLAIMS = list(judged("claims"))
#: Claims that are judged by limits, with each number that is clearly within or beyond one of them.
LIMITED = [pair for pair in CLAIMS if not is_tolerance(*pair)]


def numbers(claim):
    """Yield a number within the limits of a claim, and one beyond each limit."""
    low, high = verdicts.limits(claim)
    ends = [limit for limit in (low, high) if math.isfinite(limit)]
    step = max([abs(limit) for limit in ends]) / 2.0 or 0.5
    yield sum(ends) / 2.0 if len(ends) == 2 else (high - step if ends == [high] else low + step), GOOD
    for limit, sign in ((low, -1.0), (high, 1.0)):
        if math.isfinite(limit):
            yield limit + sign * (step + 2.0 * (claim.get("paired") == "counted")), BAD


def measured_at(target, name, number):
    """The first scale at which an item is measured, with results from which its claim makes a number."""
    claim = plain_claim(PLAN.target(target)["claims"][name])
    for scale in SCALES:
        comparison = invented(target, scale, name)
        results = with_number(comparison, claim, number)
        if verdicts_on(comparison, results, name):
            return comparison, results
    raise AssertionError(f"{target}: {name} is measured at no scale")


@pytest.mark.parametrize(("target", "name"), LIMITED)
def test_a_number_beyond_a_limit_of_a_claim_deviates(target, name):
    for number, expected in numbers(PLAN.target(target)["claims"][name]):
        assert verdicts_on(*measured_at(target, name, number), name) <= expected, number


#: A claim of each form.
FORMS = {
    tuple(str(claim.get(key)) for key in ("reduce", "across", "paired", "every_seed")): (target, name)
    for target, name in LIMITED
    for claim in [plain_claim(PLAN.target(target)["claims"][name])]
}


@pytest.mark.parametrize(("target", "name"), FORMS.values())
@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_what_is_not_finite_is_never_reproduced(target, name, broken):
    claim = PLAN.target(target)["claims"][name]
    comparison, results = measured_at(target, name, next(numbers(claim))[0])
    metric = claim.get("metric", next(iter(comparison["spec"]["metrics"])))
    definition = comparison["spec"]["metrics"].get(metric, {})
    if "first_passage" in definition:
        return  # a count of epochs is finite, or missing
    about = Measurements(comparison, {}).selected(claim.get("of", {}))
    for run in (run for series in about for run in series["run_ids"]):
        curve = results[run].curve[definition.get("of", metric)]
        curve[max(curve)] = broken
    assert not verdicts_on(comparison, results, name) & GOOD


@pytest.mark.parametrize(("target", "name"), list(judged("metrics")))
def test_every_printed_number_is_measured_at_some_scale_or_is_said_not_to_be(target, name):
    spec = PLAN.target(target)
    assert "tolerance" in spec["metrics"][name], "a metric with published values says how far they may be off"
    measurements = [Measurements(planned(target, scale), {}) for scale in SCALES]
    left_out = [word for at in spec["scales"].values() for word, one in at["data"].items() if "missing" in one]
    for row in PLAN.configuration.published[target]:
        setting = parse_setting(row["setting"])
        setting.pop(spec.get("mark"), None)
        of = {"data": row["dataset"], "method": row["method"], **setting}
        if row["metric"] == name and row["evidence"] != "quotation" and row["dataset"] not in left_out:
            assert any(one.selected(of) for one in measurements), row


def test_each_limit_on_what_a_paper_says_has_a_reason():
    without = [
        f"{target}: {name}"
        for target, spec in PLAN.targets.items()
        for name, claim in spec.get("claims", {}).items()
        if claim["evidence"] in ("order", "theorem", "fact") and not claim.get("reason")
    ]
    assert without == []


def test_a_rate_of_one_over_t_is_judged_by_one_interval_in_all_papers():
    def printed(target, name):
        return [row["published"] for row in PLAN.configuration.published[target] if row["metric"] == name]

    criteria = {
        f"{target}: {name}": claim.get("between")
        for target, spec in PLAN.targets.items()
        for name, claim in spec.get("claims", {}).items()
        if claim.get("reduce") == "slope" and any("1/t" in one for one in printed(target, name))
        if claim["evidence"] in verdicts.KINDS
    }
    assert len(criteria) >= 6 and set(map(str, criteria.values())) == {"[-1.2, -0.8]"}, criteria
