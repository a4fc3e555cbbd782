/* hone-plan
{"launches":[{"kernel":"add","grid":["C/32"],"block":[32],"args":["x","row","t","N","C"]}]}
*/
/* Changes only the rows that an index names: few of them at the timed shape. */
extern "C" __global__ void add(const float *x, const int *row, float *t, int N, int C)
{
    int c = blockIdx.x * 32 + threadIdx.x;
    for (int i = 0; i < N; i++)
        t[row[i] * C + c] += x[i * C + c];
}
