/* hone-plan
{ "launches": [ { "kernel": "mark", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["node", "local", "N", "FORGET"] } ] }
*/
// One thread for each node. The nodes differ, so no two threads write one element.
extern "C" __global__ void mark(const int *node, int *local, int nodes, int forget)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nodes)
        local[node[i]] = forget ? -1 : i;
}
