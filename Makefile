# `make run` and `make test` are all a newcomer needs; the rest is for those who change the program.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test fast lint processes proof peers torture walk pictures clean

run: $(STAMP) ## the dashboard; the demo when no key is set
	@if $(BIN)/workers-tui key list | grep -qE '  +(kept|from |none needed)'; \
	then exec $(BIN)/workers-tui; else exec $(BIN)/workers-tui --demo; fi

test: lint fast ## what has to be green before a change lands

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fast: $(STAMP)
	$(BIN)/pytest -n 2 -q -rs

processes: $(STAMP) ## whole programs that start, meet and die, and tours of the whole dashboard
	$(BIN)/pytest -n 2 -q -rs -m processes

proof: $(STAMP) ## shows that tests fail without the code they are for; takes a quarter of an hour
	$(BIN)/python -m tests.proof.run --jobs 2

peers: $(STAMP) ## real Claude Code, MCP clients and models; skipped by name where they are missing
	tests/peers/install.sh
	tests/peers/install_smol.sh
	$(BIN)/pytest -m peers tests/peers -q -rs --timeout 600 -o addopts="--strict-markers --import-mode=importlib"

torture: $(STAMP) ## hundreds of kills and thousands of calls; takes minutes
	$(BIN)/pytest -m torture tests/torture -q -s --timeout 1800 -p no:randomly -o addopts="--strict-markers --import-mode=importlib"

walk: $(STAMP) ## drives the demo in tmux through every key at five sizes
	$(BIN)/python tests/walk/walk.py

pictures: $(STAMP) ## the README's pictures, made from the running program
	$(BIN)/python screenshots/make.py

$(STAMP): pyproject.toml constraints.txt
	@echo "installing into $(VENV): a minute or so, once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .cache build dist
