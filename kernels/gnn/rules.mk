# The GPU kernels of hone-gnn, as the C that `hone export` wrote, and the room that calls them. The
# build stops if a kernel is not the one that its recorded verdict is about (tools/gnn-kernels). `hone`
# needs none of this, so that it can judge a changed kernel.
GNN_KERNELS := $(patsubst kernels/gnn/%/kernel.cu,%,$(wildcard kernels/gnn/*/kernel.cu))
GNN_KERNEL_OBJ := $(GNN_KERNELS:%=$(B)/gnn-kernels/gnn_%.o)
GNN_GPU_OBJ := $(call obj,$(call sources,gnn/gpu))
$(B)/libgnn.a: $(GNN_GPU_OBJ) $(GNN_KERNEL_OBJ)
	@rm -f $@ && ar rcs $@ $^
$(B)/gnn-kernels/unpacked: tools/gnn-kernels $(wildcard kernels/gnn/* kernels/gnn/*/*)
	@tools/gnn-kernels check && mkdir -p $(@D) && tar xzf kernels/gnn/exported.tar.gz -C $(@D) && touch $@
$(GNN_KERNEL_OBJ): $(B)/gnn-kernels/unpacked
	$(call say,CC,$(@:.o=.c))
	$(Q)$(CC) -std=gnu17 -Wall -Wextra $(OPT_$(MODE)) $(CFLAGS) -c -o $@ $(@:.o=.c)
$(GNN_GPU_OBJ): FILE_CFLAGS += -iquote $(B)/gnn-kernels
$(GNN_GPU_OBJ): $(B)/gnn-kernels/unpacked
