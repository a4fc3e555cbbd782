/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Ends a function inside inline assembly and goes on with a kernel of its own that asks for 1,024
// bytes where the plan gives 8: a launch would copy the rest out of the host's memory. A comment
// shows the parameters that were declared.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n);
extern "C" __global__ void z()
{
    asm volatile("/* .entry k( .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n ) */\n"
                 "ret;\n}\n"
                 ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .align 8 .b8 n[1024])\n"
                 "{\nret;");
}
