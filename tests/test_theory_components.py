"""Analyses of component analysis, compared with closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest

from shallows_papers.papers.kpca.gaussian_subspace import Law, convergence, eigenfunctions
from shallows_papers.papers.kpca.kept_bytes import kept_bytes
from shallows_papers.papers.kpca.orthogonalised_steps import angle_by_iteration, one_step

BRIEF = {"batch_size": 128, "block_size": 64, "max_blocks": 40}


@pytest.fixture(scope="module")
def normal():
    return SimpleNamespace(x_train=np.random.default_rng(0).normal(size=(8000, 1)))


def test_the_measures_are_zero_for_the_eigenfunctions_and_say_how_far_others_are():
    law = Law(0.5, 3)
    turned = law.truth @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    same, other = law.compare(law.truth), law.compare(turned)
    assert max(same["squared_sine"], same["pointwise_error"], other["squared_sine"]) < 1e-6
    assert same["alignment"] > 0.999 > other["alignment"]
    # The third function is mixed with the fourth, of the same size, by an angle of cos² = 0.9.
    wide = Law(0.5, 4).truth
    mixed = np.column_stack([wide[:, :2], np.sqrt(0.9) * wide[:, 2] + np.sqrt(0.1) * wide[:, 3]])
    found = law.compare(mixed)
    assert found["squared_sine"] == pytest.approx(0.1, rel=0.02)
    assert found["pointwise_error"] == pytest.approx(0.1 * law.eigenvalues[2], rel=0.05)


@pytest.mark.parametrize("start", ["warm", "poor"])
def test_the_functions_come_near_the_hermite_functions(normal, start):
    found = convergence(normal, start=start, decrease=0.1, n_marks=6, **BRIEF)
    assert found.index[-1] == 62 * 128
    assert found.curve["squared_sine"][-1] < 0.02
    assert found.curve["squared_sine"][-1] == found.numbers["final"]
    if start == "poor":
        assert 0.5 < found.numbers["start_cosine"] < 0.6
        assert found.curve["squared_sine"][0] > 0.2
    else:
        assert found.numbers["start_cosine"] > 0.95


def test_single_eigenfunctions_are_found_by_the_generalised_hebbian_rule_alone(normal):
    single, span = (
        convergence(normal, start="turned", individual=individual, decrease=0.1, n_marks=4, **BRIEF).curve["alignment"]
        for individual in (True, False)
    )
    assert single[-1] > 0.95
    assert span[-1] < 0.6, "the rule for the span undid a mixing within it"


def test_eigenfunctions_have_the_size_and_the_sign_of_the_hermite_functions(normal):
    found = eigenfunctions(normal, decrease=0.1, **BRIEF)
    for i in (1, 2, 3):
        assert found.numbers[f"deviation_{i}"] < 0.12
        off = np.array(found.curve[f"found_{i}"]) - np.array(found.curve[f"true_{i}"])
        assert np.sqrt(np.mean(off**2)) < 0.2


def test_bytes_grow_with_the_features_and_not_with_the_inputs():
    by_features = kept_bytes(None, sizes=[512, 1024, 2048]).curve["bytes"]
    assert np.diff(by_features) == pytest.approx([512 * 2 * 3 * 8, 1024 * 2 * 3 * 8], rel=0.3)
    by_inputs = kept_bytes(None, along="n_inputs", sizes=[5, 500], n_features=256).curve["bytes"]
    assert by_inputs[1] == pytest.approx(by_inputs[0], rel=0.1)
    kept = kept_bytes(None, along="n_inputs", sizes=[5, 500], n_features=256, cache_bytes=2**24).curve["bytes"]
    assert kept[1] > 10 * kept[0], "frequencies that are kept are not counted"


def test_without_orthogonalisation_the_angle_falls_as_with_it_and_a_step_differs_by_the_square_of_its_size():
    data = SimpleNamespace(
        x_train=np.random.default_rng(1).normal(size=(300, 2)), y_train=np.zeros(300), info={"task": "none"}
    )
    found = angle_by_iteration(data, n_points=200, n_iterations=600, n_marks=8)
    for name in ("squared_sine", "orthogonalised"):
        assert found.curve[name][0] > 0.3
        assert found.curve[name][-1] < 0.02
    steps = [0.001, 0.01, 0.1]
    difference = one_step(data, steps=steps, n_points=200).curve["difference"]
    assert np.polyfit(np.log(steps), np.log(difference), 1)[0] == pytest.approx(2.0, abs=0.15)
