"""Every criterion of the configuration has limits that a number can miss, a reason, and something that is measured."""

import functools
import math

import pytest

from own_plan import own_configuration
from shallows_papers import datasets
from shallows_papers.experiments.comparing import verdicts
from shallows_papers.experiments.comparing.measurements import Measurements
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

SCALES = ("paper", "laptop", "demo")


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


@pytest.mark.parametrize(("target", "name"), list(judged("claims")))
def test_a_number_can_miss_the_limits_of_every_claim(target, name):
    claim = PLAN.target(target)["claims"][name]
    low, high = verdicts.limits(claim)
    assert "tolerance" in claim or (low < high and not math.isinf(low) * math.isinf(high))


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
