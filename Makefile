# `make demo` and `make test` need only make, Python 3.11 or newer and a package index; they set up the rest.

PYTHON ?= python3
WORKERS ?= auto
CASES ?= 10000
SEED ?= 1

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up

.PHONY: help demo test test-all lint types layers numbers numbers-tighten unit coverage test-workloads test-simulations cases campaign format docs clean
.DEFAULT_GOAL := help

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## Live through a day of a job beside the batch query
	@$(BIN)/slackwater demo

test: lint types layers numbers unit ## Check lint, types, layers, numbers, and run the tests of the day

test-all: export SLACKWATER_TESTS_ALL := 1
test-all: lint types layers numbers unit ## Check lint, types, layers, numbers, and run all tests

lint: $(STAMP) ## Check style and formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP) ## Check types
	$(BIN)/mypy

layers: $(STAMP) ## Check that nothing below imports anything above
	$(BIN)/lint-imports --no-logo

numbers: $(STAMP) ## Print the numbers of the code, and check that none is worse than its limit
	$(BIN)/python -m tools.code_numbers

numbers-tighten: $(STAMP) ## Write the numbers that got better as the new limits
	$(BIN)/python -m tools.code_numbers --tighten

unit: $(STAMP) ## Run the tests of the day, or of SLACKWATER_TESTS_DAY=2026-11-16
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup

coverage: $(STAMP) ## Run the tests but the heavy ones, and tell what they do not reach; this takes twice as long
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m "not heavy" --cov --cov-report=term

test-workloads: $(STAMP) ## Run every benchmark query as a job on Spark, in every setting, and kill one forty times
	SLACKWATER_TESTS_ALL=1 SLACKWATER_EVERY_SETTING=1 $(BIN)/pytest -n 2 tests/workloads/test_jobs_on_spark.py tests/job/test_crash.py

test-simulations: $(STAMP) ## Simulate every benchmark query on DuckDB, by every method, in every setting
	SLACKWATER_TESTS_ALL=1 SLACKWATER_EVERY_SETTING=1 $(BIN)/pytest -n $(WORKERS) tests/workloads/test_simulated_plans.py tests/workloads/test_states_are_read.py

cases: $(STAMP) ## Look for a failing plan among CASES random ones, from SEED on
	$(BIN)/python -m tests.optimizer.plans --cases $(CASES) --seed $(SEED)

campaign: $(STAMP) ## Let CASES jobs live through faults, from SEED on: killed, stopped, full disks, power cuts, bad inputs
	$(BIN)/python -m tests.campaign --cases $(CASES) --seed $(SEED)

format: $(STAMP) ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

docs: $(STAMP) ## Write the pages that are generated
	$(BIN)/python -m slackwater.cli.reference docs/cli.md
	$(BIN)/python -m slackwater.cli.rule_reference docs/rules.md
	$(BIN)/python -m slackwater.job.file.config docs/slackwater.schema.json

clean: ## Remove caches and build products; the environment in .venv stays
	rm -rf build dist htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf .hypothesis spark-warehouse metastore_db derby.log demo
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment that exists is kept and brought up to date. Java is part of it: the one found, or one installed.
$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) > /dev/null || { \
	  echo "error: there is no '$(PYTHON)'; install Python 3.11 or newer, or name yours: make PYTHON=python3.12 ..." >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $$($(PYTHON) --version) is too old; Slackwater needs 3.11 or newer: make PYTHON=python3.12 ..." >&2; \
	  exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) (the first time takes a minute or two) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[workloads,dev]'
	@$(BIN)/python -m slackwater.spark.java --ensure
	@touch $@
