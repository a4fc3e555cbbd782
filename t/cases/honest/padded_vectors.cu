/* hone-plan
{ "launches": [ { "kernel": "sums", "grid": ["R"], "block": [256], "args": ["x", "part", "C"] },
                { "kernel": "scan", "grid": ["R"], "block": [256], "args": ["x", "part", "y", "C"] } ],
  "workspace": { "part": { "bytes": "4*R*256" } } }
*/
// Each row has room for 256 sums in the workspace; those there are are read four at a time, and
// what lies behind the last one is not added.
extern "C" __global__ void sums(const float *x, float *part, int C)
{
    int chunk = (C + 255) / 256, n = (C + chunk - 1) / chunk, t = threadIdx.x;
    x += (long long)blockIdx.x * C;
    if (t >= n)
        return;
    float s = 0;
    for (int j = t * chunk; j < min(C, (t + 1) * chunk); j++)
        s += x[j];
    part[blockIdx.x * 256LL + t] = s;
}
extern "C" __global__ void scan(const float *x, const float *part, float *y, int C)
{
    int chunk = (C + 255) / 256, n = (C + chunk - 1) / chunk, t = threadIdx.x;
    x += (long long)blockIdx.x * C;
    y += (long long)blockIdx.x * C;
    part += blockIdx.x * 256LL;
    if (t >= n)
        return;
    float s = 0;
    for (int i = 0; i < t; i += 4) {
        float4 v = *(const float4 *)(part + i);
        s += v.x;
        s += i + 1 < t ? v.y : 0;
        s += i + 2 < t ? v.z : 0;
        s += i + 3 < t ? v.w : 0;
    }
    for (int j = t * chunk; j < min(C, (t + 1) * chunk); j++)
        y[j] = s += x[j];
}
