/* hone-plan
{"launches":[{"kernel":"tail","grid":["N/128"],"block":[128],"args":["x","y"]}]}
*/
/* The second load of each thread is clamped to the last element, while another warp stores there.
 * Without the line `used`, the loaded value has no use. */
extern "C" __global__ void tail(const float *x, float *y)
{
    const int n = 128;
    int i = threadIdx.x;
    x += blockIdx.x * n;
    y += blockIdx.x * n;
    y[i] = x[i];
    __syncthreads();
    float a = y[i], b = y[min(n - 1, i + n)];
    y[i] = a + 1;
    if (i + n < n)
        y[i + n] = b + 1;
    y[i] = b == 12345.0f ? a : a + 1; // used
}
