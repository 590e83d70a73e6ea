/* SPDX-License-Identifier: Apache-2.0
 * A whole target: "plainc" generates loops in C for each part, has the C compiler make a shared
 * object of them, and puts that into the package as a section of its own. device.c runs it. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/ir/expr_c.h"
#include "compiler/ir/inst_c.h"
#include "compiler/package/program.h"
#include "compiler/target/plugin.h"

static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  *reason = wk_inst_c_refusal(g, n);
  return !*reason;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* A buffer as a C pointer. Equal constants are in the package once. */
static const char *pointer(const wk_program *p, const wk_buffer *x, wk_package *pkg, uint32_t unit,
                           wk_arena *a) {
  if (x->region == WK_REGION_INPUT) return wk_arena_printf(a, "io[%u]", x->io);
  if (x->region == WK_REGION_OUTPUT) return wk_arena_printf(a, "io[%zu]", p->inputs.n + x->io);
  if (x->region == WK_REGION_ACT) return wk_arena_printf(a, "arena + %lld", (long long)x->offset);
  uint64_t offset = wk_package_add_const(pkg, unit, x->data, (uint64_t)x->size);
  return wk_arena_printf(a, "consts + %llu", (unsigned long long)offset);
}

static wk_status print_part(wk_str *b, size_t number, const wk_program *p, wk_package *pkg,
                            uint32_t unit, wk_arena *a) {
  const char **base = wk_arena_alloc(a, p->buffers.n * sizeof *base);
  for (size_t k = 0; k < p->buffers.n; k++)
    base[k] = pointer(p, &p->buffers.data[k], pkg, unit, a);
  wk_str_printf(b, "if (part == %zu) {\n", number);
  for (size_t k = 0; k < p->body.insts.n; k++)
    if (!wk_inst_c_print(b, a, p->body.insts.data[k], base))
      return wk_error(WK_INTERNAL, "there are no loops for %s", p->body.insts.data[k]->name);
  wk_str_add(b, "}\n");
  return NULL;
}

static wk_status run_cc(const wk_str *source, wk_file *object) {
  char path[] = "/tmp/plainc-XXXXXX", command[200];
  int fd = mkstemp(path);
  if (fd < 0) return wk_error(WK_IO, "%s: there is no room for an object", path);
  snprintf(command, sizeof command, "${CC:-cc} -O1 -std=gnu11 -ffp-contract=off "
           "-fno-strict-aliasing -fPIC -shared -x c - -o %s -lm", path);
  FILE *cc = popen(command, "w");
  bool is_whole = cc && fwrite(source->s, 1, source->n, cc) == source->n;
  wk_status s = cc && pclose(cc) == 0 && is_whole
                    ? wk_file_map(path, object)
                    : wk_error(WK_IO, "the C compiler did not compile what was generated");
  close(fd), unlink(path);
  return s;
}

static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) {
  uint32_t unit = wk_package_add_unit(pkg, &(wk_package_unit){.target = t->target->name});
  wk_arena *a = wk_arena_new();
  wk_str source = {0};
  wk_file object = {0};
  wk_status s = NULL;
  wk_expr_c_prelude(&source);
  wk_str_add(&source, "void run(unsigned part, char **io, char *arena, char *consts) {\n");
  for (size_t k = 0; k < n && !s; k++) {
    wk_package_part part = wk_package_part_of(parts[k].program, parts[k].name, unit, a);
    part.code = k;
    row[k] = wk_package_add_part(pkg, &part);
    s = print_part(&source, k, parts[k].program, pkg, unit, a);
  }
  wk_str_add(&source, "}\n");
  if (!s) s = run_cc(&source, &object);
  wk_package_add_section(pkg, unit, "object", WICK_ALIGN,
                         wk_package_keep(pkg, object.data, object.size), object.size);
  wk_file_unmap(&object);
  wk_str_free(&source);
  wk_arena_free(a);
  return s;
}

/* ---- the target ------------------------------------------------------------------------------ */

static wk_status open_machine(const char *spec, wk_instance **out);
static void close_machine(wk_instance *t) { free(t); }

static const wk_target target = {
    .name = "plainc", .doc = "plain loops in C, compiled by cc", .open = open_machine,
    .close = close_machine, .supports = supports, .compile = compile};

static wk_status open_machine(const char *spec, wk_instance **out) {
  *out = wk_xcalloc(1, sizeof **out);
  **out = (wk_instance){.target = &target, .is_here = true};
  return NULL;
}

WK_TARGET_PLUGIN(target)
