# Statewright. `make run` and `make test` need rustup, Node.js 20 or newer and nothing else; the first of them to be
# called installs the rest, in the right versions, under node_modules/ and target/.

NODE := node_modules/.bin/node
# Not node_modules/.bin/tsc, which may be that of another version.
TSC := $(NODE) node_modules/typescript/bin/tsc
export WRANGLER_SEND_METRICS := false
# Cargo would take make's number of jobs for its own: it looks here first.
export CARGO_MAKEFLAGS :=

.PHONY: run test check bench deploy setup build format help

help:
	@echo "make run     the service on this machine (PORT, API_KEY, DATA, TIMEOUT_INTERVAL_SECS)"
	@echo "make test    make check, and every test"
	@echo "make check   formatting, lints, types and licences"
	@echo "make bench   the benchmarks: core, service and package"
	@echo "make deploy  to Cloudflare Workers (docs/deploy.md)"

setup:
	@sh scripts/need.sh
	@node scripts/setup.mjs

run: setup
	@exec $(NODE) scripts/run.ts

build: setup
	@$(NODE) scripts/build.ts
	@$(NODE) scripts/package.ts
	@$(NODE) scripts/www.ts

# Test files of http and www that measure time, or race it: one after the other, since two cores are soon shared out.
TIMED_HTTP := children|concurrency|killed|run|sinks|size|timers
TIMED_WWW := diagram-large

test:
	@sh scripts/need.sh
	@node scripts/setup.mjs --check --python --browser
	@# What is linted and what is released are compiled in folders of their own, each of which ends with one core idle.
	@$(MAKE) --no-print-directory -j2 $(BY_LINE) check build
	cargo test --locked --workspace
	$(NODE) --test --test-concurrency=2 --test-reporter=spec \
		"tests/{types,package,cli,xstate,component,conformance}/*.test.ts" \
		"tests/http/!($(TIMED_HTTP)).test.ts" "tests/www/!($(TIMED_WWW)).test.ts"
	$(NODE) --test --test-concurrency=1 --test-reporter=spec \
		"tests/{docs,load}/*.test.ts" "tests/http/@($(TIMED_HTTP)).test.ts" "tests/www/@($(TIMED_WWW)).test.ts"

# Where make can: of two things at a time, each says a line when it is done with it.
BY_LINE := $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)

check: setup
	@node scripts/setup.mjs --check
	cargo fmt --all --check
	cargo clippy --workspace --exclude statewright-worker --all-targets --all-features -- -D warnings
	cargo clippy -p statewright-worker -p statewright-js-core -p statewright-js-simulation -p statewright-js-engine -p statewright-component \
		--target wasm32-unknown-unknown -- -D warnings
	target/tools/bin/cargo-deny --locked check licenses bans sources
	@# Tests and examples are typed by the package that they use.
	@$(NODE) scripts/package.ts
	$(TSC) -p src/js
	$(TSC) -p .
	$(TSC) -p tests/types
	$(TSC) -p www
	$(TSC) -p tests/www
	$(NODE) scripts/openapi-types/node_modules/typescript/bin/tsc -p tests/types
	node_modules/.bin/prettier --check --log-level warn .

format: setup
	cargo fmt --all
	node_modules/.bin/prettier --write --log-level warn .

bench: build
	cargo bench -p statewright-core
	$(NODE) tests/load/bench.ts
	$(NODE) tests/load/js.ts

deploy: build
	@$(NODE) scripts/deploy.ts
