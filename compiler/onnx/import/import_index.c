/* SPDX-License-Identifier: Apache-2.0
 * Gathering, scattering, ordering. */
#include <string.h>

#include "compiler/onnx/import/make.h"
#include "compiler/onnx/import/handlers.h"

static int64_t axis_attr(wk_onnx_node *c, int64_t def) {
  return wk_onnx_axis(c, wk_onnx_int(c, "axis", def), wk_onnx_type(c, c->in[0])->rank);
}

wk_status wk_onnx_gather(wk_onnx_node *c) {
  int64_t axis = axis_attr(c, 0);
  return wk_onnx_return(c, wk_make_gather(c, c->in[0], c->in[1], axis));
}

wk_status wk_onnx_gather_elements(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, GATHER_ELEMENTS, gather_elements);
  a->axis = axis_attr(c, 0);
  return wk_onnx_return(c, wk_make(c, WK_OP_GATHER_ELEMENTS, a, 2, c->in[0], c->in[1]));
}

wk_status wk_onnx_gather_nd(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, GATHER_ND, gather_nd);
  a->batch_dims = wk_onnx_int(c, "batch_dims", 0);
  return wk_onnx_return(c, wk_make(c, WK_OP_GATHER_ND, a, 2, c->in[0], c->in[1]));
}

/* Scatter (opset 9) is ScatterElements without reduction. */
wk_status wk_onnx_scatter_elements(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, SCATTER_ELEMENTS, scatter_elements);
  a->axis = axis_attr(c, 0);
  a->reduction = wk_onnx_text(c, "reduction", "none");
  return wk_onnx_return(c, wk_make(c, WK_OP_SCATTER_ELEMENTS, a, 3, c->in[0], c->in[1], c->in[2]));
}

wk_status wk_onnx_scatter_nd(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, SCATTER_ND, scatter_nd);
  a->reduction = wk_onnx_text(c, "reduction", "none");
  return wk_onnx_return(c, wk_make(c, WK_OP_SCATTER_ND, a, 3, c->in[0], c->in[1], c->in[2]));
}

/* Indices may be of any number type; negative ones count from the end. */
wk_status wk_onnx_one_hot(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  int64_t depth = (int64_t)wk_onnx_const_float(c, c->in[1], "the depth");
  WK_MAKE_ATTRS(c, a, ONE_HOT, one_hot);
  a->depth = depth;
  a->axis = wk_onnx_axis(c, wk_onnx_int(c, "axis", -1), rank + 1);
  wk_value_id indices = wk_make_cast(c, c->in[0], WK_I64);
  return wk_onnx_return(c, wk_make(c, WK_OP_ONE_HOT, a, 2, indices, c->in[2]));
}

wk_status wk_onnx_top_k(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, TOP_K, top_k);
  a->axis = axis_attr(c, -1);
  a->k = c->opset < 10 ? wk_onnx_int(c, "k", 0)
         : wk_onnx_has(c, 1) ? wk_onnx_const_int(c, c->in[1], "k") : 0;
  a->largest = wk_onnx_int(c, "largest", 1) != 0;
  a->sorted = wk_onnx_int(c, "sorted", 1) != 0;
  wk_value_id out[2];
  wk_make_n(c, WK_OP_TOP_K, a, c->in, 1, out, 2);
  wk_onnx_result(c, 0, out[0]);
  wk_onnx_result(c, 1, out[1]);
  return c->status;
}

wk_status wk_onnx_cum_sum(wk_onnx_node *c) {
  int64_t axis = wk_onnx_const_int(c, c->in[1], "the axis");
  WK_MAKE_ATTRS(c, a, CUM_SUM, cum_sum);
  a->axis = wk_onnx_axis(c, axis, wk_onnx_type(c, c->in[0])->rank);
  a->exclusive = wk_onnx_int(c, "exclusive", 0) != 0;
  a->reverse = wk_onnx_int(c, "reverse", 0) != 0;
  return wk_onnx_return(c, wk_make(c, WK_OP_CUM_SUM, a, 1, c->in[0]));
}

wk_status wk_onnx_reverse_sequence(wk_onnx_node *c) {
  int rank = wk_onnx_type(c, c->in[0])->rank;
  WK_MAKE_ATTRS(c, a, REVERSE_SEQUENCE, reverse_sequence);
  a->batch_axis = wk_onnx_axis(c, wk_onnx_int(c, "batch_axis", 1), rank);
  a->time_axis = wk_onnx_axis(c, wk_onnx_int(c, "time_axis", 0), rank);
  return wk_onnx_return(c, wk_make(c, WK_OP_REVERSE_SEQUENCE, a, 2, c->in[0], c->in[1]));
}

wk_status wk_onnx_trilu(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, TRILU, trilu);
  a->upper = wk_onnx_int(c, "upper", 1) != 0;
  bool has_k = wk_onnx_has(c, 1);
  wk_value_id k = has_k ? wk_make_reshape(c, c->in[1], 0, NULL) : WK_NONE;
  return wk_onnx_return(c, wk_make(c, WK_OP_TRILU, a, has_k ? 2 : 1, c->in[0], k));
}

/* Modes have had other names before opset 20. */
wk_status wk_onnx_grid_sample(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, GRID_SAMPLE, grid_sample);
  int rank = wk_onnx_type(c, c->in[0])->rank;
  a->mode = wk_onnx_text(c, "mode", "linear");
  if (strcmp(a->mode, "bilinear") == 0) a->mode = "linear";
  if (strcmp(a->mode, "bicubic") == 0) a->mode = "cubic";
  wk_onnx_valid(c, rank == 4 || strcmp(a->mode, "cubic") != 0,
                "cubic interpolation is of images alone, not of rank %d", rank);
  wk_onnx_need(c, rank >= 3 && rank <= 5, "tensors of rank %d are not supported", rank);
  a->padding = wk_onnx_text(c, "padding_mode", "zeros");
  a->align_corners = wk_onnx_int(c, "align_corners", 0) != 0;
  return wk_onnx_return(c, wk_make(c, WK_OP_GRID_SAMPLE, a, 2, c->in[0], c->in[1]));
}

wk_status wk_onnx_roi_align(wk_onnx_node *c) {
  WK_MAKE_ATTRS(c, a, ROI_ALIGN, roi_align);
  const char *def = c->opset < 16 ? "output_half_pixel" : "half_pixel";
  a->mode = wk_onnx_text(c, "mode", "avg");
  a->height = wk_onnx_int(c, "output_height", 1);
  a->width = wk_onnx_int(c, "output_width", 1);
  a->samples = wk_onnx_int(c, "sampling_ratio", 0);
  a->scale = wk_onnx_float(c, "spatial_scale", 1.0);
  a->half_pixel = wk_onnx_text_is(c, "coordinate_transformation_mode", def, "half_pixel");
  wk_value_id size = wk_onnx_has(c, 3) ? c->in[3] : WK_NONE; /* by the rule of open sizes */
  return wk_onnx_return(c, wk_make(c, WK_OP_ROI_ALIGN, a, size == WK_NONE ? 3 : 4, c->in[0],
                                   c->in[1], c->in[2], size));
}

wk_status wk_onnx_det(wk_onnx_node *c) {
  return wk_onnx_return(c, wk_make_1(c, WK_OP_DET, c->in[0]));
}
