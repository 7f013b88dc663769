# Everything lives in .venv: Python's own venv, then uv, then the packages of requirements.lock by hash.
PYTHON ?= python3
DEMO ?= exomars-drawbar
NAME ?=
VENV := .venv
BIN := $(VENV)/bin
GPU_PYTHON ?= $(BIN)/python
UV := $(BIN)/uv
COMMANDS := grouser.cli, grouser.commands.figure_workers, grouser.scenarios.exomars_drawbar, matplotlib.figure, rich.table
LOCKED := $(UV) pip install --quiet --python $(BIN)/python
CALM := -m "not long and not batch and not browser and not nightly and not gpu and not package"

.PHONY: help setup demo fuzz test test-all nightly browser lint bench gpu-test package-test docs warm lock wheel clean

help:
	@echo "make setup     environment in $(VENV), from requirements.lock"
	@echo "make demo      run the main job into demo/ (DEMO=NAME for another scenario)"
	@echo "make test      the tests, in minutes"
	@echo "make test-all  the long, batch and browser tests"
	@echo "make nightly   campaigns of cases too long for the above, and coverage"
	@echo "make fuzz      random settings and files for MINUTES=5"
	@echo "make lint      ruff, import-linter, pyright"
	@echo "make bench     benchmarks (NAME=CASE for one)"
	@echo "make gpu-test  CUDA against CPU; needs an NVIDIA GPU"
	@echo "make package-test  the built wheel and each of its extras in empty environments"
	@echo "make docs      the documentation site in site/"
	@echo "make lock      write requirements.lock anew"
	@echo "make wheel     build dist/*.whl"
	@echo "make clean     remove what the targets above made"

setup: $(VENV)/project.stamp

$(VENV)/uv.stamp: requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo "Grouser needs Python 3.11 or newer: '$(PYTHON)' is not on PATH (make setup PYTHON=...)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Grouser needs Python 3.11 or newer: '$(PYTHON)' is $$($(PYTHON) --version) (make setup PYTHON=python3.12)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "Python's venv is missing: install it first, on Debian 'apt-get install python3-venv'"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $(VENV)/uv.lock
	@touch $@

$(VENV)/packages.stamp: requirements.lock $(VENV)/uv.stamp
	@echo "installing the packages of requirements.lock into $(VENV)"
	@$(LOCKED) --require-hashes --only-binary :all: -r requirements.lock
	@touch $@

# Bytecode of what commands load is kept at once, also where Python is told to keep none: each would compile it again.
$(VENV)/project.stamp: pyproject.toml $(VENV)/packages.stamp
	@$(LOCKED) --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src/grouser
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -c "import $(COMMANDS)"
	@touch $@

demo: setup
	$(BIN)/grouser run $(DEMO) --out demo --force
	$(BIN)/grouser export demo

# Kernels are compiled here once, or every worker of pytest would compile them side by side.
warm: setup
	@$(BIN)/grouser doctor --warm

test: warm
	$(BIN)/python -m pytest -n 2 $(CALM)

# The tests in a browser and of videos need Chromium and EGL; root on Debian gets them, others are told what to do.
browser:
	@if command -v chromium >/dev/null || test -n "$$GROUSER_BROWSER"; then exit 0; fi; \
	  if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	    echo "installing chromium for the browser tests"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium libegl1 >/dev/null; \
	  else \
	    echo "the browser tests need Chromium: on Debian 'apt-get install chromium libegl1', or set GROUSER_BROWSER"; exit 1; \
	  fi

# Status 5 of pytest: no test carries such a mark.
test-all: warm browser
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "long or batch or browser" \
	  || { status=$$?; test $$status -eq 5 && echo "no long, batch or browser tests"; }

# What takes longer than a change may wait for: campaigns of random cases, then how much of the code the tests reach.
nightly: warm
	@$(BIN)/python -m pytest -n 2 -m nightly \
	  || { status=$$?; test $$status -eq 5 && echo "no nightly tests"; }
	$(BIN)/python -m pytest -n 2 $(CALM) -q --cov=grouser --cov-report=term:skip-covered

# Random settings, files and recordings; SEED and ONLY='settings single-wheel' repeat a finding (docs/robustness.md).
MINUTES ?= 5
SEED ?= 0
fuzz: warm
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED) --only "$(ONLY)"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

bench: setup
	$(BIN)/grouser bench $(NAME)

# GPU_PYTHON=python3 takes an interpreter that has the packages already, on a machine that can install nothing.
gpu-test: $(if $(filter $(BIN)/python,$(GPU_PYTHON)),setup)
	@$(GPU_PYTHON) -c 'import sys, warp; warp.config.log_level = warp.LOG_ERROR; sys.exit(not warp.is_cuda_available())' \
	  || { echo "make gpu-test compares CUDA with the CPU and needs an NVIDIA GPU with its driver: none was found"; exit 1; }
	PYTHONPATH=src$${PYTHONPATH:+:$$PYTHONPATH} $(GPU_PYTHON) -m pytest -m gpu tests/gpu

# Empty environments take packages from where pip and uv of this machine do. Python 3.12 and 3.13 are tried where
# python3.12 and python3.13 run.
package-test: warm
	$(BIN)/python -m pytest -m package tests/package -rs

# The site in site/: a warning, such as a link that leads nowhere, is an error.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python docs/site/check_links.py site

lock: $(VENV)/uv.stamp
	$(UV) pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet --output-file requirements.lock
	@! grep -nE '://|--index|--find-links|--extra' requirements.lock || { echo "requirements.lock names an address"; exit 1; }

wheel: setup
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

clean:
	rm -rf $(VENV) dist demo site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
