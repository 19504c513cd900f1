"""A check that Snakemake has the plugin of a profile; without the plugin, Snakemake prints pages of usage."""

import importlib.util
import sys


def require(plugin: str, needed: str, install: str) -> None:
    """End the program with one sentence if Snakemake lacks an executor's plugin.

    Parameters
    ----------
    plugin : str
        The name of the executor, such as "cluster-generic".
    needed, install : str
        What the profile needs, as text, and the arguments for ``pip install``.
    """
    if importlib.util.find_spec(f"snakemake_executor_plugin_{plugin.replace('-', '_')}") is None:
        print(
            f"Error: this profile needs {needed}: .venv/bin/pip install {install} (or: uv pip install {install}).",
            file=sys.stderr,
        )
        raise SystemExit(1)


def require_generic() -> None:
    """End the program with one sentence if Snakemake lacks its plugin for any command that takes jobs."""
    package = "snakemake-executor-plugin-cluster-generic"
    require("cluster-generic", f"the package {package}", package)
