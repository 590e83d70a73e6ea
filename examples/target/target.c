/* SPDX-License-Identifier: Apache-2.0
 * A whole target: "plainc" generates loops in C for each part, has the C compiler make a shared
 * object of them, and puts that into the package as a section of its own. device.c runs it. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/cgen/expr_c.h"
#include "compiler/cgen/inst_c.h"
#include "compiler/package/program.h"
#include "compiler/target/plugin.h"

typedef struct { wk_instance base; int level; } plainc;

static bool supports(const wk_instance *t, const wk_graph *g, const wk_node *n, wk_arena *a,
                     const char **reason) {
  *reason = wk_inst_c_refusal(g, n);
  return !*reason;
}

/* ---- code ------------------------------------------------------------------------------------ */

static wk_status run_cc(const wk_str *source, int level, wk_file *object) {
  char path[] = "/tmp/plainc-XXXXXX", command[200];
  int fd = mkstemp(path);
  if (fd < 0) return wk_error(WK_IO, "%s: there is no room for an object", path);
  snprintf(command, sizeof command, "${CC:-cc} -O%d -std=gnu11 -ffp-contract=off "
           "-fno-strict-aliasing -fPIC -shared -x c - -o %s -lm", level, path);
  FILE *cc = popen(command, "w");
  bool is_whole = cc && fwrite(source->s, 1, source->n, cc) == source->n;
  wk_status s = cc && pclose(cc) == 0 && is_whole
                    ? wk_file_map(path, object)
                    : wk_error(WK_IO, "the C compiler did not compile what was generated");
  return close(fd), unlink(path), s;
}

/* Steps are numbered through all parts; `code` of a part is the number of its first. */
static wk_status compile(const wk_instance *t, const wk_target_part *parts, size_t n,
                         const wk_emit_options *o, wk_package *pkg, uint32_t *row,
                         wk_emit_result *result) {
  uint32_t unit = wk_package_add_unit(pkg, &(wk_package_unit){.target = t->target->name});
  wk_arena *a = wk_arena_new();
  wk_str source = {0};
  wk_file object = {0};
  wk_status s = NULL;
  wk_str_add(&source, "#define WK_BAD_INDEX() (bad = 1)\n");
  wk_expr_c_prelude(&source);
  wk_str_add(&source, "int run(unsigned long step, char **io, char *arena, char *consts) {\n"
                      "int bad = 0;\nswitch (step) {\n");
  for (size_t k = 0, first = 0; k < n && !s; k++) {
    const wk_program *p = parts[k].program;
    const uint64_t *const_at = wk_package_add_consts(pkg, unit, p, a);
    wk_package_part part = wk_package_part_of(p, parts[k].name, unit, a);
    part.steps = wk_package_steps_of(p, a, &part.n_steps);
    part.code = first;
    row[k] = wk_package_add_part(pkg, &part);
    s = wk_inst_c_cases(&source, a, p, wk_inst_c_bases(p, const_at, a), first);
    first += part.n_steps;
  }
  wk_str_add(&source, "}\nreturn bad;\n}\n");
  if (!s) s = run_cc(&source, ((const plainc *)t)->level, &object);
  wk_package_add_section(pkg, unit, "object", WICK_ALIGN,
                         wk_package_keep(pkg, object.data, object.size), object.size);
  wk_file_unmap(&object), wk_str_free(&source), wk_arena_free(a);
  return s;
}

/* ---- the target ------------------------------------------------------------------------------ */

static wk_status open_machine(const char *spec, wk_instance **out);
static void close_machine(wk_instance *t) { free(t); }

static wk_status set_level(wk_instance *t, const char *value) {
  if (*value < '0' || *value > '3' || value[1])
    return wk_error(WK_USAGE, "must be 0, 1, 2 or 3, not '%s'", value);
  return ((plainc *)t)->level = *value - '0', NULL;
}

static const wk_target_setting settings[] = {
    {.name = "cc-level", .arg = "N", .values = "0 to 3 (default 1)", .set = set_level,
     .doc = "how much the C compiler optimises"}, {0}};

static const wk_target target = {
    .name = "plainc", .doc = "plain loops in C, compiled by cc", .settings = settings,
    .open = open_machine, .close = close_machine, .supports = supports, .compile = compile};

static wk_status open_machine(const char *spec, wk_instance **out) {
  plainc *t = wk_xcalloc(1, sizeof *t);
  *t = (plainc){.base = {.target = &target, .is_here = true}, .level = 1};
  return *out = &t->base, NULL;
}

WK_TARGET_PLUGIN(target)
