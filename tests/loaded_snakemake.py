"""What Snakemake imports before it reads a workflow, its plugins among it, for processes that are forks of this one."""

import snakemake.report  # noqa: F401
from snakemake.cli import get_argument_parser

get_argument_parser()
