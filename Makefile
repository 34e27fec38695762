# Every target except clean first installs what it needs in .venv. If .venv is up
# to date, this does nothing.

PYTHON ?= python3
BIN := .venv/bin

# The tests run in two parts: a TensorFlow process grows, and each process must
# stay under 3 GB.
NETWORKS := $(addprefix tests/,finetuning kinds layers models pretraining text \
	training)
OTHERS := $(addprefix --ignore=,$(NETWORKS))
# Neighbouring tests share fixtures, so each process gets many tests at once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: setup demo demo-pretraining test test-slow test-all lint docs bench \
	bench-server clean

setup: .venv/installed-for-tests

# Python compiles a module when a program first imports it. pip would compile all
# modules, which takes as long as the installation. If Python may not store what it
# compiles, each process of the tests and of the demo compiles TensorFlow again.
export PYTHONDONTWRITEBYTECODE :=

.venv/installed: setup.py
	@$(PYTHON) -c 'import sys; (3, 11) <= sys.version_info < (3, 14) or sys.exit("keras_bert needs Python 3.11, 3.12 or 3.13; for example, run make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --no-compile --editable .
	touch $@

.venv/installed-for-tests: .venv/installed
	$(BIN)/pip install --quiet --no-compile --editable '.[test]'
	touch $@

demo: .venv/installed
	$(BIN)/python examples/demo.py --output_dir=demo_output

demo-pretraining: .venv/installed
	$(BIN)/python examples/demo_pretraining.py --output_dir=demo_output

test: setup
	$(PYTEST) $(NETWORKS)
	$(PYTEST) $(OTHERS)

# For example PYTEST_FLAGS=-x
test-slow: setup
	$(PYTEST) -m slow $(PYTEST_FLAGS) $(NETWORKS)
	$(PYTEST) -m slow $(PYTEST_FLAGS) $(OTHERS)

test-all: test test-slow

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Builds the site and runs the notebooks. A warning, such as a dead link, is an
# error. Then open .site/index.html.
docs: setup
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs .site

# For example BENCH_FLAGS=--only=inference,tokenization
bench: setup
	$(BIN)/python benchmarks/compare.py $(BENCH_FLAGS)

# BENCH_FLAGS must contain --model, --short and --long, which
# benchmarks/server_load.py explains.
bench-server: setup
	$(BIN)/python benchmarks/server_load.py $(BENCH_FLAGS)

clean:
	rm -rf .bench .site .venv build docs/api demo_output keras_bert_tf.egg-info
