/* SPDX-License-Identifier: Apache-2.0
 * How work is shared out among work items: on both sides of the sizes at which it changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/package/package.h"
#include "targets/opencl/make.h"
#include "tests/unit/program_build.h"

typedef struct {
  wk_op op; /* MAP, REDUCE of the last axis */
  int64_t rows, columns;
  const char *cpu, *gpu; /* "GLOBAL/LOCAL" of each launch */
} launch_case;

static wk_program *program_of(const launch_case *c) {
  wk_program *p = wk_program_new("launches");
  wk_view y = OUT(p, WK_F32, c->rows, c->columns), x = IN(p, WK_F32, c->rows, c->columns);
  if (c->op == WK_OP_REDUCE) {
    y = OUT(p, WK_F32, c->rows, 1);
    y.dims[1] = c->columns, y.strides[1] = 0;
  } else { /* columns lie apart, so that they stay an axis */
    x = IN(p, WK_F32, c->rows, c->columns + 1);
    x.dims[1] = c->columns;
  }
  wk_inst *i = append(p, c->op, 1, 2, y, x);
  if (c->op == WK_OP_MAP) ((wk_attr_map *)i->attrs)->body = EXPR_F32(p, "neg(%0)", 1);
  if (c->op == WK_OP_REDUCE) {
    ((wk_attr_reduce *)i->attrs)->kind = "sum";
    ((wk_attr_reduce *)i->attrs)->axes = wk_ints_fill(p->arena, 1, 1);
  }
  return p;
}

static wk_str launches(const launch_case *c, wick_opencl_type type) {
  wk_opencl d = {.base = {.target = &wk_target_opencl, .spec = "a"},
                 .info = {.name = "a", .type = type, .units = 8, .max_group = 256,
                          .max_items = {256, 256, 256}, .base_align = 128, .float_width = 4,
                          .local_memory = 32 << 10}};
  d.family = type == WICK_OPENCL_CPU ? WK_CL_CPU : WK_CL_GPU;
  wk_cl_unit u;
  wk_str text = {0};
  wk_program *p = program_of(c);
  wk_package *pkg = wk_package_new(&(wk_package_meta){.model = "m", .compiler = "", .flags = ""});
  wk_cl_unit_begin(&u, &d, pkg);
  wk_status s = wk_cl_add_inst(&u, p, p->body.insts.data[0]);
  if (s) fail_msg("%s", s->message);
  for (size_t k = 0; k < u.launches.n; k++)
    wk_str_printf(&text, "%s%d/%d", k ? " " : "", (int)u.launches.data[k].global[0],
                  (int)u.launches.data[k].local[0]);
  wk_cl_unit_finish(&u);
  wk_package_free(pkg);
  wk_program_free(p);
  return text;
}

static void sizes(void **state) {
  static const launch_case cases[] = {
      {WK_OP_MAP, 1, 1, "1/1", "64/64"},
      {WK_OP_MAP, 2, 3, "1/1", "64/64"},
      {WK_OP_MAP, 64, 63, "1/1", "4096/128"},
      {WK_OP_MAP, 64, 64, "1/1", "1024/64"},
      {WK_OP_MAP, 64, 65, "2/1", "4352/256"},
      {WK_OP_MAP, 3, 4095, "3/1", "12288/256"},
      {WK_OP_MAP, 3, 4096, "3/1", "3072/128"},
      {WK_OP_MAP, 3, 4097, "6/1", "12544/256"},
      {WK_OP_MAP, 3, 16383, "12/1", "49152/256"},
      {WK_OP_MAP, 3, 16384, "12/1", "12288/256"},
      {WK_OP_MAP, 3, 16385, "15/1", "49408/256"},
      {WK_OP_MAP, 3, 40000, "30/1", "30208/256"},
      {WK_OP_MAP, 1000, 5, "2/1", "5120/256"},
      {WK_OP_MAP, 10000, 5, "13/1", "50176/256"},
      {WK_OP_REDUCE, 5, 1, "1/1", "64/64"},
      {WK_OP_REDUCE, 5, 31, "1/1", "96/32"},
      {WK_OP_REDUCE, 5, 32, "1/1", "160/32"},
      {WK_OP_REDUCE, 5, 63, "1/1", "160/32"},
      {WK_OP_REDUCE, 5, 64, "1/1", "320/64"},
      {WK_OP_REDUCE, 5, 127, "1/1", "320/64"},
      {WK_OP_REDUCE, 5, 128, "1/1", "640/128"},
      {WK_OP_REDUCE, 5, 255, "1/1", "640/128"},
      {WK_OP_REDUCE, 5, 256, "1/1", "1280/256"},
      {WK_OP_REDUCE, 300, 64, "5/1", "2432/128"},
      {WK_OP_REDUCE, 300, 256, "5/1", "9600/128"},
      {WK_OP_REDUCE, 3000, 20000, "47/1", "768000/256"},
      {WK_OP_REDUCE, 64, 64, "1/1", "1024/128"},
      {WK_OP_REDUCE, 65, 64, "2/1", "1152/128"},
      {WK_OP_REDUCE, 65, 63, "1/1", "1152/128"},
      {WK_OP_REDUCE, 66, 63, "2/1", "1152/128"},
      {WK_OP_REDUCE, 64, 65, "1/1", "1024/128"},
      {WK_OP_REDUCE, 65, 65, "2/1", "1152/128"},
      {WK_OP_REDUCE, 128, 32, "1/1", "1024/128"},
      {WK_OP_REDUCE, 129, 32, "2/1", "1152/128"},
      {WK_OP_REDUCE, 4096, 1, "1/1", "4096/256"},
      {WK_OP_REDUCE, 4097, 1, "2/1", "4352/256"},
      {WK_OP_MAP, 65, 64, "2/1", "1088/64"},
      {WK_OP_MAP, 128, 64, "2/1", "2048/128"},
      {WK_OP_MAP, 129, 64, "3/1", "2176/128"},
  };
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str cpu = launches(&cases[i], WICK_OPENCL_CPU), gpu = launches(&cases[i], WICK_OPENCL_GPU);
    if ((strcmp(cpu.s, cases[i].cpu) || strcmp(gpu.s, cases[i].gpu)) && ++bad)
      print_message("case %zu: \"%s\", \"%s\"\n", i, cpu.s, gpu.s);
    wk_str_free(&cpu);
    wk_str_free(&gpu);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
