/* Any bytes as a cubin: sections, kernels, instruction counts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "compile/cubin.h"
#include "compile/sass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = ARENA_INIT;
    struct sass_vec kernels = VEC_INIT;
    struct cubin_section s;
    struct cubin_kernel k;
    uint8_t *cubin =
        xmalloc(size ? size : 1); /* exactly sized, so that ASan sees one byte too far */
    for (size_t i = 0; i < size; i++)
        cubin[i] = data[i];
    uint32_t sum = 0;
    for (size_t i = 0; i < 5000 && cubin_section(cubin, size, i, &s); i++) {
        if (str_starts(s.name, ".text."))
            cubin_kernel(cubin, size, s.name + 6, &k);
        for (size_t b = 0; s.data && b < s.len; b++)
            sum += s.data[b];
    }
    sass_count(cubin, size, "", &kernels, NULL, &a, NULL);
    vec_release(&kernels);
    free(cubin);
    arena_release(&a);
    return sum == 0xffffffff;
}
