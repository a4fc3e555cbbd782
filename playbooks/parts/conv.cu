// Code that the templates of convolutions share: sizes, the taps of an axis, and sums in float32. K runs over
// the input channels of a group and over the taps, the places of the window.
//
// A transposed convolution has a phase for each remainder of an output place by the stride. All outputs
// of a phase use the same taps, so each phase is a convolution of stride 1.
struct Sizes {
    int batch, channels, outputs, depth, height, width, out_depth, out_height, out_width, groups;

    __device__ int group_channels() const { return channels / groups; }
    __device__ int group_outputs() const { return outputs / groups; }
    __device__ int out_plane() const { return out_depth * out_height * out_width; }
};

// One axis in one phase. Output q of the phase lies at q * out_step + out_first. Its tap j has the
// weight first_tap + j * tap_step and reads input q * in_step + in_first + j * in_gap.
struct Axis {
    int count, taps, in_step, in_first, in_gap, out_step, out_first, first_tap, tap_step;
};

constexpr int kMostTaps(int window, int stride, int gap)
{
    int step = kTransposed ? stride / gcd(gap, stride) : 1;
    return (window + step - 1) / step;
}

template <int kWindow, int kStride, int kPad, int kGap>
__device__ Axis axis_of(int out, int phase)
{
    if constexpr (!kTransposed) {
        return {out, kWindow, kStride, -kPad, kGap, 1, 0, 0, 1};
    } else {
        // The tap k adds input i to the output place i * kStride + k * kGap - kPad.
        constexpr int kTapStep = kStride / gcd(kGap, kStride);
        int first = 0;
        while (first < kTapStep && first * kGap % kStride != phase)
            first++;
        int taps = first < kTapStep && first < kWindow ? (kWindow - first + kTapStep - 1) / kTapStep : 0;
        int before = kPad > phase ? (kPad - phase + kStride - 1) / kStride : 0; // outputs cut off
        int last = out - 1 + kPad - phase;
        int count = last < before * kStride ? 0 : last / kStride - before + 1;
        return {count,   taps, 1, before - (first * kGap - phase) / kStride, -(kTapStep * kGap / kStride),
                kStride, before * kStride + phase - kPad, first, kTapStep};
    }
}

// The input that tap k of an output reads; -1 if there is none.
template <int kStride, int kPad, int kGap>
__device__ int input_of(int out, int k, int size)
{
    int at = kTransposed ? out + kPad - k * kGap : out * kStride - kPad + k * kGap;
    if (kTransposed && at % kStride)
        return -1;
    at = kTransposed ? at / kStride : at;
    return at < size ? at : -1;
}

__device__ int64_t weight_at(const Sizes &s, int output, int c, int tap)
{
    constexpr int kWindow = kWindowD * kWindowH * kWindowW;
    int per = s.group_outputs(), group = output / per;
    return (kTransposed ? (int64_t(group * s.group_channels() + c) * per + output - group * per)
                        : int64_t(output) * s.group_channels() + c) * kWindow + tap;
}

// The element of the convolution at index `at` of the output, by float32 arithmetic.
__device__ __noinline__ float plain_sum(const float *x, const float *w, const Sizes &s, int64_t at)
{
    int plane = s.out_plane(), place = int(at % plane), output = int(at / plane % s.outputs);
    int64_t image = at / plane / s.outputs;
    int ow = place % s.out_width, oh = place / s.out_width % s.out_height;
    int od = place / s.out_width / s.out_height, first = output / s.group_outputs() * s.group_channels();
    float sum = 0;
    for (int c = 0; c < s.group_channels() && sum == sum; c++) { // NaN stays NaN
        float part = 0;
        for (int tap = 0; tap < kWindowD * kWindowH * kWindowW; tap++) {
            int id = input_of<kStrideD, kPadD, kGapD>(od, tap / kWindowW / kWindowH, s.depth);
            int ih = input_of<kStrideH, kPadH, kGapH>(oh, tap / kWindowW % kWindowH, s.height);
            int iw = input_of<kStrideW, kPadW, kGapW>(ow, tap % kWindowW, s.width);
            if (id >= 0 && ih >= 0 && iw >= 0)
                part += x[((image * s.channels + first + c) * s.depth + id) * s.height * s.width +
                          ih * s.width + iw] *
                        w[weight_at(s, output, c, tap)];
        }
        sum += part;
    }
    return sum;
}
