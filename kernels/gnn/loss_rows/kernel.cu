/* hone-plan
{ "launches": [
    { "kernel": "count_labels", "grid": [1], "block": [1024], "args": ["label", "labelled", "R"] },
    { "kernel": "loss_rows", "grid": ["cdiv(R, kWarps)"], "block": [32, "kWarps"],
      "args": ["x", "label", "labelled", "dx", "row_loss", "row_right", "R", "C"] },
    { "kernel": "add_rows", "grid": [1], "block": [1024],
      "args": ["labelled", "row_loss", "row_right", "sums", "R"] } ],
  "workspace": { "labelled": { "bytes": "4", "init": "none" }, "row_loss": { "bytes": "8*R", "init": "none" },
                 "row_right": { "bytes": "4*R", "init": "none" } } }
*/
// Three launches: count the labelled rows; one warp for each row, which finds the maximum, the sum of
// exponentials and the gradient; add up the rows in a fixed order.
constexpr int kWarps = 8; // hone: 1 2 4 8

__device__ __forceinline__ int block_sum(int v)
{
    __shared__ int part[1024];
    part[threadIdx.x] = v;
    __syncthreads();
    for (int n = 512; n > 0; n /= 2) {
        if (threadIdx.x < n)
            part[threadIdx.x] += part[threadIdx.x + n];
        __syncthreads();
    }
    return part[0];
}

extern "C" __global__ void count_labels(const int *label, int *labelled, long long rows)
{
    int n = 0;
    for (long long r = threadIdx.x; r < rows; r += 1024)
        n += label[r] >= 0;
    n = block_sum(n);
    if (threadIdx.x == 0)
        *labelled = n;
}

extern "C" __global__ void loss_rows(const float *x, const int *label, const int *labelled, float *dx,
                                     double *row_loss, int *row_right, long long rows, int classes)
{
    long long r = (long long)blockIdx.x * kWarps + threadIdx.y;
    if (r >= rows)
        return;
    x += r * classes;
    dx += r * classes;
    int lane = threadIdx.x, want = label[r];
    if (want < 0) {
        for (int c = lane; c < classes; c += 32)
            dx[c] = 0;
        if (lane == 0) {
            row_loss[r] = 0;
            row_right[r] = 0;
        }
        return;
    }
    float largest = -INFINITY;
    int best = classes;
    for (int c = lane; c < classes; c += 32)
        if (x[c] > largest || best == classes) {
            largest = x[c];
            best = c;
        }
    for (int n = 16; n > 0; n /= 2) {
        float other = __shfl_xor_sync(~0u, largest, n);
        int index = __shfl_xor_sync(~0u, best, n);
        if (other > largest || (other == largest && index < best)) {
            largest = other;
            best = index;
        }
    }
    float sum = 0;
    for (int c = lane; c < classes; c += 32)
        sum += expf(x[c] - largest);
    for (int n = 16; n > 0; n /= 2)
        sum += __shfl_xor_sync(~0u, sum, n);
    float share = 1.f / (float)*labelled;
    for (int c = lane; c < classes; c += 32)
        dx[c] = (expf(x[c] - largest) / sum - (c == want ? 1.f : 0.f)) * share;
    if (lane == 0) {
        row_loss[r] = log((double)sum) - (double)(x[want] - largest);
        row_right[r] = best == want;
    }
}

extern "C" __global__ void add_rows(const int *labelled, const double *row_loss, const int *row_right,
                                    double *sums, long long rows)
{
    __shared__ double part[1024];
    double sum = 0;
    int right = 0;
    for (long long r = threadIdx.x; r < rows; r += 1024) {
        sum += row_loss[r];
        right += row_right[r];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int n = 512; n > 0; n /= 2) {
        if (threadIdx.x < n)
            part[threadIdx.x] += part[threadIdx.x + n];
        __syncthreads();
    }
    right = block_sum(right);
    if (threadIdx.x == 0) {
        sums[0] = part[0];
        sums[1] = *labelled;
        sums[2] = right;
    }
}
