# make, make test, make check, make help. Everything happens in .venv, which is built from the locked requirements when it is out of date.

PYTHON ?= python3
CORES ?= all
SCALE ?= demo
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BOOK := .venv-docs
# Two processes with one thread each. Files stay whole, so that what a file has prepared is prepared once, and come in the
# order of tests/conftest.py, the longest first. What Python compiles is kept, also where a container's setting says no: the
# tests start some hundred processes.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := all
.PHONY: all demo laptop paper refresh report crate reference verify test test-all check lint format leaderboard bench drill-slurm docs explain lock release-check container clean distclean help

all: $(READY) ## every target at SCALE and the report: demo (the default, minutes), laptop (hours), paper (a GPU or a cluster)
	@$(BIN)/python -m shallows_papers.experiments.watching --scale $(SCALE) --cores $(CORES)

demo laptop paper: ## the same, by the name of the scale: make laptop
	@$(MAKE) --no-print-directory all SCALE=$@

report: $(READY) ## draw the page of SCALE from the reference results in the repository, without training: make report SCALE=laptop TARGET="..."
	@$(BIN)/python -m shallows_papers.reference report --scale $(SCALE) $(TARGET)

verify: $(READY) ## compare your own results with the reference, number by number: make verify SCALE=laptop TARGET="..."
	@$(BIN)/python -m shallows_papers.reference verify --scale $(SCALE) $(TARGET)

crate: $(VENV)/.crate ## results of a finished SCALE with workflow and data as a folder to deposit, an RO-Crate: make crate AGENT="Your Name"
	@$(BIN)/python -m shallows_papers.reference crate --scale $(SCALE) $(if $(AGENT),--agent "$(AGENT)") $(if $(OUT),--out "$(OUT)")

reference: $(READY) ## collect your own finished targets as the reference: make reference SCALE=laptop TARGET="..."
	@$(BIN)/python -m shallows_papers.reference collect --scale $(SCALE) $(if $(OLDER),--older) $(TARGET)

test: $(READY) ## the tests, without slow ones and those that run Snakemake or a browser: within five minutes on two cores
	@$(PYTEST) -m "not slow and not workflow and not browser"

test-all: $(READY) ## all tests
	@$(PYTEST)

check: $(READY) ## before a commit: lint, and a test of each kind, in a minute and a half
	@$(MAKE) --no-print-directory lint
	@$(PYTEST) -q --fast

lint: $(READY) ## ruff, snakefmt, mypy, the lint of Snakemake; English, links, and pages that are written by a program
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules
	@$(BIN)/python .ci/plain_words.py
	@$(BIN)/python .ci/links.py
	@$(BIN)/python .ci/stale_pages.py
	@$(BIN)/python -m shallows_papers.reference check
	@$(BIN)/python -m mypy
	@$(BIN)/snakemake --lint

format: $(READY) ## put code and rules into their format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/snakefmt Snakefile workflow/Snakefile workflow/rules

refresh: $(READY) ## recompute the runs of SCALE that other versions of NumPy, SciPy, scikit-learn, numba or CuPy made
	@$(BIN)/python -m shallows_papers.experiments.watching --scale $(SCALE) --cores $(CORES) --refresh

explain: $(READY) ## what TARGET would run at SCALE, on which data, at what cost: make explain TARGET=... SCALE=paper; all targets without one
	@$(BIN)/python -m shallows_papers.experiments.planning.explain $(TARGET) --scale $(SCALE)

leaderboard: $(READY) ## every method that suits a dataset on one page, at SCALE: make leaderboard DATASET=mnist SCALE=laptop
	@$(BIN)/python -m shallows_papers.experiments.running.snakemake_process && \
		$(BIN)/snakemake compare --cores $(CORES) --quiet reason --config dataset=$(DATASET) scale=$(SCALE)

bench: $(READY) ## the benchmark against other packages, in an environment of its own
	@benchmarks/run.sh

drill-slurm: $(READY) ## a part of the workflow on a Slurm of one node, disturbed in nine ways (root, Debian's packages, the extra cluster)
	@tests/drill/drill_slurm.sh

docs: $(BOOK)/.ready ## the book, in docs/_build/html, by Sphinx in an environment of its own
	@OMP_NUM_THREADS=1 $(BOOK)/bin/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "The book: $(CURDIR)/docs/_build/html/index.html"

lock: ## write requirements.txt anew from pyproject.toml (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes --no-header --no-annotate --upgrade pyproject.toml --output-file requirements.txt

release-check: $(READY) ## build the archive and the wheel, install them into an empty environment elsewhere and use them there
	@$(BIN)/python .ci/release_check.py --keep dist

container: ## the image "shallows" with the command and the locked packages, by Podman, Buildah or Docker
	@for tool in podman buildah docker; do \
		if $$tool info >/dev/null 2>&1; then exec $$tool build --file Containerfile --tag shallows .; fi; \
	done; echo "None of Podman, Buildah and Docker works here, so that the image was neither built nor tried."; exit 1

clean: ## remove results (but the reference) and prepared data; downloads stay
	@test ! -d results || find results -mindepth 1 -maxdepth 1 ! -name reference -exec rm -rf {} +
	rm -rf data/prepared data/logs .snakemake

distclean: clean ## remove downloads and the environment as well
	rm -rf data/raw docs/_build docs/_pages docs/_gallery docs/_explanations $(VENV) $(BOOK)

help: ## this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / {printf "%-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The stamp is written last, so that an environment that was not finished is built again.
$(READY): requirements.txt pyproject.toml
	@case "$(VENV)" in /*) ;; *) case "$$PWD" in *" "*) echo "The path of this folder holds a space, with which Snakemake cannot start jobs. \
	Move the folder, or make the environment elsewhere: make VENV=/a/path/without/spaces"; exit 1;; esac;; esac
	@rm -f $@
	@echo "Building the environment in $(VENV), which takes one to three minutes the first time ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11"; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
		test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) $(VENV); \
		uv pip sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode requirements.txt && \
		uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .; \
	else \
		test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
		$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --require-hashes --requirement requirements.txt && \
		$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .; \
	fi
	@touch $@

# What writes a crate is not in requirements.txt either.
$(VENV)/.crate: $(READY)
	@echo "Adding the extra \"crate\" to the environment in $(VENV) ..."
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python --no-build-isolation --editable ".[crate]"; \
	else \
		$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-build-isolation --editable ".[crate]"; \
	fi
	@touch $@

# What builds the book is not in requirements.txt: nothing else needs it.
$(BOOK)/.ready: pyproject.toml
	@rm -f $@
	@echo "Building the environment of the book in $(BOOK), which takes a minute the first time ..."
	@if command -v uv >/dev/null 2>&1; then \
		test -x $(BOOK)/bin/python || uv venv --quiet --python $(PYTHON) $(BOOK); \
		uv pip install --quiet --python $(BOOK)/bin/python --editable ".[docs]"; \
	else \
		test -x $(BOOK)/bin/python || $(PYTHON) -m venv $(BOOK); \
		$(BOOK)/bin/python -m pip install --quiet --quiet --disable-pip-version-check --editable ".[docs]"; \
	fi
	@touch $@
