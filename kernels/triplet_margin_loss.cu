/* hone-plan
{ "launches": [ { "kernel": "rows", "grid": ["B"], "block": [256],
                  "args": ["a", "p", "n", "row_loss", "D", "margin", "eps"] },
                { "kernel": "mean", "grid": [1], "block": [1024],
                  "args": ["row_loss", "loss", "B"] } ],
  "workspace": { "row_loss": { "bytes": "4*B", "init": "none" } } }
*/
// Two launches: a block per row computes that row's loss into the workspace, then one block adds
// them up. Both reduce with a shared-memory tree, so the result does not depend on timing.

__device__ float block_sum(float v, float *part)
{
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    float r = part[0];
    __syncthreads(); // part is used again
    return r;
}

extern "C" __global__ void rows(const float *a, const float *p, const float *n, float *row_loss,
                                int dim, float margin, float eps)
{
    __shared__ float part[256];
    long long base = (long long)blockIdx.x * dim;
    float pos = 0, neg = 0;
    for (int j = threadIdx.x; j < dim; j += blockDim.x) {
        float dp = a[base + j] - p[base + j] + eps, dn = a[base + j] - n[base + j] + eps;
        pos += dp * dp;
        neg += dn * dn;
    }
    pos = block_sum(pos, part);
    neg = block_sum(neg, part);
    if (threadIdx.x == 0)
        row_loss[blockIdx.x] = fmaxf(0.f, margin + sqrtf(pos) - sqrtf(neg));
}

extern "C" __global__ void mean(const float *row_loss, float *loss, int rows)
{
    __shared__ float part[1024];
    float sum = 0;
    for (int i = threadIdx.x; i < rows; i += blockDim.x)
        sum += row_loss[i];
    sum = block_sum(sum, part);
    if (threadIdx.x == 0)
        loss[0] = sum / rows;
}
