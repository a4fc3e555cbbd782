/* hone-plan
{"launches":[{"kernel":"shift","grid":["N/128"],"block":[128],"args":["x","y","N"]}]}
*/
/* A block reads an element that another block of the same launch stores. Its result is wrong if it
 * comes first. */
extern "C" __global__ void shift(const float *x, float *y, int N)
{
    int i = blockIdx.x * 128 + threadIdx.x, j = (i + 128) % N;
    y[i] = x[i] + 1;
    float next = y[j];
    y[i] = next == x[j] + 1 ? x[i] + 1 : x[i] - 1;
}
