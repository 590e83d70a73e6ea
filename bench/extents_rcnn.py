# SPDX-License-Identifier: Apache-2.0
"""Detectors of two stages of bench/extents.py: torchvision's Faster R-CNN and Mask R-CNN as
torch.onnx exports them, from the image as it comes to boxes, labels, scores and masks in its size.
Few channels, and small images: they are resized to sides of at least 40, at most 64."""
import math

from extents_boxes import (arange, batched_nms, clipped, decoded, full_like, indexed, large,
                           meshgrid, stack, topk, where)
from extents_builder import BOOL, F32, I32, I64, model, np, real, whole

LEAST_SIDE, MOST_SIDE, STRIDE = 40.0, 64.0, 16
CHANNELS, ANCHORS, CLASSES = 6, 3, 4


# ---- GeneralizedRCNNTransform --------------------------------------------------------------------

def resized(b, image):
    """[3, height, width] with its shorter side as it should be, unless the longer one is too long
    then."""
    image = b.Unsqueeze(image, [0])
    sides = b.Slice(b.Shape(image), [2], [2 ** 63 - 1], [0])
    least = b.Cast(b.ReduceMin(sides, keepdims=0), to=F32)
    most = b.Cast(b.ReduceMax(sides, keepdims=0), to=F32)
    scale = b.Min(b.Div(LEAST_SIDE, least), b.Div(MOST_SIDE, most))
    sizes = []
    for axis in (2, 3):
        size = b.Floor(b.Mul(b.Cast(b.size(image, axis), to=F32), scale))
        sizes.append(b.Unsqueeze(b.Cast(size, to=I64), [0]))
    sizes = b.Concat(b.Slice(b.Shape(image), [0], [2], [0]), *sizes, axis=0)
    image = b.Resize(image, "", "", sizes, mode="linear",
                     coordinate_transformation_mode="pytorch_half_pixel")
    return b.Squeeze(image, [0])


def batched(b, image):
    """Of one image, with zeros up to multiples of the stride."""
    pads = []
    for axis in (1, 2):
        size = b.size(image, axis)
        most = b.Cast(b.ReduceMax(b.Cast(stack(b, [size], 0), to=F32), keepdims=0), to=I64)
        most = b.Mul(b.Ceil(b.Div(b.Cast(most, to=F32), float(STRIDE))), float(STRIDE))
        pads.append(b.Unsqueeze(b.Sub(b.Cast(most, to=I64), size), [0]))
    # as F.pad turns them around
    pads = b.Concat([0], pads[1], [0], pads[0], [0], [0], axis=0)
    pads = b.Slice(b.Reshape(pads, [-1, 2]), [-1], [-2 ** 63 + 1], [0], [-1])
    pads = b.Reshape(b.Transpose(pads, perm=[1, 0]), [-1])
    return b.Unsqueeze(b.Pad(image, b.Cast(pads, to=I64), np.float32(0)), [0])


# ---- the pyramid ---------------------------------------------------------------------------------

def pyramid(b, image):
    """Maps at strides 4, 8 and 16, and one more by a pool, all of CHANNELS."""
    x = b.Relu(b.conv(image, 3, 6, [3, 3], strides=[2, 2], pads=[1] * 4))
    maps = []
    for k, n in ((6, 6), (6, 8), (8, 8)):
        x = b.Relu(b.conv(x, k, n, [3, 3], strides=[2, 2], pads=[1] * 4))
        maps.append((x, n))
    inner = [b.conv(x, n, CHANNELS, [1, 1]) for x, n in maps]
    last, out = inner[-1], []
    out.append(b.conv(last, CHANNELS, CHANNELS, [3, 3], pads=[1] * 4))
    for x in reversed(inner[:-1]):
        sizes = b.Concat(b.Slice(b.Shape(last), [0], [2], [0]),
                         b.Slice(b.Shape(x), [2], [4], [0]), axis=0)
        last = b.Add(x, b.Resize(last, "", "", sizes, mode="nearest", nearest_mode="floor",
                                 coordinate_transformation_mode="asymmetric"))
        out.insert(0, b.conv(last, CHANNELS, CHANNELS, [3, 3], pads=[1] * 4))
    return [*out, b.MaxPool(out[-1], kernel_shape=[1, 1], strides=[2, 2])]


# ---- proposals -----------------------------------------------------------------------------------

def anchors(b, image, maps):
    boxes = []
    for side, x in zip((6, 12, 24, 40), maps):
        high, wide = b.size(x, 2), b.size(x, 3)
        of = [b.Div(b.size(image, axis), n) for axis, n in ((2, high), (3, wide))]
        down, across = (b.Mul(arange(b, n, I32), b.Cast(step, to=I32))
                        for n, step in zip((high, wide), of))
        down, across = (b.Reshape(v, [-1]) for v in meshgrid(b, down, across))
        shifts = b.Cast(stack(b, [across, down, across, down], 1), to=F32)
        ratios = np.sqrt(np.float32([.5, 1, 2]))
        w, h = side / ratios, side * ratios
        base = (np.stack([-w, -h, w, h], axis=1) / 2).round().astype(np.float32)
        at = b.Add(b.Reshape(shifts, [-1, 1, 4]), base[None])
        boxes.append(b.Reshape(at, [-1, 4]))
    return b.Concat(*boxes, axis=0)


def flat(b, x, each):
    """permute_and_flatten: [batch, n, each]."""
    batch = b.size(x, 0)
    x = b.view(x, batch, -1, each, b.size(x, 2), b.size(x, 3))
    x = b.Transpose(x, perm=[0, 3, 4, 1, 2])
    return b.view(x, batch, -1, each)


def top_of_levels(b, objectness, counts):
    """The best of each level, by their places among all."""
    offset, found = b.value(0), []
    parts = b.Split(objectness, b.Concat(*(b.Unsqueeze(n, [0]) for n in counts), axis=0), axis=1,
                    count=len(counts))
    for part in parts:
        n = b.size(part, 1)
        _, at = topk(b, part, 40, 1)
        found.append(b.Add(at, offset))
        offset = b.Add(offset, n)
    return b.Concat(*found, axis=1)


def proposals(b, maps, image, height, width):
    """[n, 4], the best of all levels, each with its own suppression."""
    kernel, bias = b.value(b.matrix(CHANNELS, CHANNELS, 3, 3)), b.value(b.random(CHANNELS) / 8)
    heads = [(b.value(b.matrix(n, CHANNELS, 1, 1) / 2), b.value(b.random(n) / 8))
             for n in (ANCHORS, 4 * ANCHORS)]
    scores, codes, counts = [], [], []
    for x in maps:
        y = b.Relu(b.Conv(x, kernel, bias, kernel_shape=[3, 3], pads=[1] * 4))
        score, code = (b.Conv(y, *head, kernel_shape=[1, 1]) for head in heads)
        counts.append(b.Mul(b.Mul(b.size(score, 1), b.size(score, 2)), b.size(score, 3)))
        scores.append(flat(b, score, 1))
        codes.append(flat(b, code, 4))
    scores = b.Reshape(b.Concat(*scores, axis=1), [-1, 1])
    codes = b.Reshape(b.Concat(*codes, axis=1), [-1, 4])
    boxes = decoded(b, b.Mul(codes, .1), anchors(b, image, maps), (1, 1, 1, 1))
    batch = b.size(image, 0)
    boxes = b.view(boxes, batch, -1, 4)
    scores = b.view(scores, batch, -1)
    levels = b.Concat(*(b.Add(b.ConstantOfShape(b.Unsqueeze(n, [0]), value=whole(0)), i)
                        for i, n in enumerate(counts)), axis=0)
    levels = b.Expand(b.Reshape(levels, [1, -1]), b.Shape(scores))
    at = top_of_levels(b, scores, counts)
    row = b.Unsqueeze(arange(b, batch), [1])
    scores, levels = indexed(b, scores, row, at), indexed(b, levels, row, at)
    boxes = indexed(b, boxes, row, at, more=(4,))
    scores, levels, boxes = (b.Gather(x, 0, axis=0) for x in (b.Sigmoid(scores), levels, boxes))
    boxes = clipped(b, boxes, height, width)
    for keep in (lambda: large(b, boxes, 1e-3), lambda: where(b, b.GreaterOrEqual(scores, 0.0))):
        keep = keep()
        boxes, scores, levels = (b.Gather(x, keep, axis=0) for x in (boxes, scores, levels))
    keep = b.Slice(batched_nms(b, boxes, scores, levels, .7), [0], [60], [0])
    return b.Gather(boxes, keep, axis=0)


# ---- regions -------------------------------------------------------------------------------------

def log2(b, x):
    return b.Div(b.Log(x), math.log(2))


def level_of(b, boxes):
    wide = b.Sub(b.Gather(boxes, 2, axis=1), b.Gather(boxes, 0, axis=1))
    high = b.Sub(b.Gather(boxes, 3, axis=1), b.Gather(boxes, 1, axis=1))
    side = b.Sqrt(b.Mul(wide, high))
    level = b.Floor(b.Add(b.Add(log2(b, b.Div(side, 24.0)), 3.0), 1e-6))
    level = b.Cast(b.Clip(level, np.float32(2), np.float32(4)), to=I64)
    return b.Cast(b.Sub(level, 2), to=I64)


def pooled(b, maps, boxes, side):
    """MultiScaleRoIAlign: [n, CHANNELS, side, side], each box from the map of its level."""
    image = full_like(b, b.slice(boxes, 1, 0, 1), 0.0)
    rois = b.Concat(image, boxes, axis=1)
    level = level_of(b, boxes)
    parts = []
    for i, x in enumerate(maps[:3]):
        mine = b.Gather(rois, where(b, b.Equal(level, i)), axis=0)
        of = b.Cast(b.Squeeze(b.Gather(mine, [0], axis=1), [1]), to=I64)
        parts.append(b.RoiAlign(x, b.Slice(mine, [1], [5], [1]), of, output_height=side,
                                output_width=side, sampling_ratio=2, spatial_scale=.25 / 2 ** i,
                                mode="avg", coordinate_transformation_mode="output_half_pixel"))
    first = parts[0]
    merged = b.ConstantOfShape(b.dims(b.size(level, 0), *(b.size(first, k) for k in (1, 2, 3))),
                               value=real(0))
    for i, part in enumerate(parts):
        at = b.Reshape(where(b, b.Equal(level, i)), [-1, 1, 1, 1])
        at = b.expand(at, b.size(at, 0), *(b.size(part, k) for k in (1, 2, 3)))
        merged = b.ScatterElements(merged, at, part, axis=0)
    return merged







def detections(b, maps, boxes, height, width):
    """Boxes, scores and labels after the second stage, in the resized image."""
    x = b.Flatten(pooled(b, maps, boxes, 3), axis=1)
    for k, n in ((9 * CHANNELS, 16), (16, 16)):
        x = b.Relu(b.Gemm(x, b.matrix(n, k), b.random(n) / 8, transB=1))
    logits = b.Gemm(x, .2 * b.matrix(CLASSES, 16), b.random(CLASSES) / 8, transB=1)
    codes = b.Gemm(x, b.matrix(4 * CLASSES, 16), b.random(4 * CLASSES) / 8, transB=1)
    codes = b.view(codes, b.size(boxes, 0), -1)
    found = decoded(b, codes, boxes, (10, 10, 5, 5))
    found = b.view(found, b.size(boxes, 0), -1, 4)
    scores = b.Softmax(logits, axis=-1)
    found = clipped(b, found, height, width, axis=2)
    labels = b.Reshape(arange(b, CLASSES), [1, -1])
    labels = b.Expand(labels, b.Shape(scores))
    found, scores, labels = (b.Slice(x, [1], [2 ** 63 - 1], [1]) for x in (found, scores, labels))
    found, scores, labels = b.Reshape(found, [-1, 4]), b.Reshape(scores, [-1]), b.Reshape(
        labels, [-1])
    for keep in (lambda: where(b, b.Greater(scores, .6)), lambda: large(b, found, .01)):
        keep = keep()
        found, scores, labels = (b.Gather(x, keep, axis=0) for x in (found, scores, labels))
    keep = b.Slice(batched_nms(b, found, scores, labels, .5), [0], [30], [0])
    return [b.Gather(x, keep, axis=0) for x in (found, scores, labels)]


def in_the_image(b, boxes, image, small):
    """resize_boxes: from the resized image to the one that was given."""
    ratios = [b.Div(b.Cast(b.size(image, axis), to=F32), b.Cast(b.size(small, axis), to=F32))
              for axis in (1, 2)]
    sides = b.Split(boxes, [1] * 4, axis=1, count=4)
    sides = [b.Mul(b.Squeeze(side, [1]), ratios[1 - i % 2]) for i, side in enumerate(sides)]
    return stack(b, sides, 1)


def first_stages(b):
    image = b.input("image", [3, "height", "width"])
    x = b.Div(b.Sub(image, np.float32([.485, .456, .406]).reshape(3, 1, 1)),
              np.float32([.229, .224, .225]).reshape(3, 1, 1))
    small = resized(b, x)
    x = batched(b, small)
    maps = pyramid(b, x)
    high, wide = b.size(small, 1), b.size(small, 2)
    boxes = proposals(b, maps, x, high, wide)
    return image, small, maps, detections(b, maps, boxes, high, wide)


@model(height=(24, 72), width=(24, 72))
def faster_rcnn(b):
    """torchvision's Faster R-CNN: resized by the image's sides, padded, a pyramid, proposals of
    each level, regions from their level's map, suppression by class"""
    image, small, _, (boxes, scores, labels) = first_stages(b)
    b.output("boxes", in_the_image(b, boxes, image, small), ["kept", 4])
    b.output("labels", labels, ["kept"], I64)
    b.output("scores", scores, ["kept"])


# ---- masks ---------------------------------------------------------------------------------------

def mask_probabilities(b, maps, boxes, labels):
    """[n, 1, 8, 8]: of each box's label."""
    x = pooled(b, maps, boxes, 4)
    for _ in range(2):
        x = b.Relu(b.conv(x, CHANNELS, CHANNELS, [3, 3], pads=[1] * 4))
    x = b.Relu(b.ConvTranspose(x, b.matrix(CHANNELS, CHANNELS, 2, 2), b.random(CHANNELS) / 8,
                               kernel_shape=[2, 2], strides=[2, 2]))
    x = b.Sigmoid(b.conv(x, CHANNELS, CLASSES, [1, 1]))
    row = arange(b, b.size(x, 0))
    return b.Unsqueeze(indexed(b, x, row, labels, more=(8, 8)), [1])


def most_of(b, *parts):
    return b.ReduceMax(b.Concat(*parts, axis=0), keepdims=0)


def least_of(b, *parts):
    return b.ReduceMin(b.Concat(*parts, axis=0), keepdims=0)


def zeros(b, *sizes):
    return b.ConstantOfShape(b.dims(*sizes), value=real(0))


def pasted(b, mask, box, high, wide):
    """_onnx_paste_mask_in_image: the mask resized to its box, cut by the image's sides, with zeros
    around."""
    x0, y0, x1, y1 = (b.Gather(box, i, axis=0) for i in range(4))
    width = most_of(b, b.Add(b.Sub(x1, x0), [1]), [1])
    height = most_of(b, b.Add(b.Sub(y1, y0), [1]), [1])
    mask = b.expand(mask, 1, 1, b.size(mask, 0), b.size(mask, 1))
    sizes = b.Concat(b.Slice(b.Shape(mask), [0], [2], [0]), b.Unsqueeze(height, [0]),
                     b.Unsqueeze(width, [0]), axis=0)
    mask = b.Resize(mask, "", "", sizes, mode="linear",
                    coordinate_transformation_mode="pytorch_half_pixel")
    mask = b.Gather(b.Gather(mask, 0, axis=0), 0, axis=0)
    left, top = (most_of(b, b.Unsqueeze(at, [0]), [0]) for at in (x0, y0))
    right = least_of(b, b.Add(b.Unsqueeze(x1, [0]), [1]), b.Unsqueeze(wide, [0]))
    bottom = least_of(b, b.Add(b.Unsqueeze(y1, [0]), [1]), b.Unsqueeze(high, [0]))
    mask = b.slice(mask, 0, b.Sub(top, y0), b.Sub(bottom, y0))
    mask = b.slice(mask, 1, b.Sub(left, x0), b.Sub(right, x0))
    rows = b.Concat(zeros(b, top, b.size(mask, 1)), mask,
                    zeros(b, b.Sub(high, bottom), b.size(mask, 1)), axis=0)
    rows = b.slice(rows, 0, 0, high)
    mask = b.Concat(zeros(b, b.size(rows, 0), left), rows,
                    zeros(b, b.size(rows, 0), b.Sub(wide, right)), axis=1)
    return b.slice(mask, 1, 0, wide)


def paste_masks(b, masks, boxes, high, wide, side=8):
    """paste_masks_in_image: [n, 1, high, wide], by a script's loop that joins mask by mask."""
    masks = b.Pad(masks, [0, 0, 1, 1, 0, 0, 1, 1], np.float32(0))
    low, up = (b.Split(boxes, [2, 2], axis=1, count=2))
    middle, half = b.Mul(b.Add(low, up), .5), b.Mul(b.Sub(up, low), .5)
    half = b.Mul(half, (side + 2) / side)
    boxes = b.Cast(b.Concat(b.Sub(middle, half), b.Add(middle, half), axis=1), to=I64)

    def paste():
        mask = b.Gather(b.Gather(masks, "i", axis=0), 0, axis=0)
        box = b.Gather(boxes, "i", axis=0)
        b.most[box] = "-40..120"
        mask = b.Unsqueeze(pasted(b, mask, box, high, wide), [0])
        return [(b.Identity("go"), BOOL), (b.Concat("pasted", mask, axis=0), F32)]

    body = b.graph(paste, [("i", I64, []), ("go", BOOL, []),
                           ("pasted", F32, ["so_far", None, None])])
    masks = b.Loop(b.size(masks, 0), np.bool_(True), zeros(b, 0, high, wide), body=body)
    return b.Unsqueeze(masks, [1])


@model(height=(24, 72), width=(24, 72))
def mask_rcnn(b):
    """torchvision's Mask R-CNN: Faster R-CNN, and the masks of its boxes pasted into the image"""
    image, small, maps, (boxes, scores, labels) = first_stages(b)
    masks = mask_probabilities(b, maps, boxes, labels)
    boxes = in_the_image(b, boxes, image, small)
    b.output("boxes", boxes, ["kept", 4])
    b.output("labels", labels, ["kept"], I64)
    b.output("scores", scores, ["kept"])
    masks = paste_masks(b, masks, boxes, b.size(image, 1), b.size(image, 2))
    b.output("masks", masks, ["kept", 1, "height", "width"])


def boxes_in(rng, shape, sizes):
    corners = rng.uniform(0, .8, (shape[0], 2))
    ends = corners + rng.uniform(.05, 1, corners.shape) * (1 - corners)
    sides = np.array([sizes["width"], sizes["height"]])
    return np.concatenate([corners * sides, ends * sides], axis=1)


@model(num=(0, 5), height=(6, 40), width=(6, 40))
def paste(b):
    """Masks pasted into an image of any size, by a loop that joins one by one; none, too"""
    masks = b.input("masks", ["num", 1, 8, 8])
    boxes = b.input("boxes", ["num", 4], boxes_in)
    image = b.input("image", [3, "height", "width"])
    y = paste_masks(b, masks, boxes, b.size(image, 1), b.size(image, 2))
    b.output("pasted", y, ["num", 1, "height", "width"])
