/* hone-plan
{ "launches": [ { "kernel": "node_degrees", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["offset", "node", "degree", "N"] } ] }
*/
// One thread for each node.
extern "C" __global__ void node_degrees(const long long *offset, const int *node, int *degree, int nodes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes)
        return;
    int v = node[i];
    degree[i] = (int)(offset[v + 1] - offset[v]);
}
