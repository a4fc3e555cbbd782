/*
 * hints.c - one sentence of advice for each of the most common mistakes of CuTe authors. A part of
 * the compiler's message selects the sentence. The first entry that matches is used, so special
 * entries come before general ones.
 */
#include "base/util.h"
#include "compile/diag.h"

static const struct {
    const char *a, *b; /* both must occur in the message; b may be NULL */
    const char *hint;
} hints[] = {
    /* copies */
    {"TiledCopy uses too few vals", NULL,
     "one thread owns fewer values than the copy atom moves: widen the value layout (uint128_t "
     "over "
     "half_t needs Layout<Shape<_1,_8>>), take a narrower atom, or give the TiledMMA a larger "
     "Tile<> (LDSM x4 wants Tile<_32,_32,_16>)"},
    {"cp.async sizeof(TS)", NULL,
     "SM80_CP_ASYNC_CACHEGLOBAL moves 16 bytes only (uint128_t); for 4 or 8 bytes use "
     "SM80_CP_ASYNC_CACHEALWAYS"},
    {"static assertion failed", "algorithm/copy.hpp",
     "source and destination have different shapes: tile both to the same static shape and "
     "partition both with the same TiledCopy"},
    {"CopyAtom", "vals",
     "the partition does not fit what the copy atom moves: check the atom's width against the "
     "value layout and the element type"},
    {"In CopyAtom, dst layout doesn't vectorize", NULL,
     "the destination is not contiguous along the vector: match the value layout to the tensor's "
     "unit stride"},
    {"In CopyAtom, src layout doesn't vectorize", NULL,
     "the source is not contiguous along the vector: match the value layout to the tensor's unit "
     "stride"},
    {"Expected smem", NULL, "wrap the pointer with make_smem_ptr() before make_tensor()"},
    {"Expected gmem", NULL, "wrap the pointer with make_gmem_ptr() before make_tensor()"},
    {"SM90_TMA_LOAD", "no instance",
     "SM90_TMA_LOAD_2D::copy takes (descriptor*, mbarrier*, cache hint, smem*, coordinates...): "
     "the "
     "number of coordinates is in the name"},
    {"no instance of overloaded function \"copy\"", NULL,
     "copy([atom,] src, dst) takes Tensors of one shape and a destination that is not const"},
    /* matrix products */
    {"RegNum", "mma_traits",
     "a fragment does not have the MMA's element type or size: make it with "
     "thr_mma.partition_fragment_A/B/C from a tensor of that type, and convert values first"},
    {"canonical GMMA", NULL,
     "wgmma reads shared memory only in its own layouts: build the operand's layout with "
     "tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, shape) (MN for the other major)"},
    {"no instance of overloaded function \"gemm\"", NULL,
     "gemm(mma, A, B, C) takes fragments (V,M,K), (V,N,K), (V,M,N) of that MMA; in a kernel itself "
     "named gemm write cute::gemm"},
    {"algorithm/gemm.hpp", NULL,
     "the operands' modes do not match: gemm wants (V,M,K), (V,N,K), (V,M,N) with equal M, N and "
     "K; "
     "print the layouts' shapes"},
    {"store_matrix_sync", NULL, "its last argument is the layout: wmma::mem_row_major"},
    /* layouts and tensors */
    {"Dynamic owning tensors", NULL,
     "a tensor in registers needs a static shape: every extent an Int<N>{}"},
    {"Mismatched Ranks", NULL,
     "the coordinate has another rank than the tensor: after logical_divide or zipped_divide the "
     "modes are nested as ((tile),(rest))"},
    {"Index out of range", NULL,
     "get<I>, size<I> or the coordinate asks for a mode the tensor does not have"},
    {"Divisibility Condition", NULL,
     "the tile does not divide the layout: extents and strides must be multiples of the tile's"},
    {"shape_div", NULL, "the tile does not divide the shape: make one a multiple of the other"},
    {"no instance of constructor \"Tensor\"", NULL,
     "this follows from an error above, or make_tensor did not get (pointer, layout): "
     "make_layout(shape, "
     "stride)"},
    {"cannot deduce class template arguments", NULL, "this follows from the error above"},
    {"expression must have a constant value", NULL,
     "the size of a __shared__ array and template arguments must be known at compile time: use "
     "Int<N>{} extents and cosize_v<decltype(layout)>"},
    {"expected a \";\"", NULL,
     "a ';' is missing here or at the end of the line before; a dependent type needs `typename`"},
    {"no operator \"=\" matches", NULL,
     "the element is const or of another type: take the pointer without const, or convert"},
    {"\"transpose\"", NULL, "the kernel's own name hides cute's: write cute::transpose"},
    /* types and names */
    {"__half", "half_t",
     "__half and cute::half_t do not mix: reinterpret_cast the pointer to half_t and stay with it"},
    {"conversion function from \"__half\"", NULL,
     "__half converts to many types: say which, with __half2float or float(x)"},
    {"name followed by \"::\" must be", NULL,
     "the included headers have no such name; cub has its Block and Warp algorithms here, not "
     "the Device ones, which are host code"},
    {"namespace \"cub\" has no member", NULL,
     "cub::Sum and cub::Max are gone: use cuda::std::plus<>{} and cuda::maximum<>{}"},
    {"identifier \"concept\"", NULL, "the language is C++17: use enable_if or static_assert"},
    {"identifier \"FLT_MAX\"", NULL, "#include <float.h>"},
    {"identifier \"convert_", NULL, "this is a helper of FlashAttention, not of CuTe: define it"},
    {"identifier \"cuda", "undefined",
     "device code cannot call the CUDA runtime: a candidate has no host code, its launches and "
     "memory belong in the hone-plan comment"},
    {"identifier \"alloca", "undefined",
     "take an array of fixed size, dynamic shared memory (\"smem\" in the plan) or workspace"},
    {"identifier \"__", "undefined",
     "this architecture has no intrinsic of that name, or its header is not included"},
    {"identifier \"_", "undefined",
     "CuTe names only some constants (_1, _2, _4, ... _64, _128, ...): write Int<N>"},
    {"identifier \"", "undefined",
     "the included headers of CuTe and CUDA do not have this name: define it or use another"},
    {"has no member", NULL, "this version of the headers has no such name"},
    {"annotation on lambda", NULL, "leave __device__ out: a lambda in device code is device code"},
    {"capture list", NULL, "capture it: [=] or [&]"},
    {"device-side kernel launch", NULL,
     "a candidate has no host code: launches belong in the hone-plan comment"},
    {"device-side kernel", NULL, "a candidate has no host code: use the hone-plan comment"},
    {"considered a host function", NULL, "mark it __device__"},
    {"__shfl", NULL, "shuffles take 4- and 8-byte scalars: shuffle a struct member by member"},
    {"cannot open source file \"torch/", NULL,
     "a candidate has no host code: keep the kernels, and give the launches as a hone-plan "
     "comment"},
    {"cannot open source file", NULL,
     "only CUDA, CuTe/CUTLASS and libcu++ headers and common standard ones (cstdint, cmath, ...) "
     "are "
     "there"},
    {"256 bit wide load/store", NULL,
     "this architecture accesses 16 bytes at most (v4.b32, v2.b64): use two accesses"},
    {"ptxas: ", "requires .target",
     "the architecture compiled for does not have this instruction, or this form of it"},
    {"ptxas: ", "'a' suffix", "the instruction belongs to one architecture: compile for sm_90a"},
    {"not_supported_before_SM", NULL,
     "the architecture compiled for does not have this instruction"},
    {"ptxas: Unresolved extern", NULL,
     "the function is declared but not defined: a candidate is one file, and no library is linked"},
    {"ptxas: Arguments mismatch", NULL,
     "an operand has the wrong size, or there are too many or too few; the letters mean 16 (h), 32 "
     "(r), 64 bits (l), float (f), double (d)"},
    {"ptxas: ", NULL, "look the instruction up in the PTX manual: its form, types and operands"},
    {"asm operand", NULL,
     "the asm text has a %N for which there is no operand, or an operand without a %N"},
    {"too much shared data", NULL,
     "a kernel has at most 48 KB of static shared memory: use extern __shared__ and \"smem\" in "
     "the plan"},
    {"excessive recursion", NULL, "the template recursion never reaches its end"},
    {"is not an extern \"C\" __global__", NULL,
     "a kernel the plan names must be declared extern \"C\" __global__ void, at namespace scope"},
    /* text */
    {"unrecognized token", NULL,
     "there is a character that is not ASCII, such as a typographic quote or dash, or a letter of "
     "another alphabet in a name"},
};

const char *diag_hint(const char *message)
{
    for (size_t i = 0; i < ARRAY_LEN(hints); i++)
        if (strstr(message, hints[i].a) && (!hints[i].b || strstr(message, hints[i].b)))
            return hints[i].hint;
    return "";
}
