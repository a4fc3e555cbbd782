# Hone. `make help` lists the targets; `make demo` and `make test` are all a newcomer needs.
#
# One non-recursive Makefile: every .c file under src/ is compiled once per MODE (release, debug,
# asan, tsan, fuzz, dist-ARCH, lint-gcc) into build/$(MODE)/. `hone` and `hone-gnn` link what they use
# of everything; `hone-worker` only the rooms of WORKER_ROOMS, and needs nothing beyond libc. V=1
# shows the commands.

# The newest version of CHANGELOG.md, also while it is not released yet.
VERSION := $(shell sed -n '/^\#\# [0-9]/{s/^\#\# \([0-9.]*\).*/\1/p;q}' CHANGELOG.md)
MODE ?= release
B := build/$(MODE)
DEPS ?= .deps
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 30
PROVE_FLAGS ?= -j2
ifeq ($(origin CC),default)
CC := gcc
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
        -Wno-unused-parameter -Wno-format-nonliteral -Wno-unknown-pragmas $(WERROR)
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_release := -O2 -g
OPT_debug := -O0 -g
OPT_asan := -O1 -g $(SAN)
OPT_tsan := -O1 -g -fsanitize=thread
OPT_fuzz := -O1 -g -fsanitize=fuzzer-no-link $(SAN)
OPT_dist-x86_64 := -O2
OPT_dist-aarch64 := -O2
OPT_lint-gcc := -O1
# FILE_CFLAGS are set for single files below. They are not CFLAGS, because a value of CFLAGS on the
# command line would replace them. On Arm, char is unsigned; so it is on all machines.
CFLAGS_ALL = -std=gnu17 -D_GNU_SOURCE -funsigned-char -iquote src -iquote $(B)/gen $(WARN) $(OPT_$(MODE)) \
             -MMD -MP $(FILE_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(OPT_$(MODE)) $(LDFLAGS)

# A room is a folder of src/, with the rooms inside it. Every room that is not in WORKER_ROOMS is
# part of hone, and so are those that both programs share.
WORKER_ROOMS := base job spool cuda device emu worker
SHARED_ROOMS := base job spool
sources = $(sort $(shell find $(1:%=src/%) -name '*.c'))
WORKER_SRC := $(call sources,$(WORKER_ROOMS))
HONE_SRC := $(call sources,$(filter-out $(filter-out $(SHARED_ROOMS),$(WORKER_ROOMS)), \
              $(notdir $(shell find src -mindepth 1 -maxdepth 1 -type d))))
obj = $(patsubst src/%.c,$(B)/%.o,$(1))

HONE_LIBS := -ljansson -lsqlite3 -lcrypto -lz -ldl -lpthread -lm
GNN_LIBS := -ljansson -lcrypto -ldl -lpthread -lm
WORKER_LIBS := -ldl -lpthread -lm

Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@printf '  %-5s %s\n' $(1) $(2))

# ---- the three programs ----------------------------------------------------------------------
.DEFAULT_GOAL := all
.PHONY: all worker
PROGRAMS := hone hone-gnn $(if $(wildcard src/worker/main.c),hone-worker)
all: $(PROGRAMS:%=bin/%) ## build bin/hone, bin/hone-gnn and bin/hone-worker
worker: bin/hone-worker ## build only hone-worker: needs cc and libc, for a bare GPU box

bin/%: $(B)/%
	@mkdir -p bin && cp $< $@.tmp && mv $@.tmp $@

$(B)/hone: $(B)/cmd/main.o $(B)/libhone.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(HONE_LIBS)
$(B)/hone-gnn: $(B)/gnn/cmd/main.o $(B)/gnn-assets.o $(B)/libhone.a $(B)/libgnn.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(LIBS) $(GNN_LIBS)
# The same program with the switches of docs/testing.md, for t/redteam.sh; never installed.
$(B)/hone-test: src/cmd/main.c $(B)/libhone.a
	$(Q)$(CC) $(CFLAGS_ALL) -DHONE_TESTING -o $@ $(filter %.c %.a,$^) $(LDFLAGS_ALL) $(HONE_LIBS)
$(B)/hone-worker: $(call obj,$(WORKER_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -rdynamic -o $@ $^ $(WORKER_LIBS)

# Everything but the three main()s and libgnn.a; the programs, the unit tests and the fuzz targets
# take from it.
LIB_OBJ := $(filter-out $(B)/cmd/main.o $(B)/gnn/cmd/main.o $(B)/worker/main.o $(B)/gnn/gpu/%, \
             $(sort $(call obj,$(HONE_SRC)) $(call obj,$(WORKER_SRC)))) $(B)/assets.o
$(B)/libhone.a: $(LIB_OBJ)
	@rm -f $@ && ar rcs $@ $^

-include kernels/gnn/rules.mk src/gnn/api/rules.mk
LIBS := -Wl,--start-group $(B)/libhone.a $(B)/libgnn.a -Wl,--end-group

FAST := $(B)/emu/%.o $(B)/job/gen.o $(B)/gnn/sample/%.o $(B)/gnn/load/%.o $(B)/gnn/data/%.o \
        $(B)/gnn/ops/%.o
$(FAST): private OPT_release := -O3 -g
$(FAST): private OPT_dist-x86_64 := -O3
$(FAST): private OPT_dist-aarch64 := -O3
# PTX says which operations are fused and how they round; the C compiler must not.
$(B)/emu/%.o: FILE_CFLAGS += -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing
$(B)/emu/tensor/tile.o: FILE_CFLAGS += -ffp-contract=fast
# `make setup` installs the libraries. Without this check, the first missing header would stop the build.
HEADERS := jansson.h sqlite3.h openssl/evp.h zlib.h curl/curl.h microhttpd.h
$(call obj,$(filter-out $(WORKER_SRC),$(HONE_SRC))): | $(B)/headers
$(B)/headers:
	@mkdir -p $(@D) && for h in $(HEADERS); do printf '#include <%s>\n' $$h | $(CC) $(CFLAGS) -E -x c - >/dev/null 2>&1 || \
	 { echo "The header <$$h> is missing: 'make setup' installs what the build needs." >&2; exit 1; }; done && touch $@
$(B)/%.o: src/%.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# The version, and the commit for the rows of a campaign: "+" if a tracked file differs from it.
# Without git, "".
$(B)/gen/version.h: FORCE
	@mkdir -p $(@D) && commit=$$(git rev-parse --short=12 HEAD 2>/dev/null) && \
	 { git diff --quiet HEAD -- 2>/dev/null || commit=$$commit+; }; \
	 printf '#define HONE_VERSION "%s"\n#define HONE_COMMIT "%s"\n' "$(VERSION)" "$$commit" >$@.tmp && \
	 if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
$(B)/cmd/main.o $(B)/gnn/cmd/main.o $(B)/hone-test: $(B)/gen/version.h

# A change of compiler or flags recompiles; the file changes only when they do. Expanded here, once:
# in the recipe it would see the variables of whichever target asked first.
FLAGS := $(CC) $(subst ','\'',$(CFLAGS_ALL))
$(B)/flags: FORCE
	@mkdir -p $(@D) && printf '%s\n' '$(FLAGS)' >$@.tmp && \
	 if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
.PHONY: FORCE
FORCE:

# Data files travel in the binary: see src/sys/asset.h. The list is part of the rule's input, so a
# file that goes away or appears rebuilds the table.
ORACLES := $(patsubst tasks/%/reference.c,$(B)/oracles/%.so,$(wildcard tasks/*/reference.c))
ASSETS := $(sort $(shell find tasks suites prompts playbooks schema gpus kernels web -type f \
             ! -name '.*' ! -path 'kernels/gnn/*' 2>/dev/null) \
            $(wildcard src/task/hone_ref*.h src/base/device_int.h src/base/number_core.h src/job/gen_core.h \
              src/job/poison.h src/job/compare_core.h src/worker/*.py src/import/*.py src/device/*.cu \
              src/export/templates/* \
              $(filter-out %.md,$(wildcard src/compile/headers/*)))) $(ORACLES)
$(B)/assets.S: FORCE
	@mkdir -p $(@D) && tools/embed $(ASSETS) >$@.tmp && \
	 if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
# hone-gnn carries its own table, with the snapshot of Debian's packages.
GNN_ASSETS := $(wildcard src/gnn/make/*.gz)
$(B)/gnn-assets.S: $(GNN_ASSETS) tools/embed
	@mkdir -p $(@D) && tools/embed $(GNN_ASSETS) >$@
$(B)/assets.o: $(ASSETS)
$(B)/gnn-assets.o: $(GNN_ASSETS)
$(B)/assets.o $(B)/gnn-assets.o: %.o: %.S
	$(Q)$(CC) -c -o $@ $<

# The built-in tasks' oracles: oracle-source writes the text (a native tool: point ORACLE_SOURCE at
# one when cross-compiling), CC makes the shared object. See src/task/oracle.h.
ORACLE_SOURCE ?= $(B)/oracle-source
$(B)/oracle-source: tools/oracle-source.c $(call obj,$(call sources,base job sys task))
	$(call say,LINK,$@)
	@tools/embed src/task/hone_ref.h >$@.S
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $(filter %.c %.o,$^) $@.S $(LDFLAGS_ALL) $(HONE_LIBS)
$(B)/oracles/%.so: tasks/%/task.json tasks/%/reference.c src/task/hone_ref.h src/task/oracle.c \
                   tools/oracle-source.c | $(ORACLE_SOURCE)
	$(call say,CC,$@)
	@mkdir -p $(@D) && $(ORACLE_SOURCE) tasks/$* >$(@:.so=.c)
	$(Q)$(CC) -std=gnu17 -shared -fPIC -O2 -ffp-contract=off -o $@ $(@:.so=.c) -lm

# ---- tests -----------------------------------------------------------------------------------
.PHONY: test test-all
test: setup ## install what is missing, build, test every area: 5 minutes once built
	@$(MAKE) -s -j2 all && $(MAKE) -s -j2 check
test-all: setup extras ## `make test` and the longer checks
	@DEPS=$(DEPS) tools/setup model-server || true
	@$(MAKE) -s -j2 all && $(MAKE) -s -j2 check-all
include t/rules.mk

# ---- quality ---------------------------------------------------------------------------------
.PHONY: lint lint-build print-warnings format
lint: ## format, gcc -Werror, clang-tidy with clang's warnings, cppcheck, headers, layers
	@tools/setup lint && tools/lint
print-warnings: # for tools/lint
	@echo '$(WARN)'
lint-build: $(LIB_OBJ) $(PROGRAMS:%=$(B)/%) $(UNIT)
format: ## clang-format all C sources
	@clang-format -i $(shell find src -name '*.[ch]' ! -path 'src/compile/headers/*') $(wildcard t/unit/*.c t/fuzz/*.c t/gpu/*.c bench/*.c tools/*.c)

# ---- for people ------------------------------------------------------------------------------
.PHONY: setup demo dist install clean help
setup:
	@DEPS=$(DEPS) tools/setup
demo: setup ## install what is missing, build, and show Hone at work
	@$(MAKE) -s -j2 all && tools/demo

ARCH ?= $(shell uname -m)
dist: ## self-contained programs for ARCH=x86_64 or aarch64, in dist/
	@VERSION=$(VERSION) tools/dist $(ARCH)

install: all gnn-library ## copy programs, libraries, manual pages and completions under PREFIX (/usr/local)
	install -d $(patsubst %,$(DESTDIR)$(PREFIX)/%,bin lib include share/hone/python/hone_gnn)
	install -m 755 $(PROGRAMS:%=bin/%) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(B)/libhone_gnn.so $(DESTDIR)$(PREFIX)/lib
	install -m 644 src/gnn/api/hone_gnn.h $(DESTDIR)$(PREFIX)/include
	install -m 644 src/gnn/python/hone_gnn/*.py $(DESTDIR)$(PREFIX)/share/hone/python/hone_gnn
	for d in $(wildcard $(DEPS)/cutlass $(DEPS)/cuda $(DEPS)/bin); do \
	    cp -r $$d $(DESTDIR)$(PREFIX)/share/hone/; done
	for p in hone hone-gnn; do tools/man bin/$$p $(DESTDIR)$(PREFIX)/share; done
clean: ## remove build output (keeps .deps/)
	rm -rf build bin dist
help: ## this list
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
