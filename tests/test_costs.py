"""Estimates of costs: they grow with the data, and jobs ask for more memory than measured runs took."""

import pytest

from own_plan import own_plan
from shallows_papers.experiments.planning import costs
from shallows_papers.experiments.planning.costs import ProblemSize, Requests, estimate
from shallows_papers.reference.held import Reference
from workflow_runs import PROJECT


def measured(plan, scale):
    """The peak memory of each run of a reference, by the run's identifier."""
    held = Reference(plan, scale, PROJECT / "results" / "reference" / scale)
    records = (run.record for target in held.targets for run in held.runs_of(target))
    return {one["run"]["id"]: one["peak_memory_bytes"] for one in records if one["peak_memory_bytes"]}


@pytest.mark.parametrize("scale", ["demo", "laptop"])
def test_the_first_request_has_room_for_nearly_all_runs_of_the_reference_and_the_second_for_all(scale):
    """A run that needs more is sent again, with twice the memory."""
    runs, peaks, requests = own_plan().runs(scale), measured(own_plan(), scale), Requests()
    share = {
        attempt: [
            peaks[name] / 1e6 / requests.megabytes(runs[name].cost, attempt) for name in peaks.keys() & runs.keys()
        ]
        for attempt in (1, 2)
    }
    assert len(share[1]) > 500
    assert sum(one > 1 for one in share[1]) <= 0.01 * len(share[1])
    assert max(share[2]) < 1


@pytest.mark.parametrize("kind", costs.KINDS)
def test_every_kind_grows_with_the_rows_and_the_epochs(kind):
    small, large = (estimate(kind, ProblemSize(n, 1000, 50, 2), {}, (10,)) for n in (1_000, 20_000))
    assert 0 < small.seconds < large.seconds and 0 < small.memory_bytes < large.memory_bytes
    if kind not in ("dense", "timed"):
        assert estimate(kind, ProblemSize(1_000, 1000, 50, 2), {}, (100,)).seconds > small.seconds
