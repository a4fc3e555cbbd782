/* hone-plan
{ "launches": [ { "kernel": "attention", "grid": ["B*H*S"], "block": [128], "smem": "4*(2*D + 128)",
                  "args": ["Q", "K", "V", "O", "S", "D"] } ] }
*/
// One block per query row, online softmax over blocks of 128 keys. For each block of keys:
//   1. thread t computes the score of key t;
//   2. all compute the new maximum m and rescale the sums so far by exp(old m - new m);
//   3. thread t turns its score into p = exp(score - m), kept in shared memory;
//   4. thread t adds p * V for the dimensions t, t + 128, ... of the output.
// Shared memory: the query (D floats), the output row being summed (D), the scores (128).
#include <cuda_fp16.h>

extern "C" __global__ void attention(const __half *Q, const __half *K, const __half *V, __half *O,
                                     int S, int D)
{
    extern __shared__ float smem[];
    float *q = smem, *acc = smem + D, *score = smem + 2 * D;
    const float inf = __int_as_float(0x7f800000);
    int t = threadIdx.x;
    long long row = blockIdx.x, head = row / S * S;
    K += head * D;
    V += head * D;
    for (int d = t; d < D; d += 128) {
        q[d] = __half2float(Q[row * D + d]) * rsqrtf((float)D);
        acc[d] = 0;
    }
    __syncthreads();

    float m = -inf, sum = 0;
    for (int j0 = 0; j0 < S; j0 += 128) {
        int keys = min(128, S - j0);
        float s = -inf;
        if (t < keys) {
            const __half *k = K + (long long)(j0 + t) * D;
            s = 0;
            for (int d = 0; d < D; d++)
                s += q[d] * __half2float(k[d]);
        }
        score[t] = s;
        __syncthreads();
        float new_m = m;
        for (int j = 0; j < keys; j++)
            new_m = fmaxf(new_m, score[j]);
        float rescale = expf(m - new_m); // 0 the first time
        m = new_m;
        __syncthreads();
        score[t] = expf(s - m); // 0 past the last key
        __syncthreads();
        sum *= rescale;
        for (int j = 0; j < keys; j++)
            sum += score[j];
        for (int d = t; d < D; d += 128) {
            float a = acc[d] * rescale;
            for (int j = 0; j < keys; j++)
                a += score[j] * __half2float(V[(long long)(j0 + j) * D + d]);
            acc[d] = a;
        }
        __syncthreads(); // the scores are used again
    }
    for (int d = t; d < D; d += 128)
        O[row * D + d] = __float2half(acc[d] / sum);
}
