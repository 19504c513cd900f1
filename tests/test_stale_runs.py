"""Which runs, preparations and preconditioners of the whole demo a change of the sources makes out of date."""

import shutil
import sys

import pytest
import yaml

from own_plan import own_plan
from shallows_papers.experiments.identity import code, project_modules, signatures
from workflow_runs import PROJECT

catalogue = sys.modules["shallows_papers.datasets.catalogue"]
LEAST_SQUARES, RISKS = "shallows/solvers/least_squares", "shallows/solvers/regularized"
METHODS = own_plan().configuration.methods
RUNS = [run for run in own_plan().runs("demo").values() if METHODS[run.method]["runs"] != "analysis"]


def forget():
    """Let the next digest be read from the sources."""
    for module in (code, signatures, catalogue):
        for function in vars(module).values():
            getattr(function, "cache_clear", lambda: None)()


def digests(folder):
    """The code of every run, preparation and preconditioner of the demo, read from sources."""
    forget()
    with pytest.MonkeyPatch.context() as patch:
        kept = project_modules.SHALLOWS._kept_in
        found = project_modules.Sources(folder, ("shallows", "shallows_papers"), kept)
        patch.setattr(project_modules, "SHALLOWS", found)
        patch.setattr(catalogue, "CATALOGUE_PATH", folder / "shallows_papers" / "datasets" / "catalogue")
        plan = own_plan()
        runs = {run.id: code.files_of_run(METHODS[run.method], run.parameters) for run in plan.runs("demo").values()}
        made = {
            name: code.files_of_preconditioner(one.call, one.parameters)
            for name, one in plan.preconditioners("demo").items()
        }
        prepared = {
            (dataset, variant): code.digest_of_preparation(
                plan.catalogue[dataset], plan.configuration.steps_of(variant)
            )
            for dataset, variant in {(run.dataset, run.variant) for run in plan.runs("demo").values()}
        }
    forget()
    return {name: project_modules.digest(files) for name, files in (runs | made).items()} | prepared


@pytest.fixture(scope="module")
def stale(tmp_path_factory):
    """Returns what is out of date after changes of files: path -> a function of the old text, None for a new file."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(PROJECT / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    before = digests(folder)

    def after(changes):
        texts = {}
        try:
            for name, change in changes.items():
                path = folder / name
                texts[path] = path.read_text() if path.exists() else None
                path.write_text(change(texts[path]))
            now = digests(folder)
        finally:
            for path, text in texts.items():
                path.unlink() if text is None else path.write_text(text)
        return {name for name in before if now[name] != before[name]}

    return after


def solver_of(run):
    """The name of a run's solver, by its own parameter or by the default of what it calls."""
    place = next(iter(METHODS[run.method]["call"].values()))
    return {**(signatures.parameters(place) or {}), **run.parameters}.get("solver")


STEPS = {"directions", "step_rules", "step_grid", "iteration_time", "overhead", "training_cost", "rank_scaling"}


@pytest.mark.parametrize(
    ("solver", "module", "analyses"),
    [("eigenpro", f"{LEAST_SQUARES}/eigenpro.py", STEPS), ("pegasos", f"{RISKS}/pegasos.py", set())],
)
def test_a_change_of_a_solver_makes_exactly_its_users_out_of_date(stale, solver, module, analyses):
    found = stale({module: lambda text: text + "\n\nANYTHING = 1\n"})
    users = {run.id for run in RUNS if solver_of(run) == solver}
    rest = {run.method for run in own_plan().runs("demo").values() if run.id in found - users}
    assert users and users <= found
    assert rest == analyses
    assert found <= own_plan().runs("demo").keys()  # no preparation and no preconditioner


def test_a_comment_or_a_docstring_makes_nothing_out_of_date(stale):
    module = "shallows/kernels/radial.py"
    assert stale({module: lambda text: text.replace('"""', '"""Another text. ', 1) + "# more\n"}) == set()
    assert stale({module: lambda text: text + "ANYTHING = 1\n"}) != set()


def with_entry(table, entry):
    """Adds a line to a table of names."""

    def change(text):
        head, found, tail = text.partition(f"{table} = LazyTable(\n")
        before, brace, after = tail.partition("    {\n")
        assert found and brace
        return head + found + before + brace + f"        {entry},\n" + after

    return change


def with_another_dataset(text):
    content = yaml.safe_load(text)
    name, entry = next(iter(content["datasets"].items()))
    content["datasets"][f"{name}_again"] = {**entry, "title": "Another", "notes": "A copy."}
    return yaml.safe_dump(content, sort_keys=False)


NEW = {
    "shallows/kernels/sech.py": lambda _: "from .radial import RadialKernel\n\n\nclass Sech(RadialKernel):\n    pass\n",
    "shallows/kernels/__init__.py": with_entry("KERNELS", '"sech": ".sech:Sech"'),
    "shallows/features/sech.py": lambda _: (
        "from .base import FeatureStream\n\n\nclass Sech(FeatureStream):\n    pass\n"
    ),
    "shallows/features/__init__.py": with_entry("FEATURE_MAPS", '"sech": ".sech:Sech"'),
    f"{RISKS}/averaged_sgd.py": lambda _: (PROJECT / "tests" / "example_new_solver.py").read_text(),
    f"{RISKS}/__init__.py": with_entry("SOLVERS", '"averaged_sgd": ".averaged_sgd:AveragedSGD"'),
    "shallows_papers/datasets/catalogue/generated.yaml": with_another_dataset,
}


def test_a_new_kernel_map_solver_and_dataset_make_nothing_out_of_date(stale):
    assert stale(NEW) == set()
