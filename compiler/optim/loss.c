/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/lower/build.h"
#include "compiler/optim/optim.h"

static const wk_loss losses[] = {
#define LOSS(e, name, target, scores, element, metric_name, metric, doc) \
  {name, WK_TARGET_##target, WK_SCORES_##scores, element, metric_name, metric, doc},
#include "compiler/optim/losses.def"
#undef LOSS
};

const wk_loss *wk_loss_get(wk_loss_kind k) { return &losses[k]; }

wk_status wk_loss_target(wk_loss_kind k, const wk_type *p, wk_type *out) {
  *out = *p;
  if (!wk_dtype_is_float(p->dtype) || wk_dtype_is_narrow(p->dtype))
    return wk_error(WK_INPUT, "%s is of floats, not of %s", losses[k].name,
                    wk_dtype_name(p->dtype));
  if (losses[k].target == WK_TARGET_SAME) return NULL;
  if (p->rank < 2 || p->dims[1] < 1)
    return wk_error(WK_INPUT, "the scores of %s have no class axis", losses[k].name);
  int64_t dims[WK_MAX_RANK];
  for (int i = 0; i + 1 < p->rank; i++) dims[i] = p->dims[i ? i + 1 : 0];
  *out = wk_type_make(WK_I64, p->rank - 1, dims);
  return NULL;
}

static wk_status check(const wk_graph *g, const wk_loss_desc *d) {
  wk_type want;
  const wk_type *t = &wk_val(g, d->target)->type;
  WK_TRY(wk_loss_target(d->kind, &wk_val(g, d->prediction)->type, &want));
  if (losses[d->kind].target == WK_TARGET_CLASSES && t->dtype == WK_I32) want.dtype = WK_I32;
  if (t->rank != want.rank)
    return wk_error(WK_INPUT, "targets of rank %d do not fit the scores", t->rank);
  return wk_type_equal(t, &want) ? NULL : wk_error(WK_INPUT, "the targets do not fit the scores");
}

/* ---- classes --------------------------------------------------------------------------------- */

static wk_value_id unsqueezed(wk_low *l, wk_value_id v) {
  int64_t dims[WK_MAX_RANK];
  if (l->status) return 0;
  const wk_type t = *wk_low_type(l, v);
  dims[0] = t.dims[0];
  dims[1] = 1;
  for (int i = 1; i < t.rank; i++) dims[i + 1] = t.dims[i];
  return wk_low_reshape(l, v, t.rank + 1, dims);
}

/* The score of every sample at its class. */
static wk_value_id picked(wk_low *l, wk_value_id scores, wk_value_id target) {
  wk_value_id in[] = {scores, unsqueezed(l, target)};
  const wk_type t = *wk_low_type(l, target);
  wk_attr_gather_elements *a = wk_attrs_new(l->arena, WK_OP_GATHER_ELEMENTS);
  a->axis = 1;
  return wk_low_reshape(l, wk_low_add(l, WK_OP_GATHER_ELEMENTS, a, in, 2, 1, NULL), t.rank, t.dims);
}

static wk_value_id where(wk_low *l, wk_value_id cond, wk_value_id x, wk_value_id y) {
  const wk_value_id in[] = {cond, x, y};
  return wk_low_add(l, WK_OP_WHERE, NULL, in, 3, 1, NULL);
}

/* The weight of every sample; WK_NONE when all are 1. */
static wk_value_id sample_weights(wk_low *l, const wk_loss_desc *d, wk_value_id target,
                                  wk_value_id ignored) {
  wk_dtype t = wk_low_type(l, d->prediction)->dtype;
  wk_value_id w = d->weights == WK_NONE ? WK_NONE : wk_low_gather(l, d->weights, target, 0);
  if (ignored == WK_NONE) return w;
  if (w == WK_NONE) w = wk_low_scalar(l, t, 1);
  return where(l, ignored, wk_low_scalar(l, t, 0), w);
}

static wk_value_id log_softmax(wk_low *l, wk_value_id x) {
  wk_attr_log_softmax *a = wk_attrs_new(l->arena, WK_OP_LOG_SOFTMAX);
  a->axis = 1;
  return wk_low_add(l, WK_OP_LOG_SOFTMAX, a, &x, 1, 1, NULL);
}

/* ---- all ------------------------------------------------------------------------------------- */

static wk_value_id all_reduced(wk_low *l, wk_op op, wk_value_id x) {
  static const int64_t axes[WK_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  if (l->status) return 0;
  wk_attr_reduce_sum *a = wk_attrs_new(l->arena, op); /* those of reduce_mean are the same */
  a->axes = wk_ints_dup(l->arena, axes, wk_low_type(l, x)->rank);
  a->keepdims = 0;
  return wk_low_add(l, op, a, &x, 1, 1, NULL);
}

static wk_value_id reduced(wk_low *l, const wk_loss_desc *d, wk_value_id loss, wk_value_id w) {
  if (d->reduction == WK_REDUCTION_NONE) return loss;
  if (d->reduction == WK_REDUCTION_SUM) return all_reduced(l, WK_OP_REDUCE_SUM, loss);
  if (w == WK_NONE) return all_reduced(l, WK_OP_REDUCE_MEAN, loss);
  wk_value_id in[] = {all_reduced(l, WK_OP_REDUCE_SUM, loss), all_reduced(l, WK_OP_REDUCE_SUM, w)};
  return wk_low_add(l, WK_OP_DIV, NULL, in, 2, 1, NULL);
}

static wk_value_id of_classes(wk_low *l, const wk_loss_desc *d, wk_value_id scores) {
  wk_value_id target = d->target, ignored = WK_NONE;
  wk_dtype t = wk_low_type(l, scores)->dtype, index = wk_low_type(l, target)->dtype;
  if (d->has_ignored) {
    const wk_value_id in[] = {target, wk_low_scalar(l, index, (double)d->ignored)};
    ignored = wk_low_add(l, WK_OP_EQUAL, NULL, in, 2, 1, NULL);
    target = where(l, ignored, wk_low_scalar(l, index, 0), target);
  }
  wk_value_id loss = wk_low_map(l, t, losses[d->kind].element, 1, picked(l, scores, target));
  wk_value_id w = sample_weights(l, d, target, ignored);
  if (w != WK_NONE) loss = wk_low_map(l, t, "mul(a, b)", 2, loss, w);
  return reduced(l, d, loss, w);
}

wk_status wk_loss_build(wk_graph *g, const wk_loss_desc *d, wk_value_id *loss,
                        wk_value_id *scores) {
  wk_low l = {.g = g, .arena = g->module->arena, .name = d->name};
  const wk_loss *row = &losses[d->kind];
  WK_TRY(check(g, d));
  wk_value_id x = d->prediction;
  if (row->scores == WK_SCORES_LOG_SOFTMAX) x = log_softmax(&l, x);
  if (scores) *scores = x;
  if (row->target == WK_TARGET_CLASSES) {
    *loss = of_classes(&l, d, x);
    return l.status;
  }
  wk_dtype t = wk_val(g, x)->type.dtype;
  *loss = reduced(&l, d, wk_low_map(&l, t, row->element, 2, x, d->target), WK_NONE);
  return l.status;
}

wk_status wk_metric_build(wk_graph *g, const wk_loss_desc *d, wk_value_id *out) {
  wk_low l = {.g = g, .arena = g->module->arena, .name = d->name};
  const wk_loss *row = &losses[d->kind];
  *out = WK_NONE;
  if (!row->metric[0]) return NULL;
  WK_TRY(check(g, d));
  wk_value_id x = d->prediction, target = d->target;
  if (row->target == WK_TARGET_CLASSES) {
    static const int64_t classes = 1;
    x = wk_low_reduce(&l, WK_I64, "argmax", x, &classes, 1, false, NULL, NULL);
    target = wk_low_map(&l, WK_I64, "i64(a)", 1, target);
  }
  *out = reduced(&l, d, wk_low_map(&l, WK_F32, row->metric, 2, x, target), WK_NONE);
  return l.status;
}
