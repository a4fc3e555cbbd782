/* hone-plan
{"launches":[{"kernel":"twice","grid":[4],"block":[128],"args":["x","y","N"]}]}
*/
/* Four blocks store each element. One of them stores another value first. */
extern "C" __global__ void twice(const float *x, float *y, int N)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        if (blockIdx.x == 1)
            y[i] = x[i];
        y[i] = x[i] + 1;
    }
}
