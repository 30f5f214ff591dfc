# Two commands matter: `make demo` and `make test`. Both make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := metacog-demo
# A worker of the tests per core: libraries that start a thread per core besides only wait for each other.
ONE_THREAD := POLARS_MAX_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

# One more than there are cores: a fifth of the time of tests is waiting, for servers, disks and processes.
WORKERS ?= $(shell echo $$(( $$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2) + 1 )))

.DEFAULT_GOAL := help
.PHONY: help demo test lint types ui docs lowest proofs bench mutants clean

help:
	@echo "make demo   install, run the demo study through Dagster, print who does best"
	@echo "make test   install with test tools, run every test"
	@echo "make lint   style, imports, types"
	@echo "make ui     open the Dagster UI on the demo study"
	@echo "make docs   build the documentation site in build/site"
	@echo "make lowest install the lowest versions that are allowed, run a part of the tests on them"
	@echo "make proofs run whole studies end to end: minutes each, beside the tests"
	@echo "make bench  measure speed and memory, write bench-results/"
	@echo "make mutants change the code in known ways, see that its tests notice; AREA=llm runs one area"

$(VENV)/.uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is older than 3.11: run make PYTHON=python3.11 (or newer)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: on Debian install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv 2>/dev/null || true
	@touch $@

# uv is quick; where it cannot reach the user's configured index, pip does the same work.
define install
	@echo "installing $(1) into $(VENV) ..."
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode -c constraints.txt -e '$(1)' \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '$(1)'
	@$(BIN)/python -m compileall -q metacog_pipeline assets
endef

$(VENV)/.runtime: $(VENV)/.uv pyproject.toml constraints.txt
	$(call install,.[ui])
	@touch $@

# pip first: it knows CPU builds of torch that the user configured; elsewhere both take the same one.
$(VENV)/.dev: $(VENV)/.uv pyproject.toml constraints.txt
	@echo "installing torch into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(call install,.[dev])
	@touch $@ $(VENV)/.runtime

demo: $(VENV)/.runtime
	@$(BIN)/metacog demo --folder $(DEMO)

ui: $(VENV)/.runtime
	@$(BIN)/metacog demo --folder $(DEMO) --quiet
	@$(BIN)/metacog ui $(DEMO)/study.toml

# Compiled tests are kept, whatever the user's shell says: each worker would compile them anew, for 7 s.
test: $(VENV)/.dev
	@$(ONE_THREAD) PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not bench and not proof"

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/mypy

LOWEST := .venv-lowest
LOWEST_TESTS := tests/test_api.py tests/test_study.py tests/cli/test_json.py tests/cli/test_mistakes.py \
  tests/stats/test_examples.py tests/leaderboard/test_build.py tests/leaderboard/test_read.py \
  tests/llm/test_client.py tests/assets/test_definitions.py tests/assets/test_batch_sensor.py \
  tests/test_images.py

$(LOWEST)/.installed: $(VENV)/.uv pyproject.toml
	@$(PYTHON) -m venv --without-pip $(LOWEST)
	@$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[celery,k8s,plots,postgres,ui]' pytest==9.2.0 \
	  hypothesis==6.150.0
	@touch $@

# Old releases warn of what newer ones of their own dependencies call outdated.
lowest: $(LOWEST)/.installed
	@$(ONE_THREAD) $(LOWEST)/bin/python -m pytest -q -W ignore::DeprecationWarning $(LOWEST_TESTS)

docs: $(VENV)/.dev
	@$(BIN)/python docs/build_site.py

proofs: $(VENV)/.dev
	@$(BIN)/python -m pytest -m proof

bench: $(VENV)/.dev
	@$(BIN)/python -m pytest -m bench tests/performance -q

mutants: $(VENV)/.dev
	@$(BIN)/python tests/mutants/run.py $(if $(AREA),--area $(AREA))

clean:
	rm -rf $(VENV) $(LOWEST) build $(DEMO) bench-results
