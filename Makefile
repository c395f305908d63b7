# Two commands matter: `make quickstart` and `make test`. Both install what is missing first, and reuse it afterwards.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# pip takes packages of this folder for installed ones.
unexport PYTHONPATH

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
GRADLE := gradle --no-daemon -q
PACKAGE := python/tensorflow_ignite

# Stamps say what is done already; they are younger than what they were made from.
INSTALLED := $(VENV)/installed.stamp
TOOLS := build/tools.stamp
JARS := $(PACKAGE)/jars/add-opens.txt
NODES := build/classes.stamp
EXTENSION_SOURCES := $(wildcard $(PACKAGE)/storage/tf/*.[ch])
JAVA_SOURCES := $(shell find java/src/main java/config proto gradle -type f) build.gradle settings.gradle

.PHONY: help quickstart prepared test test-all test-six test-ignite-next matrix quick quick-java \
  lint lint-python lint-java lint-proto unit unit-python unit-java integration integration-python integration-java gpu chaos soak scale fuzz \
  bench bench-read bench-storage bench-recovery bench-shared bench-live bench-training bench-predict bench-sql \
  jars maven proto diagram venv lock licences sbom release release-test image docs format clean

help: ## List what there is to make.
	@echo 'make quickstart    three Ignite nodes on this machine train a model on real data, in under 2 minutes'
	@echo 'make test          each promise once: lint, unit and integration tests, Java and Python, in 12 minutes'
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 17

quickstart: prepared ## Train on a 3-node cluster on this machine, and clean up.
	@$(BIN)/python -m tensorflow_ignite.cli quickstart

# Packages are installed, which is mostly waiting for downloads, while Java is compiled.
prepared:
	@$(MAKE) --no-print-directory --jobs=2 $(INSTALLED) $(NODES)

# Phases one after the other, each with the machine for itself; tests/gate/phases.py says what they run.
GATE := $(BIN)/python tests/gate/run.py

test: prepared ## Run each promise once, with real nodes and TensorFlow: what continuous integration runs. 12 minutes.
	@$(GATE) test

test-all: prepared ## Run everything else, and go on after failures.
	@$(GATE) all

# One part of it: java, others, security, faults, tensorflow, docs or bench.
test-%: prepared
	@$(GATE) $*

test-six: $(INSTALLED) ## Run `make test` in six fresh clones, three of them beside two programs that spin.
	@$(GATE) six

test-ignite-next: $(TOOLS) ## Try our classes with the core of the next version of Ignite: what needs no SQL.
	$(GRADLE) checkNext

matrix: $(INSTALLED) $(TOOLS) ## Start a node of each version of Ignite with each Java and Python; CELLS='2.17.* 21 *'.
	$(GRADLE) matrixPackages
	@$(BIN)/python tests/matrix/matrix.py '$(or $(CELLS),*)'

# Two lanes at once; Gradle runs once, as two of it would wait for each other.
quick: $(INSTALLED) $(TOOLS) ## Run lint and unit tests: 2 minutes.
	@$(MAKE) --no-print-directory --jobs=2 --output-sync quick-java lint-python lint-proto unit-python
	@echo 'make quick: ok'

quick-java: $(TOOLS)
	$(GRADLE) checkFormat test

lint: lint-python lint-proto lint-java ## Check style, types, and that generated code matches proto/.

lint-python: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

lint-proto: $(INSTALLED)
	$(BIN)/python proto/generate.py --check

lint-java: $(TOOLS)
	$(GRADLE) checkFormat

unit: unit-java unit-python ## Run the unit tests; no Ignite node.

unit-java: $(TOOLS)
	$(GRADLE) test

# Many tests wait more than they compute.
unit-python: $(INSTALLED)
	$(BIN)/pytest --numprocesses=4 --dist=worksteal tests/unit

integration: integration-java integration-python ## Run the tests with real nodes of `make test`.

integration-java: $(TOOLS)
	$(GRADLE) integrationTest

integration-python: $(INSTALLED) $(NODES)
	$(BIN)/pytest --numprocesses=2 --dist=loadgroup --no-loadscope-reorder -m 'not full' tests/integration

gpu: $(INSTALLED) $(NODES) ## Check what needs a GPU: tasks and jobs compute on those that they were assigned. Skips where there is none.
	$(BIN)/pytest -rs tests/gpu

# The same SEED has the same schedule.
chaos: $(INSTALLED) $(NODES) ## Kill, freeze, cut and fill nodes of real trainings by a schedule; SEED=n FAULTS=n.
	SEED=$(or $(SEED),1) FAULTS=$(or $(FAULTS),30) $(BIN)/pytest tests/chaos/test_chaos.py
	KINDS=all $(BIN)/pytest tests/integration/test_kinds_lost_node_tensorflow.py

soak: $(INSTALLED) $(NODES) ## Read hundreds of epochs, and simulate 20,000 small clusters (SEEDS=n) and 10,000 jobs.
	$(BIN)/pytest -s tests/soak
	SIMULATION_SEEDS=$(or $(SEEDS),20000) SIMULATION_JOBS=10000 $(GRADLE) test --rerun-tasks --tests '*.simulation.*'

# Each stage has the nodes and the jobs of those before it: the first failure ends the run.
scale: $(INSTALLED) $(NODES) ## Run 9 nodes with 2,000 jobs that are over, 20 at once and 200 attempts; restart each node.
	$(BIN)/pytest -x -s tests/scale

# The same SEED sends the same messages.
fuzz: $(INSTALLED) $(NODES) ## Send a node 100,000 bad messages and 20,000 bad conditions; MESSAGES=n CONDITIONS=n SEED=n.
	MESSAGES=$(or $(MESSAGES),100000) CONDITIONS=$(or $(CONDITIONS),20000) SEED=$(or $(SEED),1) $(BIN)/pytest -s tests/fuzz

bench: bench-read bench-storage bench-recovery bench-shared bench-live bench-training bench-predict bench-sql ## Measure everything; needs a quiet machine.

# Ray has dependencies that would disagree with ours: it lives in an environment of its own.
RAY_VENV := build/bench/ray-venv
RAY_INSTALLED := $(RAY_VENV)/installed.stamp

bench-read: $(INSTALLED) $(NODES) $(RAY_INSTALLED) ## Measure reading and loading, beside Ray Data, TFRecord and others.
	$(BIN)/python benchmarks/read.py

bench-storage: $(INSTALLED) $(NODES) ## Measure checkpoints in the cluster, beside a local directory and pyignite.
	$(BIN)/python benchmarks/storage.py

bench-recovery: $(INSTALLED) $(NODES) $(RAY_INSTALLED) ## Measure starts, recoveries and idle nodes, beside by hand and Ray Train.
	$(BIN)/python benchmarks/recovery.py

bench-shared: $(INSTALLED) $(NODES) ## Measure two jobs at once on one node, against one after the other.
	$(BIN)/python benchmarks/shared_node.py

bench-sql: $(INSTALLED) $(NODES) ## Measure the rows of a query that calls a model for each of them.
	$(BIN)/python benchmarks/predict_sql.py

bench-live: $(INSTALLED) $(NODES) ## Measure what a job costs an application on the same nodes.
	$(BIN)/python benchmarks/live.py

bench-training: $(INSTALLED) $(NODES) $(RAY_INSTALLED) ## Measure the epochs of a training, beside by hand and Ray Train.
	$(BIN)/python benchmarks/training.py

bench-predict: $(INSTALLED) $(NODES) $(RAY_INSTALLED) ## Measure predictions in bulk and online, beside by hand, Ray Data and Ray Serve.
	$(BIN)/python benchmarks/predict.py

# tf-keras asks for `tensorflow`, which would overwrite tensorflow-cpu.
$(RAY_INSTALLED): benchmarks/ray-requirements.txt benchmarks/ray-no-deps.txt
	$(PYTHON) -m venv $(RAY_VENV)
	$(RAY_VENV)/bin/pip install --quiet --requirement $<
	$(RAY_VENV)/bin/pip install --quiet --no-deps --requirement benchmarks/ray-no-deps.txt
	@touch $@

jars: $(JARS) ## Build the plugin jar, and collect what a node needs to run.

$(JARS): $(JAVA_SOURCES) | $(TOOLS)
	$(GRADLE) packageJars
	@touch $@

# Nodes start in half the time. What goes wrong here costs no more than that.
$(NODES): $(JARS) java/share_classes.py | $(INSTALLED)
	$(BIN)/python java/share_classes.py || echo 'The classes of the jars are not shared; nodes start without.'
	@mkdir -p $(@D) && touch $@

maven: $(TOOLS) ## Write build/maven: the plugin jar with POM, sources and Javadoc, for applications in Java.
	$(GRADLE) mavenRepository

proto: $(INSTALLED) ## Generate the Python of proto/ again.
	$(BIN)/python proto/generate.py

diagram: $(TOOLS) ## Draw the job's states in docs/job-states.md again.
	$(GRADLE) diagram

venv: $(INSTALLED) ## Make .venv with everything that tests need.

# Either of tensorflow-cpu and tensorflow; both are pinned.
TENSORFLOW ?= tensorflow-cpu

# Only files that constraints.txt lists by their SHA-256, and no package that would run code to be built; but pyignite, which
# has wheels for some machines only. Dependencies are all listed: pip looks for none, so that tf-keras brings no `tensorflow`
# that would overwrite tensorflow-cpu.
$(INSTALLED): pyproject.toml setup.py build_backend.py constraints.txt $(EXTENSION_SOURCES)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "tensorflow-ignite needs Python 3.10 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo >&2 \
	  'python3 cannot make virtual environments. Install it (Debian: apt-get install python3-venv), then run make again.'; \
	  rm -rf $(VENV); exit 1; }
	awk -v keep=$(TENSORFLOW) -v folder=$(VENV) '/^[^ #]/ { name = $$0; sub(/=.*/, "", name); \
	  other = name != keep && (name == "tensorflow" || name == "tensorflow-cpu"); \
	  file = folder "/" (name == "pyignite" ? "built" : "requirements") ".txt" } file && !other { print > file }' constraints.txt
	$(BIN)/pip install --quiet --no-deps --require-hashes --only-binary :all: --requirement $(VENV)/requirements.txt
	$(BIN)/pip install --quiet --no-deps --require-hashes --no-build-isolation --prefer-binary --requirement $(VENV)/built.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# uv resolves for every version of Python at once, which pip cannot. What is pinned stays as it is unless it has to change;
# UPGRADE=1 takes the newest of everything.
LOCK_VENV := build/lock-venv
UPGRADE ?=
lock: $(TOOLS) ## Pin every dependency anew, Python and Java, each with its SHA-256.
	test -x $(LOCK_VENV)/bin/uv || { $(PYTHON) -m venv $(LOCK_VENV) && $(LOCK_VENV)/bin/pip install --quiet 'uv>=0.5'; }
	UV_PYTHON_DOWNLOADS=never $(LOCK_VENV)/bin/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes \
	  --no-annotate --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade) \
	  --extra cpu --extra tensorflow --extra dev --extra examples --output-file constraints.txt \
	  pyproject.toml dependencies/python.in
	$(GRADLE) lockJars

licences: $(INSTALLED) ## List every dependency with its licence; fail on one that nobody has agreed to.
	@$(BIN)/python dependencies/licences.py

sbom: $(INSTALLED) ## Write build/sbom.json: what we depend on, Python and Java, as CycloneDX.
	@$(BIN)/python dependencies/sbom.py build/sbom.json

# auditwheel is needed here alone, and lives in an environment of its own.
RELEASE_VENV := build/release/venv
RELEASE_INSTALLED := $(RELEASE_VENV)/installed.stamp

release: $(INSTALLED) $(TOOLS) $(RELEASE_INSTALLED) ## Build wheels, source distribution and jars for Maven into dist/, twice, and compare.
	$(BIN)/python release/build.py $(RELEASE_VENV)/bin/auditwheel

release-test: $(INSTALLED) ## Install dist/'s wheel in a bare system without network; run quickstart and tutorial there.
	$(BIN)/python release/bare_root.py

$(RELEASE_INSTALLED): release/requirements.txt
	$(PYTHON) -m venv $(RELEASE_VENV)
	$(RELEASE_VENV)/bin/pip install --quiet --requirement $<
	@touch $@

# docker without its daemon cannot build; the others need the format of docker, which alone has a HEALTHCHECK.
IMAGE := tensorflow-ignite:$(shell sed -n 's/^version = "\(.*\)"$$/\1/p' pyproject.toml)
image: ## Build the container image with docker, podman or buildah; BASE=IMAGE of Debian 12.
	@for tool in docker podman buildah none; do if $$tool info >/dev/null 2>&1; then break; fi; done; \
	case $$tool in \
	  docker) tool='docker build' ;; \
	  none) echo >&2 'No image can be built here: neither docker with its daemon, podman nor buildah runs. Install one' \
	    '(Debian: apt-get install podman), then run make image again.'; exit 1 ;; \
	  *) tool="$$tool build --format=docker" ;; \
	esac; \
	$$tool $(if $(BASE),--build-arg=BASE=$(BASE)) $(BUILD_OPTIONS) --tag=$(IMAGE) --file=Containerfile .

# The tools of the site live in an environment of their own too.
DOCS_VENV := build/docs/venv
DOCS_INSTALLED := $(DOCS_VENV)/installed.stamp

docs: $(INSTALLED) $(DOCS_INSTALLED) ## Build the documents and the reference as a site, build/docs/site; a wrong link is an error.
	$(BIN)/python docs/site/stage.py
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --config-file docs/site/mkdocs.yml
	@echo 'build/docs/site/index.html'

$(DOCS_INSTALLED): docs/site/requirements.txt
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/pip install --quiet --requirement $<
	@touch $@

# What cannot be installed into .venv: a JDK, and Gradle, which root gets from the package manager.
$(TOOLS):
	@command -v javac >/dev/null || { echo >&2 \
	  'No JDK was found (javac is not on the PATH). Install JDK 17 (Debian: apt-get install openjdk-17-jdk-headless), then run make again.'; \
	  exit 1; }
	@command -v gradle >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo 'Gradle is missing: apt-get install gradle'; \
	    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install gradle >/dev/null; \
	  else echo >&2 \
	    'Gradle is missing. Install Gradle 4.4 or later (Debian: sudo apt-get install gradle), then run make again.'; \
	    exit 1; \
	  fi; }
	@command -v nft >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
	  echo 'nft is missing, by which a test loads firewall rules: apt-get install nftables'; \
	  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install nftables >/dev/null || \
	    echo 'It could not be installed; that test is skipped.'; }
	@mkdir -p $(@D) && touch $@

format: $(INSTALLED) $(TOOLS) ## Format everything.
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(GRADLE) format

clean: ## Remove what was built; .venv stays.
	rm -rf build dist .gradle .mypy_cache .pytest_cache .ruff_cache $(PACKAGE)/jars python/*.egg-info
	rm -f $(PACKAGE)/storage/tf/*.so
	find python tests examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
