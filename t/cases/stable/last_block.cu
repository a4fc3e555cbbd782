/* hone-plan
{"launches":[{"kernel":"sum","grid":["N/128"],"block":[128],"args":["x","y","part","done"]}],
 "workspace":{"part":{"bytes":"4*N/128"},"done":{"bytes":"4","init":"zero"}}}
*/
/* The last block reads what the others stored. Both sides have their fence. expect.tsv leaves out
 * lines by their last comment. */
extern "C" __global__ void sum(const float *x, float *y, float *part, unsigned *done)
{
    __shared__ int last;
    int i = blockIdx.x * 128 + threadIdx.x;
    y[i] = x[i] + 1;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = x[i];
        __threadfence(); // writer
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence(); // reader
    float s = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x)
        s += part[b];
    if (s == 12345.0f)
        y[i] = s;
}
