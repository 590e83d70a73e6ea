/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/cgen/inst_c.h"
#include "compiler/lower/lower.h"
#include "targets/opencl/device.h"

static const wk_opencl *device(const wk_instance *t) { return (const wk_opencl *)t; }

static wk_status open_device(const char *spec, wk_instance **out) {
  wk_opencl *d = wk_xcalloc(1, sizeof *d);
  d->base.target = &wk_target_opencl;
  wk_status s = wk_cl_find_device(spec, d);
  if (s) {
    free(d);
    return s;
  }
  d->tune_seconds = -1;
  d->family = d->info.type == WICK_OPENCL_CPU ? WK_CL_CPU : WK_CL_GPU;
  d->base.spec = d->spec;
  *out = &d->base;
  return NULL;
}

static void close_device(wk_instance *t) { free(t); }

/* ---- settings -------------------------------------------------------------------------------- */

enum { TUNE_SECONDS = 60 };

static wk_status set_tune(wk_instance *t, const char *value) {
  wk_opencl *d = (wk_opencl *)t;
  char *end;
  d->tune_seconds = *value ? strtod(value, &end) : TUNE_SECONDS;
  if (*value && (*end || !(d->tune_seconds >= 0 && d->tune_seconds <= 1e6)))
    return wk_error(WK_USAGE, "'%s' is no number of seconds", value);
  if (!t->is_here || !*d->info.driver) /* of another machine, or any */
    return wk_error(WK_USAGE, "tiles are measured on the device, and %s is not here", t->spec);
  return NULL;
}

static wk_status set_explain(wk_instance *t, const char *value) {
  wk_opencl *d = (wk_opencl *)t;
  if (d->family != WK_CL_GPU)
    return wk_error(WK_USAGE, "the model is one of GPUs, and %s is none", t->spec);
  if (strlen(value) >= sizeof d->explain) return wk_error(WK_USAGE, "the name is too long");
  d->explains = true;
  strcpy(d->explain, value);
  return NULL;
}

static const wk_target_setting settings[] = {
    {"tune", "[SECONDS]", "SECONDS (60 where none are given)",
     "setting of a target: measure candidates on the device, for so long at most, and take the "
     "fastest ('wick targets')",
     "choose the sizes of tiles by measuring some on the device, for so long at most; what was "
     "measured is kept in the cache", set_tune, false},
    {"explain-kernel", "[NODE]", "NODE (all where none is given)",
     "setting of a target: print the tiles of this node's product that were considered for a GPU, "
     "and what each would take",
     "print the tiles that were considered for products on a GPU, of this node alone or of all, "
     "and the times that the model of the device foresees", set_explain, true},
    {0}};

/* ---- what follows from the device ------------------------------------------------------------ */

int wk_cl_lanes(const wk_opencl *d) {
  return d->info.float_width >= 16 ? 16 : d->info.float_width >= 8 ? 8 : 4;
}

bool wk_cl_has_dots(const wk_opencl *d) {
  bool is_nvidia = d->family == WK_CL_GPU && !strncmp(d->info.vendor, "NVIDIA", 6);
  return d->info.has_dot || d->info.has_matrix || is_nvidia;
}

int64_t wk_cl_align(const wk_opencl *d) {
  return d->info.base_align > WICK_ALIGN ? d->info.base_align : WICK_ALIGN;
}

/* In picoseconds. A launch with what it waits for; a processor reads what the host has written, and
 * so does a GPU that shares its memory; others are behind a bus. */
enum { ON_CPU, ON_SHARED_MEMORY, BEHIND_BUS };
static const wk_target_cost rates[] = {
    [ON_CPU] = {.per_mac = 15, .per_byte = 100, .per_edge_byte = 5, .per_part = 20e6},
    [ON_SHARED_MEMORY] = {.per_mac = 1, .per_byte = 20, .per_edge_byte = 20, .per_part = 30e6},
    [BEHIND_BUS] = {.per_mac = 0.1, .per_byte = 2, .per_edge_byte = 80, .per_part = 30e6}};

static wk_target_cost cost_of(const wk_instance *t) {
  const wk_opencl *d = device(t);
  return rates[d->family == WK_CL_CPU      ? ON_CPU
               : d->info.has_unified_memory ? ON_SHARED_MEMORY
                                            : BEHIND_BUS];
}

/* ---- what it runs ---------------------------------------------------------------------------- */

static bool computes_f64(const wk_node *n) {
  const wk_op_info *op = wk_op_get(n->op);
  for (int k = 0; k < op->n_fields; k++) {
    if (op->fields[k].kind != WK_FIELD_EXPR) continue;
    const wk_expr *e = *(const wk_expr *const *)(const void *)((const char *)n->attrs +
                                                               op->fields[k].offset);
    for (uint32_t i = 0; e && i < e->n; i++)
      if (e->nodes[i].dtype == WK_F64) return true;
  }
  return false;
}

static bool uses_f64(const wk_graph *g, const wk_node *n) {
  for (uint32_t k = 0; k < n->n_in + n->n_out; k++) {
    uint32_t v = k < n->n_in ? n->in[k] : n->out[k - n->n_in];
    if (v != WK_NONE && wk_val(g, v)->type.dtype == WK_F64) return true;
  }
  return computes_f64(n);
}

/* Why no kernel can be made of a node; NULL: one can. */
static const char *refusal(const wk_opencl *d, const wk_graph *g, const wk_node *n) {
  if (wk_op_get(n->op)->cls != WK_CLASS_MOVEMENT && n->op != WK_OP_IF && n->op != WK_OP_LOOP &&
      n->n_in + n->n_out > WK_CL_MAX_OPERANDS)
    return "it has more operands than a kernel";
  if (!d->info.has_f64 && uses_f64(g, n)) return "the device has no 64-bit floats";
  if (n->op == WK_OP_IDENTITY || n->op == WK_OP_IF || n->op == WK_OP_LOOP) return NULL;
  return wk_inst_c_refusal(g, n);
}

static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  (void)a;
  *reason = refusal(device(t), g, n);
  return !*reason;
}

static bool covers(wk_op op, const char **note) {
  if (wk_inst_c_covers(op, note)) return true;
  if (op != WK_OP_IF && op != WK_OP_LOOP) return false;
  *note = "the host reads its condition";
  return true;
}

static bool fuses(const wk_instance *t, const wk_graph *g, const wk_node *fused) {
  (void)t;
  (void)g;
  return fused->n_in + fused->n_out <= WK_CL_MAX_OPERANDS;
}

static wk_wish wish(const wk_instance *t, const wk_graph *part) {
  (void)part;
  return (wk_wish){.channels_last = true, .align = wk_cl_align(device(t))};
}

/* ---- passes ---------------------------------------------------------------------------------- */

static wk_status fuse_nests(const wk_instance *t, wk_program *p, wk_arena *scratch,
                            int64_t *changes) {
  (void)t;
  return wk_inst_fuse_nests(p, scratch, changes);
}

static wk_status prepare(const wk_instance *t, wk_program *p, wk_arena *scratch,
                         int64_t *changes) {
  return wk_cl_prepare(device(t), p, scratch, changes);
}

static const wk_target_pass passes[] = {
    {"fuse-nests",
     "run chains of reduce and map row by row, rows in memory of the work item or group", true,
     fuse_nests},
    {"prepare-kernels", "copy what kernels cannot read as it lies, pad images of few channels",
     true, prepare},
    {0}};

static wk_status write_source(const wk_instance *t, const wk_target_part *parts, size_t n,
                              const wk_emit_options *o, const char *path, wk_emit_result *r) {
  return wk_cl_emit(device(t), parts, n, o, path, r);
}

static const wk_target_output outputs[] = {
    {"opencl-c", ".cl", "the kernels of all parts, as the device's compiler gets them", true, NULL,
     write_source},
    {0}};

static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *r) {
  return wk_cl_compile(device(t), parts, n, o, pkg, row, r);
}

const wk_target wk_target_opencl = {
    .name = "opencl",
    .doc = "OpenCL C 1.2 for a device, CPU or GPU",
    .spec_doc = "a device: its name or a part of it, its number, a file of 'wick devices', or any",
    .passes = passes,
    .outputs = outputs,
    .settings = settings,
    .cost_of = cost_of,
    .keeps_products = true,
    .rows_from = 1 << 18,
    .open = open_device,
    .close = close_device,
    .supports = supports,
    .covers = covers,
    .fuses = fuses,
    .wish = wish,
    .compile = compile};
