# All commands work in a fresh clone that has only make, Python 3.11+ and a package index that pip
# can reach. Paths below are relative, so the checkout may lie in a folder with blanks in its name.

PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

# System parts that some tests need: a real SSH server, cron, and systemd to read its units. They
# are installed for root on Debian and Ubuntu; elsewhere the tests that need them skip and say what
# to install.
APT_PACKAGES := cron openssh-server procps systemd
# The same, where the distribution has them: a small cluster of Slurm.
APT_IF_THERE := munge slurm-client slurmctld slurmd

.DEFAULT_GOAL := help
.PHONY: help demo test check format fuzz bench bench-peers bench-hard bench-history bench-ranks bench-latency soak screenshot lock clean

help: ## this text
	@echo "make TARGET, where TARGET is:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

demo: $(VENV)/.runtime ## read the eight-rank example run: findings, summary, one SQL query
	@rm -rf .demo
	@echo '$$ runwatch scan examples/eight-ranks'
	@RUNWATCH_HOME=.demo $(RUN) -m runwatch scan examples/eight-ranks || test $$? -eq 1
	@echo
	@echo "\$$ runwatch sql \"$(DEMO_QUERY)\""
	@RUNWATCH_HOME=.demo $(RUN) -m runwatch sql "$(DEMO_QUERY)"

DEMO_QUERY := SELECT rank, max(step) AS last_step, round(avg(value), 3) AS mean_loss \
	FROM points WHERE metric = 'loss' GROUP BY rank ORDER BY rank

# By file: a file's tests may share a server, and those of the README build on each other.
test: $(VENV)/.dev $(VENV)/.system ## the tests; ARGS="-k name" picks some, ARGS="-n 0" is one by one
	@$(RUN) -m pytest --numprocesses logical --maxprocesses 8 --dist loadfile $(ARGS)

check: $(VENV)/.dev ## lint, formatting, types, and who imports whom
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@$(RUN) -c 'import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_logo=True))'

format: $(VENV)/.dev ## put the code into shape
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

fuzz: $(VENV)/.dev ## read a million logs with changed bytes; ARGS="--runs 1000 --first 7" says which
	@$(RUN) -m tests.parse.fuzz $(ARGS)

bench: $(VENV)/.dev ## how fast it is
	@$(RUN) -m pytest bench $(ARGS) --benchmark-json=.bench.json
	@$(RUN) -m bench.history .bench.json bench/history.jsonl

bench-peers: $(VENV)/.dev ## runwatch beside the tools that are told the schema
	@$(PIP) polars==2.1.0
	@$(RUN) -m bench.peers $(ARGS)

bench-hard: $(VENV)/.dev ## logs that are hard to read fast, and cost per byte as they grow
	@$(RUN) -m bench.hard $(ARGS)

bench-history: $(VENV)/.dev ## half a million rows of a service, page by page; ARGS="--rows 1000000"
	@$(RUN) -m bench.history_rows $(ARGS)

bench-ranks: $(VENV)/.dev ## what a thousand quiet rank files cost to follow, and whether 64 busy ones are kept up with
	@$(RUN) -m bench.ranks $(ARGS)

bench-latency: $(VENV)/.dev $(VENV)/.system ## from a line's write to its finding, here and over SSH
	@$(RUN) -m bench.latency $(ARGS)

soak: $(VENV)/.dev $(VENV)/.system ## an hour of log time: count lines through rotations, kills and broken connections
	@$(RUN) -m bench.soak $(ARGS)

screenshot: $(VENV)/.dev ## draw the README's picture anew
	@$(RUN) docs/screenshot.py

lock: ## pin the newest versions of everything in constraints.txt
	@rm -rf .lock && $(PYTHON) -m venv .lock
	@.lock/bin/python -m pip install --quiet --upgrade pip
	@.lock/bin/python -m pip install --quiet --editable '.[mlflow,notify,ssh,vertex,wandb,watch]' --group dev
	@{ echo '# The versions that are tested; `make lock` renews them.'; \
	   .lock/bin/python -m pip freeze --exclude-editable --all | grep -v '^setuptools=='; } > constraints.txt
	@rm -rf .lock

clean: ## remove what the commands above made
	@rm -rf $(VENV) .lock .demo .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .benchmarks

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer found" >&2; \
		echo "hint: install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version)" >&2
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "hint: on Debian and Ubuntu, install python3-venv" >&2; exit 1; }

# Stamps: a second call installs nothing unless what is to be installed has changed.
$(VENV)/.runtime: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing runwatch" >&2
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "installing the development tools" >&2
	@$(PIP) pip
	@$(PIP) --editable '.[mlflow,notify,ssh,vertex,wandb,watch]' --group dev
	@touch $@

$(VENV)/.system: $(VENV)/bin/python Makefile
	@if [ -n "$(APT_PACKAGES)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		DEBIAN_FRONTEND=noninteractive apt-get update --quiet=2 && \
		DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends $(APT_PACKAGES) && \
		{ DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends $(APT_IF_THERE) || \
		echo "not installed, so some tests skip: $(APT_IF_THERE)" >&2; }; fi
	@touch $@
