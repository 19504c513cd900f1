"""Puts workflow, configuration, embedded data and reference results into the wheel, as shallows_papers/_workflow.

A clone has them next to src/, so an editable installation leaves them out.
"""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PARTS = ("Snakefile", "workflow", "config", "profiles/default", "data/embedded", "results/reference")


class WithWorkflow(BuildHookInterface):
    """Adds them where a wheel is built to be installed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say which files of the project go where."""
        if version == "standard":
            build_data["force_include"].update({part: f"shallows_papers/_workflow/{part}" for part in PARTS})
