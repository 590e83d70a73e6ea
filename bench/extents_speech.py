# SPDX-License-Identifier: Apache-2.0
"""Models of speech of bench/extents.py, as torch.onnx exports them: VITS, whose output is as long
as durations that it computes."""
import math

from extents_builder import END, F32, I64, lengths_up_to, model, np, real, whole

WIDTH, HEADS, DEPTH, WINDOW = 12, 2, 6, 4


# ---- VITS: the text's encoder --------------------------------------------------------------------

def text_lengths(rng, shape, sizes):
    return lengths_up_to(rng, shape[0], sizes["phonemes"])


def sequence_mask(b, lengths, longest, zero=0, one=1):
    """[batch, longest]: positions before each one's end."""
    at = b.Range(zero, longest, one)
    return b.Less(b.Unsqueeze(at, [0]), b.Unsqueeze(lengths, [1]))


def pad(b, x, rank, *parts):
    """F.pad(x, parts) from the last axis on, with sizes in it, as torch.onnx turns it around."""
    pads = b.Concat(*([p] if isinstance(p, int) else b.Unsqueeze(p, [0]) for p in parts), axis=0)
    more = b.ConstantOfShape([2 * rank - len(parts)], value=whole(0))
    pads = b.Reshape(b.Concat(pads, more, axis=0), [-1, 2])
    pads = b.Transpose(b.Slice(pads, [-1], [-2 ** 63 + 1], [0], [-1]), perm=[1, 0])
    return b.Pad(x, b.Cast(b.Reshape(pads, [-1]), to=I64), np.float32(0))


def relative(b, table, length):
    """Of the table of 2 * WINDOW + 1 distances those that there are, or zeros around."""
    more = b.Max(b.Sub(length, WINDOW + 1), b.value(0))
    start = b.Max(b.Sub(WINDOW + 1, length), b.value(0))
    end = b.Sub(b.Add(start, b.Mul(length, 2)), 1)
    return b.slice(pad(b, table, 3, 0, 0, more, more, 0, 0), 1, start, end)


def to_absolute(b, x):
    """[batch, heads, l, 2 * l - 1] of distances to [batch, heads, l, l]."""
    batch, heads, length = (b.size(x, i) for i in range(3))
    x = pad(b, x, 4, 0, 1, 0, 0, 0, 0, 0, 0)
    x = b.view(x, batch, heads, b.Mul(length, b.Mul(length, 2)))
    x = pad(b, x, 3, 0, b.Sub(length, 1), 0, 0, 0, 0)
    x = b.view(x, batch, heads, b.Add(length, 1), b.Sub(b.Mul(length, 2), 1))
    return b.slice(b.slice(x, 2, 0, length), 3, b.Sub(length, 1), END)


def to_relative(b, x):
    batch, heads, length = (b.size(x, i) for i in range(3))
    x = pad(b, x, 4, 0, b.Sub(length, 1), 0, 0, 0, 0, 0, 0)
    flat = b.Add(b.Mul(length, length), b.Mul(length, b.Sub(length, 1)))
    x = pad(b, b.view(x, batch, heads, flat), 3, length, 0, 0, 0, 0, 0)
    x = b.view(x, batch, heads, length, b.Mul(length, 2))
    return b.slice(x, 3, 1, END)


def heads_of(b, x):
    """[batch, WIDTH, l] to [batch, HEADS, l, DEPTH]."""
    x = b.view(x, b.size(x, 0), HEADS, DEPTH, b.size(x, 2))
    return b.Transpose(x, perm=[0, 1, 3, 2])


def relative_attention(b, x, mask):
    q, k, v = (heads_of(b, b.conv(x, WIDTH, WIDTH, [1])) for _ in range(3))
    length = b.size(k, 2)
    keys, values = (b.value(b.random(1, 2 * WINDOW + 1, DEPTH) / 4) for _ in range(2))
    q = b.Div(q, math.sqrt(DEPTH))
    near = b.MatMul(q, b.Transpose(b.Unsqueeze(relative(b, keys, length), [0]),
                                   perm=[0, 1, 3, 2]))
    scores = b.Add(b.scores(q, k), to_absolute(b, near))
    scores = b.Softmax(b.Where(b.Equal(mask, 0.0), -1e4, scores), axis=-1)
    y = b.MatMul(scores, v)
    far = b.Unsqueeze(relative(b, values, length), [0])
    y = b.Add(y, b.MatMul(to_relative(b, scores), far))
    y = b.Transpose(y, perm=[0, 1, 3, 2])
    y = b.view(y, b.size(x, 0), WIDTH, b.size(y, 3))
    return b.conv(y, WIDTH, WIDTH, [1])


def channel_norm(b, x):
    return b.Transpose(b.norm(b.Transpose(x, perm=[0, 2, 1]), WIDTH), perm=[0, 2, 1])


def text_encoder(b, ids, lengths):
    """States, their mean and log of deviation, and the mask [batch, 1, phonemes]."""
    x = b.Mul(b.Gather(b.random(20, WIDTH) / 2, ids), math.sqrt(WIDTH))
    x = b.Transpose(x, perm=[0, 2, 1])
    mask = b.Cast(b.Unsqueeze(sequence_mask(b, lengths, b.size(x, 2)), [1]), to=F32)
    both = b.Mul(b.Unsqueeze(mask, [2]), b.Unsqueeze(mask, [-1]))
    x = b.Mul(x, mask)
    x = channel_norm(b, b.Add(x, relative_attention(b, x, both)))
    y = b.Relu(b.conv(b.Mul(x, mask), WIDTH, 24, [3], pads=[1, 1]))
    y = b.Mul(b.conv(b.Mul(y, mask), 24, WIDTH, [3], pads=[1, 1]), mask)
    x = b.Mul(channel_norm(b, b.Add(x, y)), mask)
    stats = b.Mul(b.conv(x, WIDTH, 2 * WIDTH, [1]), mask)
    return x, *b.Split(stats, [WIDTH, WIDTH], axis=1, count=2), mask


# ---- VITS: durations, the flow, and sound --------------------------------------------------------

def path_of(b, durations, mask):
    """generate_path: [batch, 1, frames, phonemes], 1 where a frame is of a phoneme."""
    batch, frames, phonemes = b.size(mask, 0), b.size(mask, 2), b.size(mask, 3)
    ends = b.view(b.CumSum(durations, -1), b.Mul(batch, phonemes))
    path = b.Cast(sequence_mask(b, ends, b.Cast(frames, to=F32), 0.0, 1.0), to=F32)
    path = b.view(path, batch, phonemes, frames)
    before = b.slice(b.Pad(path, [0, 1, 0, 0, 0, 0], np.float32(0)), 1, 0, -1)
    path = b.Unsqueeze(b.Sub(path, before), [1])
    return b.Mul(b.Transpose(path, perm=[0, 1, 3, 2]), mask)


def coupling(b, x, mask):
    """A layer of the flow, backwards: the second half moved by what the first one says."""
    x = b.Slice(x, [-1], [-END], [1], [-1])
    half = WIDTH // 2
    first, second = b.Split(x, [half, half], axis=1, count=2)
    y = b.Mul(b.conv(first, half, WIDTH, [1]), mask)
    for dilation in (1, 2):
        z = b.conv(y, WIDTH, 2 * WIDTH, [3], dilations=[dilation], pads=[dilation, dilation])
        gate = b.Mul(b.Tanh(b.slice(z, 1, 0, WIDTH)), b.Sigmoid(b.slice(z, 1, WIDTH, END)))
        y = b.Mul(b.Add(y, b.conv(gate, WIDTH, WIDTH, [1])), mask)
    moved = b.Mul(b.Sub(second, b.conv(y, WIDTH, half, [1])), mask)
    return b.Concat(first, moved, axis=1)


def vocoder(b, x):
    """Four samples a frame, by transposed convolutions and residual blocks of two kernels."""
    x, channels = b.conv(x, WIDTH, 8, [7], pads=[3, 3]), 8
    for _ in range(2):
        x = b.ConvTranspose(b.LeakyRelu(x, alpha=.1), b.matrix(channels, channels // 2, 4),
                            b.random(channels // 2) / 8, kernel_shape=[4], strides=[2],
                            pads=[1, 1])
        channels //= 2
        parts = []
        for size in (3, 5):
            y = b.conv(b.LeakyRelu(x, alpha=.1), channels, channels, [size], dilations=[2],
                       pads=[size - 1, size - 1])
            parts.append(b.Add(y, x))
        x = b.Div(b.Add(*parts), 2.0)
    x = b.Conv(b.LeakyRelu(x, alpha=.01), b.matrix(1, channels, 7), kernel_shape=[7], pads=[3, 3])
    return b.Tanh(x)


def no_noise(rng, shape, _):
    """noise_scale, length_scale, noise_w: without noise, since no two runtimes draw the same."""
    return np.float32([0, rng.uniform(.6, 1.2), 0])


@model(batch=(1, 2), phonemes=(1, 14))
def vits(b):
    """VITS: relative attention, durations whose sum is the length of the sound, a path along them,
    noise, a flow backwards, and transposed convolutions"""
    ids = b.input("input", ["batch", "phonemes"], lambda rng, shape, _: rng.integers(0, 20, shape),
                  I64)
    lengths = b.input("input_lengths", ["batch"], text_lengths, I64)
    scales = b.input("scales", [3], no_noise)
    noise, pace, _ = (b.Gather(scales, i, axis=0) for i in range(3))
    x, mean, logs, mask = text_encoder(b, ids, lengths)
    y = b.Relu(b.conv(b.Mul(x, mask), WIDTH, 12, [3], pads=[1, 1]))
    logw = b.Mul(b.conv(b.Mul(y, mask), 12, 1, [1]), mask)
    w = b.Ceil(b.Mul(b.Mul(b.Exp(logw), mask), pace))
    frames = b.Cast(b.Clip(b.ReduceSum(w, [1, 2], keepdims=0), np.float32(1)), to=I64)
    longest = b.ReduceMax(frames, keepdims=0)
    b.most[longest] = "1..60"
    y_mask = b.Cast(b.Unsqueeze(sequence_mask(b, frames, longest), [1]), to=F32)
    both = b.Mul(b.Unsqueeze(mask, [2]), b.Unsqueeze(y_mask, [-1]))
    path = b.Squeeze(path_of(b, w, both), [1])
    mean, logs = (b.Transpose(b.MatMul(path, b.Transpose(v, perm=[0, 2, 1])), perm=[0, 2, 1])
                  for v in (mean, logs))
    z = b.Mul(b.Mul(b.RandomNormalLike(mean, dtype=F32), b.Exp(logs)), noise)
    z = b.Add(mean, z)
    for _ in range(2):
        z = coupling(b, z, y_mask)
    b.output("output", b.Unsqueeze(vocoder(b, b.Mul(z, y_mask)), [1]),
             ["batch", 1, 1, "samples"])
