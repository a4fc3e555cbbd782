# The tests: which there are, their three tiers, and how they run (README.md beside this file). The
# Makefile includes this file.
LONGEST_UNIT := graph_sigma tolerance author_faults playbook_match gnn_gpu graph_reference compile shared_body slurm gpus
UNIT := $(patsubst %,$(B)/t/%,$(LONGEST_UNIT) $(filter-out $(LONGEST_UNIT), \
          $(sort $(basename $(notdir $(wildcard t/unit/*.c))))))
$(B)/t/%: t/unit/%.c $(B)/libhone.a $(B)/libgnn.a
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< $(LIBS) $(LDFLAGS_ALL) -rdynamic -lcmocka $(HONE_LIBS)

# The emulator against a GPU, case by case; libc only, so that it builds on a bare GPU box.
$(B)/fidelity: $(wildcard t/gpu/fidelity*.c) t/gpu/fidelity.h \
               $(filter-out $(B)/worker/main.o,$(call obj,$(WORKER_SRC)))
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $(filter-out %.h,$^) $(LDFLAGS_ALL) $(WORKER_LIBS)

export MODE
export HONE := $(CURDIR)/$(B)/hone
export ASAN_OPTIONS := abort_on_error=0:$(ASAN_OPTIONS)
export UBSAN_OPTIONS := print_stacktrace=1:$(UBSAN_OPTIONS)
# Three tiers; t/README.md lists what is where. A test that has long parts reads TIER: `quick` runs
# the checks of `make test`, `rest` those that `make test-all` adds, `all` both, `soak` those that
# only `make soak` runs. prove starts tests
# in this order: the longest first, so that none runs alone at the end.
LONGEST := $(patsubst %,t/%.sh,playbooks generate sidecar import slurm planted redteam compile task kernels recordings \
             serve_browser mcp weak_models)
SH := $(LONGEST) $(filter-out t/lib.sh $(LONGEST),$(sort $(wildcard t/*.sh)))
TIERED := $(shell grep -lwE 'in_tier|TIER' $(SH)) \
          $(filter $(patsubst t/unit/%.c,$(B)/t/%,$(shell grep -lE "TIER|graph_run.h" t/unit/*.c)),$(UNIT))
SOAKED := $(shell grep -lE '^(in_tier )?soak ' $(SH))
TORTURE := $(sort $(wildcard t/torture/*.sh))
PROVE := prove --timer $(PROVE_FLAGS) --exec ''
TESTED := $(PROGRAMS:%=$(B)/%) $(B)/hone-test $(B)/fidelity $(B)/libhone_gnn.so
SOAK_SECONDS ?= 600
.PHONY: extras soak build-tests check check-all check-rest check-unit check-shell asan torture bench
extras: # without them, the checks that need them are skipped
	@for part in browser mpi slurm; do DEPS=$(DEPS) tools/setup $$part || true; done
soak: all ## hours, by hand: torture, all tests of `make asan`, load, each fuzz target for SOAK_SECONDS (600)
	@$(MAKE) -s torture
	@TIER=soak $(PROVE) $(SOAKED)
	@$(MAKE) -s asan ASAN_TIER=all
	@MODE=asan SERVE_SECONDS=10 LISTENERS=20 RATE=100 MAX_CPU=200 MAX_GROWN_KB=1000000 SLOWEST_MS=1000 t/torture/serve.sh
	@$(MAKE) -s fuzz FUZZ_SECONDS=$(SOAK_SECONDS)
build-tests: $(UNIT) $(TESTED)
check: build-tests ## the tests of `make test` alone, without set-up
	@TIER=quick $(PROVE) $(SH) $(UNIT)
check-all: build-tests
	@TIER=all $(PROVE) $(SH) $(UNIT)
check-rest: extras $(TESTED) $(filter $(B)/t/%,$(TIERED)) # what test-all adds to test: .ci/run runs it after `make test`
	@TIER=rest $(PROVE) $(TIERED)
check-shell: $(TESTED)
	@$(PROVE) $(SH)
check-unit: $(UNIT) $(PROGRAMS:%=$(B)/%)
	@$(PROVE) $(UNIT)
# The unit tests look for leaks; in the shell tests that takes ASan 4 s per process on aarch64. The
# shell tests left out here spend their time in the compiler, or emulate for minutes.
ASAN_TIER ?= quick
asan: ## the unit tests and some shell tests under ASan and UBSan
	@TIER=$(ASAN_TIER) $(MAKE) -s -j2 MODE=asan check-unit
	@TIER=$(ASAN_TIER) ASAN_OPTIONS=detect_leaks=0 $(MAKE) -s -j2 MODE=asan check-shell \
	 SH="$(patsubst %,t/%.sh,task optimize resume interrupt cli doctor worker)"
torture: all $(B)/hone-test ## the fault tests of t/torture in full: a part of `make soak`
	@prove $(TORTURE)
BENCH := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))
$(B)/bench/%: bench/%.c $(B)/libhone.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< $(B)/libhone.a $(LDFLAGS_ALL) $(HONE_LIBS)
bench: all gnn-library $(BENCH) ## speed of compiling, emulating and searching: prints tables
	@for b in $(filter-out bench/gnn_accuracy.sh,$(sort $(wildcard bench/*.sh))); do echo "== $$b"; $$b || exit 1; done

# t/fuzz/NAME.c is a libFuzzer target; t/fuzz/corpus/NAME its seeds; findings stay in build/fuzz/.
FUZZ := $(patsubst t/fuzz/%.c,$(B)/fuzz/%,$(wildcard t/fuzz/*.c))
$(B)/fuzz/%: t/fuzz/%.c $(B)/libhone.a
	$(call say,FUZZ,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer -o $@ $< $(B)/libhone.a $(LDFLAGS_ALL) $(HONE_LIBS)
.PHONY: fuzz fuzz-build
fuzz: ## fuzz each target of t/fuzz for FUZZ_SECONDS (30)
	@$(MAKE) -s -j2 MODE=fuzz CC=clang fuzz-build
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz build/fuzz/fuzz $(ONLY)
fuzz-build: $(FUZZ)
