# make help lists the targets. V=1 shows what is run.

SHELL := /bin/bash
V ?= 0
export V
Q := $(if $(filter 1,$(V)),,@)

export PATH := $(CURDIR)/.lab/cargo/bin:$(PATH)

CARGO ?= cargo
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
CARGO_QUIET := $(if $(filter 1,$(V)),,--quiet)

.DEFAULT_GOAL := build
.PHONY: help setup build install deb rpm package-test aarch64 header matrix pictures docs check c-tests lab lab-shell test test-quick test-all bench soak demo clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

setup: ## install what build, lab and tests need (apt, pip into .venv, a kernel into .lab); once
	$(Q)tools/setup

build: ## build the library and the program: target/release/libcmshim.so and cmshim
	$(Q)$(CARGO) build --release --workspace

install: ## install what is built: PREFIX=/usr/local, DESTDIR=, LIBDIR=PREFIX/lib, INCLUDEDIR=PREFIX/include
	$(Q)PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)' TARGET='$(TARGET)' tools/install

deb: build ## make Debian packages of what is built: target/packages/*.deb
	$(Q)TARGET='$(TARGET)' tools/packages deb

rpm: build ## make RPM packages of what is built: target/packages/*/*.rpm
	$(Q)TARGET='$(TARGET)' tools/packages rpm

package-test: deb rpm ## install the packages into clean Debian 12 and 13 roots (made once, .lab/packages) and use them there
	$(Q)TARGET='$(TARGET)' tools/packages-test

aarch64: ## build everything for aarch64 and run the unit tests under qemu-user
	$(Q)TARGET='$(TARGET)' tools/aarch64/run

header: setup ## make include/cmshim.h anew from the code
	$(Q)cbindgen --quiet --config cbindgen.toml --crate cmshim --output include/cmshim.h .

matrix: ## make MATRIX.md anew from the code
	$(Q)UPDATE_MATRIX=1 $(CARGO) test $(CARGO_QUIET) -p cmshim the_matrix_is_the_table

pictures: ## make the pictures of docs/ anew from the code
	$(Q)UPDATE_PICTURES=1 $(CARGO) test $(CARGO_QUIET) -p cmshim-cli picture

docs: ## build the book of docs/: target/book/index.html
	$(Q)tools/docs

check: build ## check symbols, needed libraries, size, header, pkg-config file and install
	$(Q)TARGET='$(TARGET)' tools/check

c-tests: ## build the C programs of the tests
	$(Q)$(MAKE) --no-print-directory -s -C c-tests OUT=$(TARGET)/c-tests

# What guests run on, and their device (docs/testing.md); a variable of the same name in the environment is not meant.
lab_root = $(if $(filter command line,$(origin ROOT)),$(ROOT))
lab_device = $(if $(filter command line,$(origin DEVICE)),$(filter-out rxe,$(DEVICE)))

lab: setup build c-tests ## run the lab's tests; T="name..." for some; ROOT=debian13 or bsymbolic; DEVICE=siw
	$(Q)$(if $(lab_root),tools/root $(lab_root))
	$(Q)$(if $(lab_device),tools/siw)
	$(Q)LAB_ROOT=$(lab_root) c-tests/lab/run $(if $(lab_device),--topology $(lab_device)) $(T)

lab-shell: setup build c-tests ## a shell in a guest; TOPOLOGY=no-device, one-device (default), two-devices, two-guests, siw; ROOT=
	$(Q)$(if $(lab_root),tools/root $(lab_root))
	$(Q)$(if $(filter siw,$(TOPOLOGY)),tools/siw)
	$(Q)LAB_ROOT=$(lab_root) c-tests/lab/shell $(or $(TOPOLOGY),one-device)

test: setup ## all tests: unit, C programs, lab; a few of the lab on other roots and over iWARP
	$(Q)tools/test

test-quick: setup ## what needs no guest, and one short guest, with the debug build: for the inner loop
	$(Q)tools/test quick

soak: setup build c-tests ## 1,000 random programs (RANDOM_FIRST=, RANDOM_SEEDS=) and 100,000 connections (SOAK_CONNECTIONS=, SOAK_SEED=)
	$(Q)RANDOM_SEEDS=$${RANDOM_SEEDS:-1000} c-tests/random/run
	$(Q)SOAK_CONNECTIONS=$${SOAK_CONNECTIONS:-100000} c-tests/soak/run

test-all: setup ## the same as test, with the whole lab on each root, the packages and aarch64 (docs/testing.md): hours without KVM
	$(Q)tools/test all

demo: setup build c-tests ## an unmodified program under cmshim, and three failing connections explained
	$(Q)c-tests/lab/demo

bench: setup build c-tests ## bare and preloaded in turn in one guest; what a call and a policy cost; fails where a promise is not kept
	$(Q)status=0; c-tests/lab/bench || status=1; $(CARGO) bench $(CARGO_QUIET) --bench stats --bench policy || status=1; exit $$status

clean: ## remove what was built (not what setup installed; for that: rm -rf .lab .venv)
	$(Q)$(CARGO) clean $(CARGO_QUIET)
	$(Q)$(MAKE) --no-print-directory -s -C c-tests OUT=$(TARGET)/c-tests clean
	$(Q)rm -rf .lab/logs* .lab/shell
