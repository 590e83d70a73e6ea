/* SPDX-License-Identifier: Apache-2.0
 * Answers to models, summed up in rows of a table that a test writes itself: see
 * test_import_answers.c. A test has the table `expected`, asks all in ask_all and ends with
 * answers_main. */
#ifndef WICK_TEST_NEAR_ANSWERS_H
#define WICK_TEST_NEAR_ANSWERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/onnx/onnx.h"

typedef struct {
  const char *name;
  int64_t tried, taken;
  uint32_t answers; /* hash */
} answer_row;

static struct {
  WK_VEC(answer_row) rows;
  wk_map *places;    /* of names in rows */
  wk_arena *arena;   /* has the names */
  const char *shown; /* answers of this row are printed */
} found;

static void ask_all(void);

static inline answer_row *answers_of(const char *name) {
  uint32_t at;
  if (!wk_map_get(found.places, name, &at)) {
    at = (uint32_t)found.rows.n;
    wk_vec_push(&found.rows, ((answer_row){.name = wk_arena_strdup(found.arena, name)}));
    wk_map_put(found.places, found.rows.data[at].name, at);
  }
  return &found.rows.data[at];
}

/* Frees the answer to `text`. */
static inline void answers_add(answer_row *x, const char *text, bool is_taken, wk_str *answer) {
  x->tried++;
  x->taken += is_taken;
  x->answers = (uint32_t)wk_hash64(answer->s, answer->n, x->answers);
  if (found.shown && !strcmp(found.shown, x->name)) printf("%s\n-> %s\n", text, answer->s);
  wk_str_free(answer);
}

/* Constants keep 16 bits: what is computed may be rounded otherwise elsewhere. */
static inline void answers_round(wk_module *m) {
  for (size_t k = 0; k < m->graphs.n; k++) {
    wk_graph *g = m->graphs.data[k];
    for (size_t i = 0; i < g->values.n; i++) {
      wk_value *v = &g->values.data[i];
      wk_dtype t = v->type.dtype;
      if (v->kind != WK_VALUE_CONSTANT || (t != WK_F32 && t != WK_F64)) continue;
      void *data = wk_arena_alloc(m->arena, (size_t)wk_type_bytes(&v->type) + 1);
      for (int64_t j = 0; j < wk_type_count(&v->type); j++) {
        int e;
        double x = wk_load_f64(v->data, t, j), part = frexp(x, &e);
        wk_store_f64(data, t, j, isfinite(x) ? ldexp(rint(ldexp(part, 16)), e - 16) : x);
      }
      v->data = data;
    }
  }
}

/* Of constants that have been drawn too large to look at nothing more is said. */
static inline bool answers_are_large(const wk_module *m) {
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t i = 0; i < m->graphs.data[k]->values.n; i++) {
      const wk_value *v = &m->graphs.data[k]->values.data[i];
      if (v->kind == WK_VALUE_CONSTANT && wk_type_count(&v->type) > 1 << 16) return true;
    }
  return false;
}

static inline void answers_print(wk_str *b, wk_module *m) {
  if (answers_are_large(m)) {
    wk_str_add(b, "a large constant");
    return;
  }
  answers_round(m);
  wk_module_print(b, m, WK_PRINT_SHORT);
}

static inline void answers_print_row(const answer_row *x) {
  printf("ROW(\"%s\", %lld, %lld, 0x%08x)\n", x->name, (long long)x->tried, (long long)x->taken,
         x->answers);
}

static inline void answers_begin(void) {
  found.places = wk_map_new();
  found.arena = wk_arena_new();
  ask_all();
}

static inline void answers_end(void) {
  wk_vec_free(&found.rows);
  wk_map_free(found.places);
  wk_arena_free(found.arena);
}

static inline void answers_check(const answer_row *expected, size_t n) {
  int differ = 0;
  answers_begin();
  for (size_t i = 0; i < found.rows.n; i++) {
    const answer_row *got = &found.rows.data[i];
    bool is_same = false;
    for (size_t k = 0; k < n && !is_same; k++)
      is_same = !strcmp(expected[k].name, got->name) && expected[k].tried == got->tried &&
                expected[k].taken == got->taken && expected[k].answers == got->answers;
    if (!is_same) answers_print_row(got);
    differ += !is_same;
  }
  assert_int_equal(differ, 0);
  assert_int_equal(found.rows.n, n);
  answers_end();
}

/* `rows` prints the table, `says NAME` the answers of a row. */
static inline int answers_main(int argc, char **argv, const char *test, void (*check)(void **)) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(check)};
  if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
  if (argc == 3 && !strcmp(argv[1], "says")) found.shown = argv[2];
  answers_begin();
  if (!found.shown)
    printf("/* SPDX-License-Identifier: Apache-2.0\n"
           " * What %s.c is told: a name, how much is tried and taken, a hash. */\n", test);
  for (size_t i = 0; i < found.rows.n && !found.shown; i++)
    answers_print_row(&found.rows.data[i]);
  answers_end();
  return 0;
}

#endif
