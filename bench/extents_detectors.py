# SPDX-License-Identifier: Apache-2.0
"""Detectors of bench/extents.py, from the image to the boxes that are kept, as torch.onnx exports
those of torchvision and ultralytics, with few channels."""


from extents_boxes import (arange, batched_nms, clipped, decoded, full_like, masked, meshgrid, nms,
                           stack, topk)
from extents_builder import END, F32, I64, model, np, real, whole


def normalised(b, image):
    """With much contrast, so that scores differ by more than rounding."""
    return b.Div(b.Sub(image, .1), .15)


def block(b, x, k, n, stride=1, size=3):
    """A convolution with SiLU."""
    x = b.conv(x, k, n, [size, size], strides=[stride, stride], pads=[size // 2] * 4)
    return b.Mul(x, b.Sigmoid(x))


# ---- YOLO ----------------------------------------------------------------------------------------

def twice(b, x):
    return b.Resize(x, "", np.float32([1, 1, 2, 2]), mode="nearest", nearest_mode="floor",
                    coordinate_transformation_mode="asymmetric")


def yolo_maps(b, image):
    """Maps at strides 8 and 16, joined up and down."""
    x = block(b, block(b, image, 3, 4, 2), 4, 8, 2)
    high = block(b, x, 8, 8, 2)
    low = block(b, high, 8, 12, 2)
    pooled = [low]
    for _ in range(2):
        pooled.append(b.MaxPool(pooled[-1], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    low = block(b, b.Concat(*pooled, axis=1), 36, 12, size=1)
    high = block(b, b.Concat(twice(b, low), high, axis=1), 20, 8)
    low = block(b, b.Concat(block(b, high, 8, 8, 2), low, axis=1), 20, 12)
    return ((high, 8, 8), (low, 12, 16))


def yolo_anchors(b, maps):
    """make_anchors: centres [n, 2] and strides [n, 1], from the sizes of maps."""
    centres, strides = [], []
    for x, _, stride in maps:
        high, wide = b.size(x, 2), b.size(x, 3)
        across, down = (b.Add(arange(b, n, F32), .5) for n in (wide, high))
        down, across = meshgrid(b, down, across)
        centres.append(b.Reshape(stack(b, [across, down], 2), [-1, 2]))
        strides.append(b.ConstantOfShape(b.dims(b.Mul(high, wide), 1), value=real(stride)))
    return b.Concat(*centres, axis=0), b.Concat(*strides, axis=0)


def yolo_head(b, maps, classes, levels=4):
    """Boxes as corners or middles, and scores: [batch, 4 + classes, n]."""
    flat = []
    for x, k, _ in maps:
        boxes, scores = b.conv(x, k, 4 * levels, [1, 1]), b.conv(x, k, classes, [1, 1])
        y = b.Concat(boxes, b.Add(scores, -2.0), axis=1)
        flat.append(b.view(y, b.size(y, 0), 4 * levels + classes, -1))
    y = b.Concat(*flat, axis=2)
    sides, scores = b.Split(y, [4 * levels, classes], axis=1, count=2)
    batch, n = b.size(sides, 0), b.size(sides, 2)
    sides = b.Transpose(b.view(sides, batch, 4, levels, n), perm=[0, 2, 1, 3])
    weights = np.arange(levels, dtype=np.float32).reshape(1, levels, 1, 1)
    sides = b.view(b.Conv(b.Softmax(sides, axis=1), weights), batch, 4, n)
    centres, strides = yolo_anchors(b, maps)
    centres = b.Unsqueeze(b.Transpose(centres, perm=[1, 0]), [0])
    half = b.Div(b.Add(b.size(sides, 1), 1), 2)
    before, after = b.slice(sides, 1, 0, half), b.slice(sides, 1, half, b.Mul(half, 2))
    return (b.Sub(centres, before), b.Add(centres, after), b.Transpose(strides, perm=[1, 0]),
            b.Sigmoid(scores))


@model(height=(32, 96, 16), width=(32, 96, 16))
def yolo(b):
    """A YOLO whose suppression is the operator, for images whose sides are multiples of 16"""
    image = b.input("images", [1, 3, "height", "width"])
    low, high, strides, scores = yolo_head(b, yolo_maps(b, normalised(b, image)), 3)
    middle = b.Div(b.Add(low, high), 2.0)
    boxes = b.Mul(b.Concat(middle, b.Sub(high, low), axis=1), strides)
    boxes = b.Transpose(boxes, perm=[0, 2, 1])
    picked = b.NonMaxSuppression(boxes, scores, [20], np.float32([.45]), np.float32([.25]),
                                 center_point_box=1)
    of_box = b.Gather(picked, [0, 2], axis=1)
    kept = b.GatherND(boxes, of_box)
    score = b.Unsqueeze(b.GatherND(scores, picked), [1])
    kinds = b.Cast(b.Gather(picked, [1], axis=1), to=F32)
    image = b.Cast(b.Gather(picked, [0], axis=1), to=F32)
    b.output("output", b.Concat(image, kept, kinds, score, axis=1), ["kept", 7])


def padded_below(b, x, rows):
    """F.pad(x, (0, 0, 0, rows)), whose pads torch.onnx turns around by reshaping and reversing."""
    pads = b.Concat([0], [0], [0], b.Unsqueeze(rows, [0]), axis=0)
    more = b.ConstantOfShape(b.Sub(b.Mul([2], 2), b.Shape(pads)), value=whole(0))
    pads = b.Reshape(b.Concat(pads, more, axis=0), [-1, 2])
    pads = b.Transpose(b.Slice(pads, [-1], [-2 ** 63 + 1], [0], [-1]), perm=[1, 0])
    return b.Pad(x, b.Cast(b.Reshape(pads, [-1]), to=I64), np.float32(0))


@model(height=(32, 96, 16), width=(32, 96, 16))
def yolo_end(b):
    """The NMSModel of ultralytics: boolean indices, suppression with offsets by class, and rows of
    zeros up to a fixed number"""
    classes, rows = 3, 30
    image = b.input("images", [1, 3, "height", "width"])
    low, high, strides, scores = yolo_head(b, yolo_maps(b, normalised(b, image)), classes)
    pred = b.Concat(b.Mul(b.Concat(low, high, axis=1), strides), scores, axis=1)
    pred = b.Transpose(pred, perm=[0, 2, 1])
    boxes, scores = b.Split(pred, [4, classes], axis=2, count=2)
    scores, kinds = b.ReduceMax(scores, axes=[-1], keepdims=0), b.ArgMax(scores, axis=-1,
                                                                           keepdims=0)
    boxes, scores, kinds = (b.Gather(x, 0, axis=0) for x in (boxes, scores, kinds))
    mask = b.Greater(scores, .3)
    boxes, scores, kinds = (masked(b, x, mask) for x in (boxes, scores, kinds))
    sides = b.Cast(b.Slice(b.Shape(image), [2], [END], [0]), to=F32)
    near = b.Mul(b.Div(boxes, b.ReduceMax(sides, keepdims=0)), 1 / classes)
    offset = b.expand(b.view(kinds, b.size(kinds, 0), 1), b.size(kinds, 0), 4)
    near = b.Add(near, b.Mul(b.Cast(offset, to=F32), 1 / classes))
    keep = b.Slice(nms(b, near, scores, .45), [0], [rows], [0])
    scores, kinds = (b.view(b.Gather(x, keep, axis=0), -1, 1) for x in (scores, kinds))
    found = b.Concat(b.Gather(boxes, keep, axis=0), scores, b.Cast(kinds, to=F32), axis=1)
    found = padded_below(b, found, b.Sub(rows, b.size(found, 0)))
    zeros = b.ConstantOfShape([1, rows, 6], value=real(0))
    b.output("output", b.ScatterND(zeros, np.int64([[0]]), b.Unsqueeze(found, [0])),
             [1, rows, 6])
    b.output("keep", keep, ["kept"], I64)


# ---- SSDlite -------------------------------------------------------------------------------------

def default_boxes(b, maps, image):
    """DefaultBoxGenerator: middles by map, sides of each aspect, [n, 4] in pixels."""
    all_boxes = []
    for scale, (x, _) in zip((.3, .6), maps):
        high, wide = b.size(x, 2), b.size(x, 3)
        sides = [[scale, scale], [scale * 2 ** .5, scale / 2 ** .5]]
        down, across = (b.Div(b.Add(arange(b, n, F32), .5), b.Cast(n, to=F32))
                        for n in (high, wide))
        down, across = (b.Reshape(v, [-1]) for v in meshgrid(b, down, across))
        shifts = b.Reshape(stack(b, [across, down] * len(sides), -1), [-1, 2])
        pairs = b.Clip(np.float32(sides), np.float32(0), np.float32(1))
        pairs = b.Tile(pairs, b.dims(b.Mul(high, wide), 1))
        all_boxes.append(b.Concat(shifts, pairs, axis=1))
    boxes = b.Concat(*all_boxes, axis=0)
    size = stack(b, [b.size(image, 3), b.size(image, 2)], 0)
    size = b.Cast(size, to=F32)
    middle, sides = b.slice(boxes, 1, 0, 2), b.slice(boxes, 1, 2, 4)
    low, high = b.Sub(middle, b.Mul(sides, .5)), b.Add(middle, b.Mul(sides, .5))
    return b.Concat(b.Mul(low, size), b.Mul(high, size), axis=1)


def ssd_head(b, maps, each):
    """[1, n, each], from maps [1, aspects * each, height, width]."""
    flat = []
    for x, k in maps:
        y = b.conv(b.Clip(x, np.float32(0), np.float32(6)), k, 2 * each, [1, 1])
        y = b.view(y, b.size(y, 0), -1, each, b.size(y, 2), b.size(y, 3))
        y = b.Transpose(y, perm=[0, 3, 4, 1, 2])
        flat.append(b.view(y, b.size(y, 0), -1, each))
    return b.Concat(*flat, axis=1)


@model(height=(32, 120), width=(32, 120))
def ssdlite(b):
    """torchvision's SSDlite: default boxes by the maps' sizes, the best of each class, suppression
    by class"""
    classes = 4
    image = b.input("image", [1, 3, "height", "width"])
    x = normalised(b, image)
    for k, n in ((3, 6), (6, 8), (8, 8), (8, 8)):
        x = b.conv(x, k, n, [3, 3], strides=[2, 2], pads=[1] * 4)
        x = b.HardSwish(x)
    y = b.conv(x, 8, 8, [3, 3], strides=[2, 2], pads=[1] * 4)
    maps = [(x, 8), (y, 8)]
    codes = b.Gather(ssd_head(b, maps, 4), 0, axis=0)
    logits = b.Softmax(ssd_head(b, maps, classes), axis=-1)
    logits = b.Gather(logits, 0, axis=0)
    boxes = decoded(b, codes, default_boxes(b, maps, image), (10, 10, 5, 5))
    boxes = clipped(b, boxes, b.size(image, 2), b.size(image, 3))
    of_class = []
    for label in range(1, classes):
        score = b.Gather(logits, label, axis=1)
        keep = b.Greater(score, .45)
        score, box = masked(b, score, keep), masked(b, boxes, keep)
        score, at = topk(b, score, 30, 0)
        label = full_like(b, score, label)
        of_class.append((b.Gather(box, at, axis=0), score, label))
    boxes, scores, labels = (b.Concat(*x, axis=0) for x in zip(*of_class))
    keep = b.Slice(batched_nms(b, boxes, scores, labels, .55), [0], [60], [0])
    b.output("boxes", b.Gather(boxes, keep, axis=0), ["kept", 4])
    b.output("scores", b.Gather(scores, keep, axis=0), ["kept"])
    b.output("labels", b.Gather(labels, keep, axis=0), ["kept"], I64)
