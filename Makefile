# make demo   a first look: environment, install, regions on scikit-learn's diabetes data, report.html
# make test   environment, lint, types, import contract, default tests
PYTHON ?= python3
VENV := .venv/bin/python
# With the data folder set, tables are read from disk; otherwise they come from OpenML.
export GRANITE_DATA

.DEFAULT_GOAL := demo
.PHONY: demo test test-all test-oldest test-pythons lint bench experiments experiment mutants fuzz docs wheel

demo: .venv/.package
	$(VENV) -m granite_xai.cli demo --report report.html

# Two workers on two cores: a model that starts threads of its own in each would only make them wait.
test test-all test-oldest test-pythons docs mutants fuzz: export OMP_NUM_THREADS = 1

test: lint
	$(VENV) -m pytest -n 2 -m "not slow and not browser"

# A test that was skipped because a package is missing counts as failed here: group "full" has them all but torch.
test-all: lint .venv/.full node_modules/axe-core/axe.min.js
	GRANITE_TEST_PROFILE=deep $(VENV) -m pytest -n 2 --require-packages
	$(MAKE) test-oldest test-pythons

# What reads the report as a blind reader's program does, and complains.
node_modules/axe-core/axe.min.js:
	npm install --silent --no-save --no-package-lock --no-audit --no-fund axe-core@4

# Tables, models, fits and files: where other packages are met. Left out where the Python is not on the PATH.
MET := tests/parts tests/displays \
	tests/use/test_saving.py tests/spec/test_fuzz.py \
	tests/use/test_estimator.py tests/use/test_explainer.py tests/use/test_model_table.py
HAS = "$(1)" -c 'import ensurepip, venv' >/dev/null 2>&1

# The oldest Python with the oldest versions that pyproject.toml allows.
test-oldest:
	@if $(call HAS,python3.11); then \
		$(MAKE) .venv-oldest/.installed && .venv-oldest/bin/python -m pytest -n 2 -m "not slow and not browser" $(MET); \
	else echo 'The oldest versions are not tested: there is no python3.11 on the PATH.'; fi

# The other Pythons with the newest versions.
test-pythons:
	@for version in 3.12 3.13; do \
		if $(call HAS,python$$version); then \
			$(MAKE) .venv-$$version/.installed && \
			.venv-$$version/bin/python -m pytest -n 2 -m "not slow and not browser" $(MET) || exit 1; \
		else echo "Python $$version is not tested: there is no python$$version on the PATH."; fi; \
	done

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

# Random fits against the definitions: a failure prints the seed that repeats it.
SECONDS ?= 3600
fuzz: .venv/.test
	$(VENV) tests/spec/fuzz.py --seconds $(SECONDS)

# Small faults planted in the search and in inference, each against the tests of promises and those of its room: hours.
mutants: .venv/.test
	$(VENV) tests/mutants.py --seed 4 --count 200 --workers 2 --out mutants.json

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

.venv-oldest/.installed: pyproject.toml tests/oldest.py
	python3.11 -m venv --clear .venv-oldest
	.venv-oldest/bin/python tests/oldest.py > .venv-oldest/versions.txt
	.venv-oldest/bin/python -m pip install --quiet --requirement .venv-oldest/versions.txt
	.venv-oldest/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

.venv-3.%/.installed: pyproject.toml
	python3.$* -m venv --clear .venv-3.$*
	.venv-3.$*/bin/python -m pip install --quiet "pip>=25.1"
	.venv-3.$*/bin/python -m pip install --quiet --group test --editable .
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
