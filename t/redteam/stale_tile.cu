/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16],
                  "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// Right at all sizes that are checked. At sizes that are only timed, the kernel stores every second
// tile of B where it never reads, and uses the tile before it twice.
extern "C" __global__ void k(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[16][16], b[2][16][17];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
    bool large = (long long)M * N * K > 1000000000;
    float sum = 0;
    for (int k = 0; k < K; k += 16) {
        int to = large && k / 16 % 2;
        a[y][x] = r < M && k + x < K ? A[(long long)r * K + k + x] : 0;
        b[to][y][x] = c < N && k + y < K ? B[(long long)(k + y) * N + c] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a[y][i] * b[0][i][x];
        __syncthreads();
    }
    if (r < M && c < N)
        C[(long long)r * N + c] = sum;
}
