#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of detection of tests/caffe2, with results by their definition in NumPy.

  bench/setup                        once: a virtual environment with the peers
  tests/make/make_caffe2_boxes.py [--out FOLDER]
"""
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import make_caffe2_cases as cases
from make_sparse_cases import Net
import peers

np = peers.Module("numpy")


# ---- definitions ---------------------------------------------------------------------------------

def f32(*v):
    return [np.float32(x) for x in v] if len(v) > 1 else np.float32(v[0])


def suppressed(boxes, scores, threshold, most, plus):
    """What is kept, by falling score, the first of equals first."""
    left = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    plus, kept = f32(plus), []
    with np.errstate(invalid="ignore"):
        areas = (boxes[:, 2] - boxes[:, 0] + plus) * (boxes[:, 3] - boxes[:, 1] + plus)
        while left and len(kept) < most:
            i, left = left[0], np.array(left[1:], int)
            kept.append(i)
            low = np.maximum(boxes[left, :2], boxes[i, :2])
            high = np.minimum(boxes[left, 2:], boxes[i, 2:])
            both = np.prod(np.maximum(high - low + plus, f32(0)), 1)
            left = left[both / (areas[i] + areas[left] - both) <= f32(threshold)].tolist()
    return kept


def transformed(boxes, deltas, plus, weights=(1, 1, 1, 1)):
    """Upright boxes moved and stretched: [n, 4] and [n, 4]."""
    d = deltas / np.float32(weights)
    extent = boxes[:, 2:] - boxes[:, :2] + f32(plus)
    middle = d[:, :2] * extent + (boxes[:, :2] + f32(.5) * extent)
    half = f32(.5) * (np.exp(np.minimum(d[:, 2:], f32(np.log(1000 / 16)))) * extent)
    return np.concatenate([middle - half, middle + half - f32(plus)], 1)


def clipped(boxes, height, width, plus):
    limit = np.float32([width - plus, height - plus] * 2)
    return np.maximum(np.minimum(boxes, limit), f32(0))


def proposals(scores, deltas, infos, anchors, spatial_scale=1 / 16, pre_nms_topN=6000,
              post_nms_topN=300, nms_thresh=.7, min_size=16., legacy_plus_one=1):
    n, a, h, w = scores.shape
    plus, stride = f32(legacy_plus_one), f32(1 / np.float64(f32(spatial_scale)))
    y, x = np.meshgrid(np.arange(h, dtype=np.float32) * stride,
                       np.arange(w, dtype=np.float32) * stride, indexing="ij")
    places = np.stack([x, y, x, y], 2)
    every = (anchors[:, None, None] + places).reshape(-1, 4)
    rois, probs = [np.zeros((0, 5), np.float32)], [np.zeros(0, np.float32)]
    for image in range(n):
        p, (height, width, scale) = scores[image].ravel(), infos[image]
        d = deltas[image].reshape(a, 4, h, w).transpose(0, 2, 3, 1).reshape(-1, 4)
        order = sorted(range(len(p)), key=lambda i: (-p[i], i))
        order = order[:pre_nms_topN if pre_nms_topN > 0 else None]
        boxes = clipped(transformed(every[order], d[order], plus), int(height), int(width), plus)
        side = boxes[:, 2:] - boxes[:, :2] + plus
        middle = boxes[:, :2] + side / f32(2)
        good = (side >= f32(min_size) * scale).all(1) & (middle < [width, height]).all(1)
        boxes, p = boxes[good], p[order][good]
        most = post_nms_topN if post_nms_topN > 0 else len(p)
        kept = suppressed(boxes, p, nms_thresh, most, plus)
        rois.append(np.insert(boxes[kept], 0, image, 1).reshape(-1, 5))
        probs.append(p[kept])
    return np.concatenate(rois).astype(np.float32), np.concatenate(probs).astype(np.float32)


def limited(scores, boxes, splits=None, score_thresh=.05, nms=.3, detections_per_im=100,
            cls_agnostic_bbox_reg=0, input_boxes_include_bg_cls=1, output_classes_include_bg_cls=1,
            legacy_plus_one=1):
    """Scores, boxes, classes, how many of each image, the rows they come from, how many of each
    image and class."""
    classes, found, counts, first = scores.shape[1], [], [], 0
    boxes = boxes.reshape(len(scores), -1, 4)
    splits = [len(scores)] if splits is None else splits.astype(int)
    most = detections_per_im if detections_per_im > 0 else sys.maxsize
    sizes = np.zeros((len(splits), classes), np.int32)
    for image, n in enumerate(splits):
        here = []
        for j in range(1, classes):
            s = scores[first:first + n, j - 1 + input_boxes_include_bg_cls]
            k = 0 if cls_agnostic_bbox_reg else j - 1 + input_boxes_include_bg_cls
            b = boxes[first:first + n, k]
            good = np.flatnonzero(s > f32(score_thresh))
            kept = suppressed(b[good], s[good], nms, most, legacy_plus_one)
            here += [(s[i], b[i], j - 1 + output_classes_include_bg_cls, i, j) for i in good[kept]]
        best = sorted(range(len(here)), key=lambda i: (-here[i][0], i))[:most]
        here = [here[i] for i in sorted(best)]
        for row in here:
            sizes[image, row[4]] += 1
        counts.append(len(here))
        found += here
        first += n
    column = [np.array([row[k] for row in found]) for k in range(4)]
    return (column[0].astype(np.float32), column[1].astype(np.float32).reshape(-1, 4),
            column[2].astype(np.float32), np.float32(counts), column[3].astype(np.int32), sizes)


def collected(rois, scores, most):
    rois, scores = np.concatenate(rois), np.concatenate(scores)
    return rois[sorted(range(len(rois)), key=lambda i: (-scores[i], i))[:most]]


def distributed(rois, low, high, scale=224, level=4, plus=1):
    area = np.prod(rois[:, 3:] - rois[:, 1:3] + f32(plus), 1)
    x = np.log(np.sqrt(area) / f32(scale) + f32(1e-6)) / f32(np.log(2))
    of = np.clip(np.floor(f32(level) + x), low, high)
    at = [np.flatnonzero(of == k) for k in range(low, high + 1)]
    return *[rois[i] for i in at], np.argsort(np.concatenate(at)).astype(np.int32)


# ---- cases ---------------------------------------------------------------------------------------

def drawn_boxes(rng, n, size, step=None):
    """step: corners at multiples of it, so that some ratios are exactly a threshold."""
    corners = rng.uniform(0, size, (n, 2, 2))
    corners.sort(1)
    boxes = corners.reshape(n, 4)
    return np.float32(boxes if step is None else np.floor(boxes / step) * step)


def drawn_anchors(rng, n):
    half = rng.uniform(6, 30, (n, 2))
    return np.float32(np.concatenate([8 - half, 8 + half], 1).round())


def proposal_case(name, seed, shape, **arguments):
    def make(out):
        rng = np.random.default_rng(seed)
        n, a, h, w = shape
        c = Net(name)
        c.inputs = dict(scores=rng.uniform(0, 1, shape).astype(np.float32).round(2),
                        deltas=np.float32(rng.standard_normal((n, 4 * a, h, w)) / 3),
                        infos=np.float32([[h * 16 - 5 + .5 * i, w * 16 - 3, 1 + i / 4]
                                          for i in range(n)]),
                        anchors=drawn_anchors(rng, a))
        c.op("GenerateProposals", "scores deltas infos anchors", "rois probs",
             proposals(*c.inputs.values(), **arguments), **arguments)
        c.write(out)
    return make


def limit_case(out):
    rng = np.random.default_rng(13)
    c = Net("BoxWithNMSLimit")
    n, classes = 24, 4
    scores = rng.uniform(0, 1, (n, classes)).astype(np.float32).round(2)
    boxes = np.concatenate([drawn_boxes(rng, n, 40, 4) for _ in range(classes)], 1)
    c.inputs = dict(scores=scores, boxes=boxes, splits=np.float32([9, 0, 15]),
                    some=boxes[:, 4:], one=boxes[:, :4])
    def add(tag, inputs, count, **arguments):
        result = limited(*[c.inputs[i] for i in inputs.split()], **arguments)
        names = " ".join(f"{tag}_{k}" for k in
                         ("scores", "boxes", "classes", "splits", "rows", "sizes")[:count])
        c.op("BoxWithNMSLimit", inputs, names, result[:count], **arguments)
    add("all", "scores boxes", 3, nms=.5, score_thresh=.3)
    add("each", "scores boxes splits", 6, nms=.3, detections_per_im=6)
    add("corner", "scores boxes splits", 4, nms=.4, detections_per_im=0, legacy_plus_one=0)
    add("fore", "scores some", 6, nms=.3, input_boxes_include_bg_cls=0, detections_per_im=11,
        output_classes_include_bg_cls=0)
    add("agnostic", "scores one splits", 6, nms=.6, cls_agnostic_bbox_reg=1, score_thresh=.2,
        detections_per_im=9)
    add("none", "scores boxes", 6, score_thresh=2.)
    c.write(out)


def pyramid_case(out):
    rng = np.random.default_rng(14)
    c = Net("Pyramid")
    for k, n in zip((2, 3, 4), (9, 0, 6)):
        c.inputs[f"rois{k}"] = np.insert(drawn_boxes(rng, n, 500), 0, 0, 1).astype(np.float32)
    for k, n in zip((2, 3, 4), (9, 0, 6)):
        shape = n if k > 2 else (n, 1)
        c.inputs[f"scores{k}"] = rng.uniform(0, 1, shape).astype(np.float32).round(1)
    rois = [c.inputs[f"rois{k}"] for k in (2, 3, 4)]
    scores = [c.inputs[f"scores{k}"].ravel() for k in (2, 3, 4)]
    best = collected(rois, scores, 12)
    levels = dict(rpn_min_level=2, rpn_max_level=4)
    c.op("CollectAndDistributeFpnRpnProposals", " ".join(c.inputs), "rois l2 l3 l4 l5 restore",
         (best, *distributed(best, 2, 5)), rpn_post_nms_topN=12, roi_min_level=2, roi_max_level=5,
         **levels)
    c.op("CollectRpnProposals", " ".join(c.inputs), "every", collected(rois, scores, 99), **levels)
    c.op("DistributeFpnProposals", "every", "every3 every4 order", distributed(
        collected(rois, scores, 99), 3, 4, 300, 3, 0), roi_min_level=3, roi_max_level=4,
         roi_canonical_scale=300, roi_canonical_level=3, legacy_plus_one=0)
    c.write(out)


def detector(out):
    """A small network that proposes regions and says what is in them."""
    rng = np.random.default_rng(15)
    c = Net("Detector")
    features, anchors, hidden, classes = 4, 3, 16, 3

    def weight(name, *shape, size=1.):
        c.weights[name] = (rng.standard_normal(shape) * size).astype(np.float32)

    def layer(kind, inputs, output, result, **arguments):
        operands = [value.get(i, c.weights.get(i)) for i in inputs.split()]
        value[output] = np.float32(result(*operands))
        c.op(kind, inputs, output, None, **arguments)

    c.inputs = dict(data=rng.standard_normal((2, 3, 20, 24)).astype(np.float32),
                    infos=np.float32([[20, 24, 1], [18, 22, 1]]))
    value = dict(c.inputs)
    for name, n, size in (("scores", anchors, 1), ("deltas", 4 * anchors, .3)):
        weight(f"{name}_w", n, features, 1, 1, size=size)
        weight(f"{name}_b", n, size=.1)
    weight("conv_w", features, 3, 3, 3, size=.3)
    weight("conv_b", features)
    for name, n, m, size in (("hidden", hidden, 9 * features, .2), ("class", classes, hidden, .3),
                             ("shift", 4 * classes, hidden, .3)):
        weight(f"{name}_w", n, m, size=size)
        weight(f"{name}_b", n)
    c.weights["anchors"] = np.float32([[-7, -3, 7, 3], [-3, -7, 3, 7], [-5, -5, 5, 5]])
    layer("Conv", "data conv_w conv_b", "features", lambda x, w, b: cases.conv(
        x, w, b, 2, (1, 1, 1, 1)), kernel=3, pad=1, stride=2)
    layer("Relu", "features", "features", cases.relu)
    layer("Conv", "features scores_w scores_b", "scores", cases.conv, kernel=1)
    layer("Sigmoid", "scores", "scores", cases.sigmoid)
    layer("Conv", "features deltas_w deltas_b", "deltas", cases.conv, kernel=1)
    found = dict(spatial_scale=.5, pre_nms_topN=60, post_nms_topN=12, min_size=2.)
    rois, probs = proposals(*[value[k] for k in ("scores", "deltas", "infos")],
                            c.weights["anchors"], **found)
    value["rois"] = rois
    c.op("GenerateProposals", "scores deltas infos anchors", "rois probs", (rois, probs), **found)
    layer("RoIAlign", "features rois", "crops", lambda x, r: cases.roi_align(x, r, 3, .5, 2),
          spatial_scale=.5, pooled_h=3, pooled_w=3, sampling_ratio=2)
    def dense(x, w, b):
        return x.reshape(len(x), -1) @ w.T + b
    layer("FC", "crops hidden_w hidden_b", "hidden", dense)
    layer("Relu", "hidden", "hidden", cases.relu)
    layer("FC", "hidden class_w class_b", "class", dense)
    layer("Softmax", "class", "class", cases.softmax)
    layer("FC", "hidden shift_w shift_b", "shifts", dense)
    boxes, splits = cases.transformed(rois, value["shifts"], c.inputs["infos"], (10, 10, 5, 5),
                                      False, 1)
    c.op("BBoxTransform", "rois shifts infos", "boxes splits", (None, None), apply_scale=0,
         weights=[10., 10., 5., 5.])
    limit = dict(score_thresh=.2, nms=.5, detections_per_im=5)
    c.op("BoxWithNMSLimit", "class boxes splits", "kept_scores kept_boxes classes counts",
         limited(value["class"], np.float32(boxes), splits, **limit)[:4], **limit)
    c.write(out)


CASES = (
    proposal_case("GenerateProposals", 11, (2, 3, 4, 5), min_size=9., post_nms_topN=7,
                  nms_thresh=.5),
    proposal_case("GenerateProposalsCorners", 12, (2, 2, 5, 4), spatial_scale=.0625,
                  pre_nms_topN=20, post_nms_topN=0, nms_thresh=.3, min_size=0., legacy_plus_one=0),
    limit_case, pyramid_case, detector)

if __name__ == "__main__":
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests", metavar="FOLDER")
    options = parser.parse_args()
    peers.need("numpy", "onnx", "google.protobuf")
    for make in CASES:
        make(options.out)
