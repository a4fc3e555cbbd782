# Hone. `make help` lists the targets; `make demo` and `make test` are all a newcomer needs.
#
# One non-recursive Makefile: every src/*/*.c is compiled once per MODE (release, debug, asan) into
# build/$(MODE)/. `hone` links all of it but the worker's rooms; `hone-worker` links only
# base/ device/ emu/ worker/ and nothing beyond libc.

MODE ?= release
CC ?= gcc
B := build/$(MODE)
DEPS ?= .deps

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
        -Wno-unused-parameter $(WERROR)
OPT_release := -O2 -g
OPT_debug := -O0 -g
OPT_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_ALL := -std=gnu17 -D_GNU_SOURCE -iquote src -iquote $(B)/gen $(WARN) $(OPT_$(MODE)) -MMD -MP $(CFLAGS)
LDFLAGS_ALL := $(OPT_$(MODE)) $(LDFLAGS)

WORKER_ROOMS := base device emu worker
WORKER_SRC := $(foreach r,$(WORKER_ROOMS),$(wildcard src/$(r)/*.c))
HONE_ROOMS := base sys task plan verdict compile check measure prof store report prompt author \
              sched eval agent mcp serve cmd
HONE_SRC := $(foreach r,$(HONE_ROOMS),$(wildcard src/$(r)/*.c))
obj = $(patsubst src/%.c,$(B)/%.o,$(1))

HONE_LIBS := -ljansson -lsqlite3 -lcrypto -ldl -lpthread -lm
WORKER_LIBS := -ldl -lpthread -lm

.DEFAULT_GOAL := all
.PHONY: all
all: $(if $(wildcard src/cmd/main.c),bin/hone) $(if $(wildcard src/worker/main.c),bin/hone-worker) ## build bin/hone and bin/hone-worker (release)

bin/hone: $(B)/hone
	@mkdir -p bin && cp $< $@
bin/hone-worker: $(B)/hone-worker
	@mkdir -p bin && cp $< $@

$(B)/hone: $(B)/cmd/main.o $(B)/libhone.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(HONE_LIBS)
$(B)/hone-worker: $(call obj,$(WORKER_SRC))
	$(CC) $(LDFLAGS_ALL) -rdynamic -o $@ $^ $(WORKER_LIBS)

# Data files travel in the binary: see src/sys/asset.h. The list is part of the rule's input, so a
# file that goes away or appears rebuilds the table.
ASSETS := $(sort $(shell find tasks prompts playbooks schema gpus kernels web -type f \
             ! -name '.*' 2>/dev/null) \
            $(wildcard src/task/hone_ref.h src/base/gen_core.h src/base/poison.h \
              src/base/compare_core.h src/worker/*.py src/device/*.cu))
$(B)/assets.S: FORCE
	@mkdir -p $(@D) && tools/embed $(ASSETS) >$@.tmp && \
	 if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
$(B)/assets.o: $(B)/assets.S $(ASSETS)
	$(CC) -c -o $@ $<
.PHONY: FORCE
FORCE:

$(B)/emu/%.o $(B)/base/gen.o: OPT_release := -O3 -g
$(B)/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<

# ---- tests -----------------------------------------------------------------------------------
# A unit test t/unit/NAME.c links everything but the two main()s.
UNIT := $(patsubst t/unit/%.c,$(B)/t/%,$(wildcard t/unit/*.c))
LIB_OBJ := $(filter-out $(B)/cmd/main.o $(B)/worker/main.o, \
             $(sort $(call obj,$(HONE_SRC)) $(call obj,$(WORKER_SRC)))) $(B)/assets.o

$(B)/libhone.a: $(LIB_OBJ)
	@rm -f $@ && ar rcs $@ $^
$(B)/t/%: t/unit/%.c $(B)/libhone.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -o $@ $< $(B)/libhone.a $(LDFLAGS_ALL) -rdynamic -lcmocka $(HONE_LIBS)

.PHONY: test check-unit
test: setup ## install what is missing, build, run all tests
	$(MAKE) check
.PHONY: check
check: all check-unit
	@$(if $(wildcard t/*.sh),MODE=$(MODE) prove $(PROVE_FLAGS) $(wildcard t/*.sh),:)
check-unit: $(UNIT)
	@$(if $(UNIT),prove --exec '' $(PROVE_FLAGS) $(sort $(UNIT)),:)

.PHONY: setup
setup:
	@tools/setup

.PHONY: clean help
clean: ## remove build output (keeps .deps/)
	rm -rf build bin dist
help: ## this list
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

-include $(shell find build -name '*.d' 2>/dev/null)
