# make demo   a first look: environment, install, regions on scikit-learn's diabetes data, report.html
# make test   environment, lint, types, import contract, default tests
PYTHON ?= python3
VENV := .venv/bin/python
# With the data folder set, bike sharing and kin8nm are read from disk; otherwise they come from OpenML.
export GRANITE_DATA

.DEFAULT_GOAL := demo
.PHONY: demo test test-all lint bench experiments experiment mutants docs wheel

demo: .venv/.package
	$(VENV) -m granite_xai.cli demo --report report.html

# Two workers on two cores: a model that starts threads of its own in each would only make them wait.
test test-all docs mutants: export OMP_NUM_THREADS = 1

test: lint
	$(VENV) -m pytest -n 2 -m "not slow and not browser"

# A test that was skipped because a package is missing counts as failed here: group "full" has them all but torch.
test-all: lint .venv/.full
	GRANITE_TEST_PROFILE=deep $(VENV) -m pytest -n 2 --require-packages

# ("python -m importlinter.cli" would import the module, check nothing and succeed.)
lint: .venv/.test
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .
	$(VENV) -m mypy
	$(VENV) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

bench: .venv/.test
	$(VENV) benchmarks/run.py

# The paper's tables and figures, all of them or one: make experiment NAME=bike_local
experiments: .venv/.test
	$(VENV) -m experiments

experiment: .venv/.test
	$(VENV) -m experiments $(NAME)

# Small faults planted in the search, each against the tests of its own room. About an hour.
mutants: .venv/.test
	$(VENV) tests/mutants.py --seed 4 --count 200 --out mutants.json

docs: .venv/.docs
	$(VENV) -m sphinx -W --keep-going docs docs/_build/html

# What a stranger gets: a wheel, built, installed into an empty environment, and used there.
wheel: .venv/.package
	rm -rf dist .venv/wheel
	$(VENV) -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(VENV) -m venv .venv/wheel
	.venv/wheel/bin/python -m pip install --quiet dist/*.whl
	cd .venv/wheel && bin/granite demo --report report.html && test -s report.html

# One stamp per group: a second run needs no network, a changed pyproject.toml installs again.
.venv/.test .venv/.full .venv/.docs: .venv/.%: .venv/.package pyproject.toml
	$(VENV) -m pip install --quiet --group $*
	@touch $@

.venv/.package: .venv/.pip pyproject.toml
	$(VENV) -m pip install --quiet --editable .
	@touch $@

# The pip that comes with Python 3.11 does not know dependency groups.
.venv/.pip:
	@"$(PYTHON)" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo 'granite-xai needs Python 3.11 or newer with its venv module (on Debian: python3-venv), which "$(PYTHON)" is not; choose one with: make PYTHON=python3.12' >&2; exit 1; }
	@$(VENV) -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv
	$(VENV) -m pip install --quiet "pip>=25.1"
	@touch $@
