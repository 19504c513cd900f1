"""Tables from names to kernels, losses and feature maps, which a reader of the source can follow."""

import ast
import inspect

import pytest

from shallows import features, kernels, losses
from shallows.solvers.expansions import block_policies


@pytest.mark.parametrize(
    "table", [kernels.KERNELS, losses.LOSSES, block_policies.POLICIES], ids=["kernels", "losses", "block policies"]
)
def test_everything_is_listed_under_its_own_name(table):
    assert {name: made.name for name, made in table.items()} == {name: name for name in table}


def subclasses(base):
    for made in base.__subclasses__():
        yield made
        yield from subclasses(made)


@pytest.mark.parametrize(
    ("base", "table", "room"), [(kernels.Kernel, kernels.KERNELS, kernels), (losses.Loss, losses.LOSSES, losses)]
)
def test_every_kernel_and_loss_with_a_name_is_listed(base, table, room):
    ours = [made for made in subclasses(base) if made.__module__.startswith(room.__name__)]
    named = {made for made in ours if isinstance(vars(made).get("name"), str)}
    assert named == set(table.values())


@pytest.mark.parametrize(
    ("room", "name"), [(kernels, "KERNELS"), (losses, "LOSSES"), (features, "FEATURE_MAPS")], ids=lambda x: str(x)[-9:]
)
def test_a_table_is_written_out(room, name):
    tree = ast.parse(inspect.getsource(room))
    (table,) = (n.value for n in tree.body if isinstance(n, ast.AnnAssign) and n.target.id == name)
    assert isinstance(table, ast.Dict)
    assert [key.value for key in table.keys] == list(getattr(room, name))
    assert all(isinstance(value, ast.Name) for value in table.values)
