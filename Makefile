# What a person does with Tulle from a clone. Each target installs, by name, the Debian packages
# that it needs and that are missing (scripts/packages); CMakePresets.json lists the builds.

BUILD_PACKAGES = g++ cmake ninja-build ccache libcli11-dev libfmt-dev nlohmann-json3-dev \
                 libpcap-dev libyaml-cpp-dev libgtest-dev libbenchmark-dev libibverbs-dev \
                 librdmacm-dev
FUZZ_PACKAGES = $(BUILD_PACKAGES) clang libclang-rt-14-dev llvm-14
INTEROP_PACKAGES = ibverbs-utils perftest rdmacm-utils qperf fio ucx-utils openmpi-bin \
                   libopenmpi-dev libfabric-bin python3-pyverbs iproute2 procps iperf socat
TEST_PACKAGES = $(FUZZ_PACKAGES) $(INTEROP_PACKAGES) binutils chromium clang-format gdb mandoc \
                python3 tshark valgrind
LONG_PACKAGES = $(TEST_PACKAGES) cpio ibverbs-providers kmod qemu-system-x86

PREFIX ?= /usr/local
.DEFAULT_GOAL = help
.PHONY: help build demo test test-long fuzz bench format install uninstall clean
.NOTPARALLEL: # two targets of one command line may share a build folder

help: ## This list
	@echo 'Tulle: an InfiniBand and RoCE fabric in software. Start with `make demo`.'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

build: ## Build the program: build/release/tulle
	@scripts/packages $(BUILD_PACKAGES)
	cmake --preset release
	cmake --build --preset release --target program

demo: build ## Build, then compare fabrics on an AI cluster
	@scripts/demo

test: ## Build and run all quick tests (minutes)
	@scripts/packages $(TEST_PACKAGES)
	@scripts/test quick

test-long: ## All tests with all compilers and sanitizers, or STAGES='asan tsan'
	@scripts/packages $(LONG_PACKAGES)
	@scripts/test long $(STAGES)

fuzz: ## Fuzz for long; FUZZ_SECONDS=600 a fuzzer
	@scripts/packages $(FUZZ_PACKAGES)
	cmake --preset fuzz
	cmake --build --preset fuzz --target fuzzers
	@scripts/fuzz $(or $(FUZZ_SECONDS),600)

bench: build ## Run the benchmarks at full size
	cmake --build --preset release
	@set -e; for bench in build/release/*_bench; do \
	    if [ -x "$$bench" ]; then printf '\n== %s\n' "$$bench"; "$$bench"; fi; done

format: ## Format the sources
	@scripts/packages clang-format
	find src tests -name '*.h' -o -name '*.cc' | xargs clang-format-14 -i

install: build ## Install program, man pages and docs; PREFIX=/usr/local DESTDIR=
	DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'
	@cp build/release/install_manifest.txt build/release/installed.txt

uninstall: ## Remove what `make install` put in place; DESTDIR=
	@scripts/uninstall build/release/installed.txt '$(DESTDIR)'

clean: ## Remove all that was built
	rm -rf build
