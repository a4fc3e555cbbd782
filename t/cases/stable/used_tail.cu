/* hone-plan
{"launches":[{"kernel":"tail","grid":["N/128"],"block":[128],"args":["x","y"]}]}
*/
/* As unused_tail.cu, but the value decides what the thread stores. */
extern "C" __global__ void tail(const float *x, float *y)
{
    const int n = 128;
    int i = threadIdx.x;
    x += blockIdx.x * n;
    y += blockIdx.x * n;
    y[i] = x[i];
    __syncthreads();
    float a = y[i], b = y[min(n - 1, i + n)];
    y[i] = b == 12345.0f ? a : a + 1;
}
