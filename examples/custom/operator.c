/* SPDX-License-Identifier: Apache-2.0
 * What the compiler knows of com.example.Snake: y = x + sin(a x)^2 / a. routine.c runs it. */
#include <math.h>

#include "compiler/target/plugin.h"

/* The definition, in doubles. */
static int32_t reference(const wick_call *call) {
  const wick_call_tensor *x = call->inputs, *y = call->outputs;
  double a = call->attributes[0].values[0];
  int64_t n = 1;
  for (uint32_t i = 0; i < x->rank; i++) n *= x->dims[i];
  for (int64_t i = 0; i < n; i++) {
    double v = ((const float *)x->data)[i], s = sin(a * v);
    ((float *)y->data)[i] = (float)(v + s * s / a);
  }
  return 0;
}

static wk_status infer(const wk_custom_query *q, wk_type *out) {
  if (q->in[0]->dtype != WK_F32)
    return wk_error(WK_UNSUPPORTED, "x is %s, which has to be f32", wk_dtype_name(q->in[0]->dtype));
  if (q->attributes[0].values[0] == 0) return wk_error(WK_INPUT, "alpha is 0");
  out[0] = wk_type_make(WK_F32, q->in[0]->rank, q->in[0]->dims);
  return NULL;
}

/* With the routine's bitcode the plugin is all that it takes: packages have the routine's code. */
#ifdef SNAKE_BITCODE
__asm__(".section .rodata\n.balign 16\nsnake_bitcode:\n.incbin \"" SNAKE_BITCODE "\"\n"
        "snake_bitcode_end:\n.byte 0\n.previous\n");
extern const char snake_bitcode[] __attribute__((visibility("hidden")));
extern const char snake_bitcode_end[] __attribute__((visibility("hidden")));
#define BITCODE(name) .bitcode = name, .bitcode_end = name##_end
#else
#define BITCODE(name) .bitcode = NULL
#endif

static const wk_custom_attr attrs[] = {{.name = "alpha", .kind = WK_CUSTOM_FLOAT, .def = 1}, {0}};
static const wk_custom_op snake = {.domain = "com.example",
                                   .name = "Snake",
                                   .doc = "x + sin(alpha x)^2 / alpha",
                                   .min_in = 1,
                                   .max_in = 1,
                                   .min_out = 1,
                                   .max_out = 1,
                                   .attrs = attrs,
                                   .infer = infer,
                                   .reference = reference,
                                   .routine = "com_example_snake",
                                   BITCODE(snake_bitcode)};
static const wk_custom_op *const ops[] = {&snake, NULL};
WK_CUSTOM_PLUGIN(ops)
