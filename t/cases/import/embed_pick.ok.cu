/* hone-plan
{ "launches": [ { "kernel": "pick", "grid": ["cdiv(count*picks,128)"], "block": [128],
                  "args": ["tokens", "columns", "table_weight", "y", "count*picks", "picks", "width"] } ] }
*/
// One thread per element.
extern "C" __global__ void pick(const long long *tokens, const long long *columns, const float *table, float *y,
                                int n, int picks, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * table[tokens[i / picks] * width + columns[i]];
}
