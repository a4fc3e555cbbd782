/* hone-plan
{"launches":[{"kernel":"twice","grid":[4],"block":[128],"args":["x","y","N"]}]}
*/
/* Every block computes all of y, so four blocks store each element, always with the same value. */
extern "C" __global__ void twice(const float *x, float *y, int N)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        y[i] = x[i] + 1;
}
