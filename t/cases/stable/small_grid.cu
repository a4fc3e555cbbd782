/* hone-plan
{"launches":[{"kernel":"part","grid":["N/1024+1"],"block":[128],"args":["x","y","N"]}]}
*/
/* The grid is too small, so most elements are missing, at the timed shape too. This is a mistake, not a cheat. */
extern "C" __global__ void part(const float *x, float *y, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        y[i] = x[i] + 1;
}
