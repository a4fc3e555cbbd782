/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Inline assembly ends the function that it is in, and defines a kernel `k` of its own. The last
// parameter of this kernel has 1,024 bytes, but the plan passes 8: a launch would copy the other
// bytes out of the host's memory. A comment in the assembly shows the parameters that the C++ text
// declares.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n);
extern "C" __global__ void z()
{
    asm volatile("/* .entry k( .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n ) */\n"
                 "ret;\n}\n"
                 ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .align 8 .b8 n[1024])\n"
                 "{\nret;");
}
