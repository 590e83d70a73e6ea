/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/explain.h"

#include <string.h>

static bool is_asked(const wk_cl_explained *x, const char *node) {
  return !x->node || (node && !strcmp(x->node, node));
}

static void add_row(wk_cl_explained *x, const wk_cl_tile *t, wk_cl_tile_size size) {
  double adding;
  wk_cl_tile of = *t;
  of.size = size;
  of.form = wk_cl_gpu_form_of(t, size);
  wk_cl_gpu_time time = wk_cl_tile_gpu_time(t, size, &adding);
  int64_t tiles = t->batch * wk_ceil_div(t->m_rows, size.rows) *
                  wk_ceil_div(t->columns, size.vectors);
  bool is_it = size.rows == t->size.rows && size.vectors == t->size.vectors &&
               size.split == t->size.split;
  char name[32];
  snprintf(name, sizeof name, "%dx%d", size.rows, size.vectors);
  wk_str_printf(&x->text, "  %c %-9s %5d %8lld %6d %7d %6lld %6lld %10.1f %8.1f %7.1f %8.1f\n",
                is_it ? '*' : ' ', name, size.split, (long long)(tiles * size.split),
                of.form->items, time.resident, (long long)time.waves,
                (long long)wk_cl_tile_part_steps(&of), time.computing, time.memory, adding,
                time.time);
}

void wk_cl_explain_product(wk_cl_explained *x, const wk_cl_tile *t, const wk_cl_asked *asked) {
  x->products += 1 + (t->size.split > 1);
  x->product_time += wk_cl_tile_gpu_time(t, t->size, NULL).time;
  if (!is_asked(x, t->m->inst->name)) return;
  x->is_found = true;
  wk_str_printf(&x->text, "%s '%s': %lld x %lld, each a sum of %lld", t->k->what,
                t->m->inst->name ? t->m->inst->name : "", (long long)t->m_rows,
                (long long)t->columns, (long long)(t->taps * t->depth));
  if (t->batch > 1) wk_str_printf(&x->text, ", %lld times", (long long)t->batch);
  wk_str_printf(&x->text, ", %s%s\n", wk_dtype_name(t->a),
                t->is_matrix ? " by matrix units" : t->is_dots ? " by dot products of four" : "");
  wk_str_add(&x->text, "    tile      parts   groups  items at once  waves  steps  computing   "
                       "memory  adding  us\n");
  for (int k = 0; k < asked->n; k++) add_row(x, t, asked->sizes[k]);
}

void wk_cl_explain_other(wk_cl_explained *x, const wk_cl_unit *u, const wk_program *p,
                         const wk_inst *i, size_t first) {
  wk_cl_gpu g = wk_cl_gpu_of(&u->device->info);
  double bytes = 0;
  for (uint32_t k = 0; k < i->n_operands; k++) {
    const wk_view *v = &i->operands[k];
    if (v->buffer != WK_NONE && p->buffers.data[v->buffer].region != WK_REGION_SCRATCH)
      bytes += (double)wk_view_count(v) * (double)wk_dtype_size(v->dtype);
  }
  int n = 0;
  for (size_t k = first; k < u->launches.n; k++) n += u->launches.data[k].kind == WICK_CL_RUN;
  x->others += n;
  x->other_time += n * (g.launch + g.wait / g.clock) + bytes / g.memory;
}

wk_status wk_cl_explain_end(wk_cl_explained *x, const wk_opencl *d) {
  if (!x->is_found && x->node)
    return wk_error(WK_USAGE, "--explain-kernel: no product of a node '%s' is on the device; "
                              "'wick inspect PACKAGE --steps' lists nodes", x->node);
  wk_str_printf(&x->text, "%s, by the model: %d launches of products %.1f us, %d others %.1f us, "
                "together %.2f ms\n", d->info.name, x->products, x->product_time, x->others,
                x->other_time, (x->product_time + x->other_time) / 1000);
  return NULL;
}
