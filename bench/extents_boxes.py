# SPDX-License-Identifier: Apache-2.0
"""Operations on boxes that the detectors of bench/extents_detectors.py share, as torch.onnx exports
torchvision.ops and indexing."""
import math

from extents_builder import BOOL, END, F32, I64, np, real, whole


def where(b, condition):
    """torch.where(condition)[0], of a list."""
    at = b.Transpose(b.NonZero(condition), perm=[1, 0])
    return b.Squeeze(b.Gather(at, [0], axis=1), [1])


def masked(b, x, mask):
    """x[mask]."""
    return b.GatherND(x, b.Transpose(b.NonZero(mask), perm=[1, 0]))


def column(b, x, i, axis=1):
    """x[:, i:i + 1]."""
    return b.slice(x, axis, i, i + 1)


def every(b, x, start, step, axis=1):
    """x[:, start::step]."""
    return b.Slice(x, [start], [END], [axis], [step])


def stack(b, parts, axis):
    return b.Concat(*(b.Unsqueeze(p, [axis]) for p in parts), axis=axis)


def arange(b, end, kind=None):
    at = b.Range(0, end, 1)
    return at if kind is None else b.Cast(at, to=kind)


def meshgrid(b, rows, columns):
    """torch.meshgrid(rows, columns, indexing="ij")."""
    shape = b.Concat(b.Shape(rows), b.Shape(columns), axis=0)
    return (b.Expand(b.Reshape(rows, b.Concat(b.Shape(rows), [1], axis=0)), shape),
            b.Expand(b.Reshape(columns, b.Concat([1], b.Shape(columns), axis=0)), shape))


def full_like(b, x, value):
    shape = b.Shape(x)
    return b.ConstantOfShape(shape, value=whole(value) if isinstance(value, int) else real(value))


def nms(b, boxes, scores, threshold):
    """torchvision.ops.nms: the boxes that are kept, the best first."""
    boxes = b.Unsqueeze(boxes, [0])
    scores = b.Unsqueeze(b.Unsqueeze(scores, [0]), [0])
    kept = b.NonMaxSuppression(boxes, scores, [2 ** 63 - 1], np.float32([threshold]))
    return b.Squeeze(b.Gather(kept, [2], axis=1), [1])


def batched_nms(b, boxes, scores, groups, threshold):
    """torchvision.ops.batched_nms: of each group its own, by an offset of its coordinates, in a
    script that has a branch for no boxes."""
    def none():
        return [(b.ConstantOfShape([0], value=whole(0)), I64)]

    def some():
        most = b.ReduceMax(boxes, keepdims=0)
        offsets = b.Mul(b.Cast(groups, to=F32), b.Add(most, 1.0))
        return [(nms(b, b.Add(boxes, b.Unsqueeze(offsets, [1])), scores, threshold), I64)]

    is_none = b.Cast(b.Equal(b.Size(boxes), 0), to=BOOL)
    return b.If(is_none, then_branch=b.graph(none), else_branch=b.graph(some))


def topk_min(b, x, k, axis):
    """min(k, x.size(axis)), as _topk_min has it while it is traced."""
    size = b.Unsqueeze(b.size(x, axis), [0])
    return b.Reshape(b.Cast(b.ReduceMin(b.Concat([k], size, axis=0), keepdims=0), to=I64), [-1])


def topk(b, x, k, axis):
    return b.TopK(x, topk_min(b, x, k, axis), axis=axis, largest=1, sorted=1, count=2)


def clipped(b, boxes, height, width, axis=1):
    """clip_boxes_to_image: within the image; height and width are numbers or scalars of whole
    ones."""
    ends = []
    for i, most in ((0, width), (1, height)):
        x = b.Max(every(b, boxes, i, 2, axis), np.float32(0))
        most = np.float32(most) if isinstance(most, int) else b.Cast(most, to=F32)
        ends.append(b.Min(x, most))
    return b.Reshape(stack(b, ends, axis + 1), b.Shape(boxes))


def large(b, boxes, least):
    """remove_small_boxes."""
    x0, y0, x1, y1 = (b.Gather(boxes, i, axis=1) for i in range(4))
    wide = b.GreaterOrEqual(b.Sub(x1, x0), least)
    high = b.GreaterOrEqual(b.Sub(y1, y0), least)
    return where(b, b.And(wide, high))


def decoded(b, codes, boxes, weights):
    """BoxCoder.decode_single: codes [n, 4 * classes] of boxes [n, 4]."""
    wide = b.Sub(b.Gather(boxes, 2, axis=1), b.Gather(boxes, 0, axis=1))
    high = b.Sub(b.Gather(boxes, 3, axis=1), b.Gather(boxes, 1, axis=1))
    x = b.Add(b.Gather(boxes, 0, axis=1), b.Mul(wide, .5))
    y = b.Add(b.Gather(boxes, 1, axis=1), b.Mul(high, .5))
    dx, dy, dw, dh = (b.Div(every(b, codes, i, 4), float(w)) for i, w in enumerate(weights))
    dw, dh = (b.Clip(d, "", np.float32(math.log(1000 / 16))) for d in (dw, dh))
    wide, high, x, y = (b.Unsqueeze(v, [1]) for v in (wide, high, x, y))
    x, y = b.Add(b.Mul(dx, wide), x), b.Add(b.Mul(dy, high), y)
    wide, high = b.Mul(b.Exp(dw), wide), b.Mul(b.Exp(dh), high)
    to_x, to_y = b.Mul(wide, .5), b.Mul(high, .5)
    corners = stack(b, [b.Sub(x, to_x), b.Sub(y, to_y), b.Add(x, to_x), b.Add(y, to_y)], 2)
    shape = b.Shape(corners)
    return b.Reshape(corners, b.Concat(b.Slice(shape, [0], [1], [0]), [-1], axis=0))


def indexed(b, x, rows, columns, more=()):
    """x[rows, columns], of tensors that are broadcast; more: the sizes of x's other axes."""
    shape = b.Shape(x)
    n = b.Gather(shape, [1], axis=0)
    at = b.Add(columns, b.Mul(rows, n))
    y = b.Gather(b.Flatten(x, axis=2), at, axis=0)
    more = [b.Gather(shape, [2 + i], axis=0) for i in range(len(more))]
    y = b.Reshape(y, b.Concat([-1], *more, axis=0))
    return b.Reshape(y, b.Concat(b.Shape(at), *more, axis=0))
