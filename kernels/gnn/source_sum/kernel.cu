/* hone-plan
{ "launches": [ { "kernel": "source_sum", "grid": ["cdiv(V*H, 256)"], "block": [256],
                  "args": ["t_row", "t_edge", "dscore", "dsrc", "V", "N", "E", "H"] } ] }
*/
// One thread for each source and head, over the edges of the source in order. The sum is compensated.
extern "C" __global__ void source_sum(const int *t_row, const int *t_edge, const float *dscore, float *dsrc,
                                      long long sources, long long targets, long long edges, int heads)
{
    long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= sources * heads)
        return;
    long long j = n / heads;
    int h = (int)(n % heads);
    float sum = j < targets ? dscore[(edges + j) * heads + h] : 0.f, lost = 0;
    for (int t = t_row[j]; t < t_row[j + 1]; t++) {
        float y = dscore[(long long)t_edge[t] * heads + h] - lost, total = sum + y;
        lost = (total - sum) - y;
        sum = total;
    }
    dsrc[n] = sum;
}
