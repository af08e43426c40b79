# Each target installs what it needs.

PYTHON ?= python3
TORCH ?= torch==2.13.0
VENV := .venv
BACKENDS_VENV := .venv-backends
OLDEST_VENV := .venv-oldest
NEWEST_VENV := .venv-newest
NEXT_VENV := .venv-next
WHEEL_VENV := .venv-wheel
BIN := $(VENV)/bin
# worksteal: an idle worker takes half of the other worker's tests.
WORKERS := -n 2 --dist worksteal
# tests/tiers.py has it too, to make these tests faster.
QUICK := -m "not exhaustive"

.PHONY: demo docs test test-ci test-all lint test-wheel test-backends test-spark test-oldest test-newest test-next clean

demo: $(VENV)/installed ## Find names, compare vectors, and train, save, reload and export a tagger
	@$(BIN)/python examples/quickstart.py $(if $(OPTIONS),--options $(OPTIONS)) $(if $(WEIGHTS),--weights $(WEIGHTS))

# The build runs the tutorials and fails on any warning.
docs: $(VENV)/installed-docs ## Build the documentation in docs/_build/html
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m sphinx -W --keep-going -q -E -b html docs docs/_build/html

test: $(VENV)/installed-dev ## All checks and one test per behaviour, on TensorFlow
	$(MAKE) lint
	$(BIN)/python -m pytest -q $(WORKERS) $(QUICK)

test-ci: test ## As `make test`, and then the exhaustive tests
	$(BIN)/python -m pytest -q $(WORKERS) -m exhaustive

test-all: $(VENV)/installed-dev ## All checks and all tests, on TensorFlow
	$(MAKE) lint
	$(BIN)/python -m pytest -q $(WORKERS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-wheel: $(VENV)/installed-dev ## Check the built distributions, and the wheel in its own environment
	rm -rf build dist $(WHEEL_VENV)
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/pip install --quiet dist/*.whl
	$(WHEEL_VENV)/bin/python -P tests/check_wheel.py
	$(WHEEL_VENV)/bin/keras-elmo embed --help

test-backends: $(BACKENDS_VENV)/installed ## The quick tests of the layers, on PyTorch and JAX
	KERAS_BACKEND=torch $(BACKENDS_VENV)/bin/python -m pytest -q $(WORKERS) $(QUICK) $(BACKEND_TESTS)
	rm -rf $(JAX_CACHE)
	KERAS_BACKEND=jax $(JAX_SETTINGS) $(BACKENDS_VENV)/bin/python -m pytest -q $(WORKERS) $(QUICK) $(BACKEND_TESTS) $(JAX_TESTS)
# What a worker has compiled, all workers load. Most of it runs only once, so
# compiling it quickly is faster.
JAX_CACHE := $(BACKENDS_VENV)/jax-cache
JAX_SETTINGS = JAX_COMPILATION_CACHE_DIR=$(abspath $(JAX_CACHE)) JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 \
	$(if $(QUICK),JAX_DISABLE_MOST_OPTIMIZATIONS=1)
JAX_TESTS := tests/pretraining/test_muon.py
LANGUAGE_MODEL_TESTS := bidirectional_language_model vocabulary_softmax candidate_sampling text_windows \
	perplexity language_model_windows window_batches training_steps jax
BACKEND_TESTS := tests/test_docs_backends.py tests/test_docs_pretraining.py tests/layers tests/ops tests/crf \
	tests/tagging tests/embedding/test_elmo_embedder.py tests/test_conformance.py tests/test_reference.py \
	tests/formats/test_torch_state_dicts.py tests/formats/test_many_langs.py tests/text/test_byte_indexer.py \
	$(addprefix tests/pretraining/test_,$(LANGUAGE_MODEL_TESTS:=.py))

test-spark: $(VENV)/installed-dev ## Test the embedder on Spark, which needs Java
	$(BIN)/pip install --quiet -e .[spark]
	$(BIN)/python -m pytest -q -rs tests/cluster/test_spark.py

test-oldest: ## Test with the oldest supported versions
	$(PYTHON) -m venv $(OLDEST_VENV)
	$(OLDEST_VENV)/bin/pip install --quiet -c tests/oldest.txt -e .[dev]
	$(OLDEST_VENV)/bin/python -m pytest -q $(WORKERS)

test-newest: ## Test with the newest available versions
	$(PYTHON) -m venv $(NEWEST_VENV)
	$(NEWEST_VENV)/bin/pip install --quiet --upgrade -e .[dev]
	$(NEWEST_VENV)/bin/python -m pytest -q $(WORKERS)

# keras-nightly has the files of keras, so it takes their place.
test-next: ## Run the quick tests on the pre-release of Keras
	$(PYTHON) -m venv $(NEXT_VENV)
	$(NEXT_VENV)/bin/pip install --quiet -e .[dev]
	$(NEXT_VENV)/bin/pip uninstall --quiet --yes keras keras-nightly
	$(NEXT_VENV)/bin/pip install --quiet --pre keras-nightly
	$(NEXT_VENV)/bin/python -m pytest -q $(WORKERS) $(QUICK)

# With two --quiet, pip prints only errors.
$(VENV)/installed: setup.cfg pyproject.toml
	@echo "Installing the package into $(VENV), which takes two minutes"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --quiet -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet -e .[dev]
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/pip install --quiet -e .[docs]
	touch $@

# JAX and PyTorch replace TensorFlow here, so TensorFlow is not installed.
$(BACKENDS_VENV)/installed: setup.cfg pyproject.toml
	$(PYTHON) -m venv $(BACKENDS_VENV)
	$(BACKENDS_VENV)/bin/pip install --quiet $(TORCH) jax keras h5py numpy pytest pytest-xdist
	$(BACKENDS_VENV)/bin/pip install --quiet --no-deps -e .
	touch $@

clean:
	rm -rf .venv* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
