# libhone_gnn.so: the parts of hone-gnn that prepare batches, compiled once more as position
# independent code. Only the functions of hone_gnn.h are visible. The link fails if a file that they
# need is missing from this list.
GNN_LIBRARY_SRC := $(call sources,gnn/api gnn/load gnn/sample) src/gnn/pages.c src/gnn/trace.c \
        $(patsubst %,src/gnn/data/%.c,dataset manifest checksum) \
        $(patsubst %,src/sys/%.c,file interrupt json memory) \
        $(patsubst %,src/base/%.c,err strbuf utf8 util vec)
GNN_LIBRARY_OBJ := $(patsubst src/%.c,$(B)/pic/%.o,$(GNN_LIBRARY_SRC))
.PHONY: gnn-library
gnn-library: $(B)/libhone_gnn.so ## build libhone_gnn.so, for the Python package of docs/gnn-python.md
$(B)/libhone_gnn.so: $(GNN_LIBRARY_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -shared -Wl,-z,defs -Wl,-soname,libhone_gnn.so -o $@ $^ -ljansson -lpthread -lm
$(B)/pic/gnn/%.o: private OPT_release := -O3 -g
$(B)/pic/%.o: src/%.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -fPIC -fvisibility=hidden -c -o $@ $<
