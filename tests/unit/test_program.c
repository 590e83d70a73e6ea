/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: views and their arithmetic, traversal, the verifier. */
#include "tests/unit/case_text.h"
#include "tests/unit/text_samples.h"

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__}

static wk_view dense(int rank, const int64_t *dims) {
  wk_type t = wk_type_make(WK_F32, rank, dims);
  return wk_view_dense(0, &t, WK_ROLE_IN);
}

static wk_view strided(wk_view v, const int64_t *strides) {
  for (int i = 0; i < v.rank; i++) v.strides[i] = strides[i];
  return v;
}
#define STRIDES(...) (int64_t[]){__VA_ARGS__}

static wk_program *program_of(const char *text) {
  wk_program *p = NULL;
  wk_status s = wk_program_parse(text, "t", &p);
  if (s) fail_msg("%s: %s", s->place, s->message);
  return p;
}

/* ---- views --------------------------------------------------------------------------------- */

static void dense_views(void **state) {
  (void)state;
  wk_view v = dense(DIMS(2, 3, 4));
  assert_int_equal(v.strides[0], 12);
  assert_int_equal(v.strides[2], 1);
  assert_int_equal(wk_view_count(&v), 24);
  assert_true(wk_view_is_dense(&v));
  v = strided(dense(DIMS(2, 1, 4)), STRIDES(4, 77, 1)); /* one position: its stride says nothing */
  assert_true(wk_view_is_dense(&v));
  v = strided(dense(DIMS(2, 4)), STRIDES(8, 1));
  assert_false(wk_view_is_dense(&v));
  v = dense(0, NULL);
  assert_true(wk_view_is_dense(&v) && wk_view_count(&v) == 1);
}

static void extents(void **state) {
  (void)state;
  int64_t lo, hi;
  wk_view v = dense(DIMS(2, 3));
  v.offset = 8;
  wk_view_extent(&v, 1, &lo, &hi);
  assert_true(lo == 8 && hi == 32);
  v.step = -4;
  wk_view_extent(&v, 3, &lo, &hi);
  assert_true(lo == 0 && hi == 32);
  wk_view_extent(&v, 0, &lo, &hi);
  assert_true(lo == hi);
  v = strided(dense(DIMS(2, 3)), STRIDES(0, -1));
  v.offset = 8;
  wk_view_extent(&v, 1, &lo, &hi);
  assert_true(lo == 0 && hi == 12);
  v = dense(DIMS(5, 0));
  wk_view_extent(&v, 9, &lo, &hi);
  assert_true(lo == hi);
  v = strided(dense(DIMS(1 << 20, 1 << 20)), STRIDES(INT64_MAX, INT64_MIN)); /* saturates */
  wk_view_extent(&v, 1, &lo, &hi);
  assert_true(lo == INT64_MIN && hi == INT64_MAX);
}

typedef struct {
  int rank;
  int64_t dims[4], strides[4];
  int new_rank;
  int64_t new_dims[4];
  bool possible;
  int64_t new_strides[4];
} reshape_case;

static const reshape_case reshapes[] = {
    {2, {2, 6}, {6, 1}, 3, {2, 2, 3}, true, {6, 3, 1}},
    {3, {2, 2, 3}, {6, 3, 1}, 1, {12}, true, {1}},
    {2, {2, 6}, {8, 1}, 3, {2, 2, 3}, true, {8, 3, 1}},       /* a cut inside a run */
    {2, {2, 6}, {8, 1}, 1, {12}, false, {0}},                 /* a gap between the rows */
    {2, {3, 4}, {1, 3}, 1, {12}, false, {0}},                 /* transposed */
    {2, {3, 4}, {1, 3}, 3, {3, 2, 2}, true, {1, 6, 3}},
    {2, {3, 4}, {0, 0}, 1, {12}, true, {0}},                  /* one element repeated */
    {2, {3, 4}, {0, 1}, 1, {12}, false, {0}},                 /* one row repeated */
    {2, {3, 4}, {0, 1}, 4, {1, 3, 2, 2}, true, {0, 0, 2, 1}},
    {3, {3, 1, 4}, {4, 99, 1}, 2, {3, 4}, true, {4, 1}},      /* axes of size 1 take no part */
    {2, {3, 4}, {4, 1}, 4, {1, 12, 1, 1}, true, {0, 1, 0, 0}},
    {2, {3, 4}, {-4, -1}, 1, {12}, true, {-1}},
    {2, {3, 4}, {4, 1}, 1, {11}, false, {0}},
    {2, {0, 4}, {4, 1}, 2, {7, 0}, true, {0, 1}},             /* empty: as if dense */
    {0, {0}, {0}, 2, {1, 1}, true, {0, 0}},
    {1, {1}, {5}, 0, {0}, true, {0}},
    {1, {4}, {1}, 1, {-4}, false, {0}},
    {2, {4, 6}, {6, 1}, 2, {6, 4}, true, {4, 1}},
    {3, {4, 2, 6}, {24, 12, 2}, 2, {8, 6}, true, {12, 2}},
};

static void reshapes_need_no_copy_or_fail(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(reshapes); k++) {
    const reshape_case *c = &reshapes[k];
    wk_view v = strided(dense(c->rank, c->dims), c->strides), w = {.rank = -1};
    v.offset = 4;
    v.step = 12;
    bool got = wk_view_reshape(&v, c->new_rank, c->new_dims, &w);
    if (got != c->possible) fail_msg("row %zu: %d", k, got);
    if (!got) {
      assert_int_equal(w.rank, -1); /* untouched */
      continue;
    }
    assert_true(w.rank == c->new_rank && w.offset == 4 && w.step == 12);
    for (int i = 0; i < w.rank; i++) {
      assert_int_equal(w.dims[i], c->new_dims[i]);
      if (w.strides[i] != c->new_strides[i]) fail_msg("row %zu: stride %d", k, i);
    }
  }
}

/* Byte offset of element i in row-major order. */
static int64_t address(const wk_view *v, int64_t i) {
  int64_t at = v->offset;
  for (int d = v->rank - 1; d >= 0; d--) {
    at += i % v->dims[d] * v->strides[d] * wk_dtype_size(v->dtype);
    i /= v->dims[d];
  }
  return at;
}

static wk_view random_view(wk_rng *r) {
  static const wk_dtype dtypes[] = {WK_F32, WK_U8, WK_I16};
  wk_view v = {.dtype = dtypes[wk_rng_range(r, 0, 2)], .rank = (int)wk_rng_range(r, 0, 3)};
  for (int i = 0; i < v.rank; i++) {
    v.dims[i] = wk_rng_range(r, 1, 4);
    v.strides[i] = wk_rng_range(r, -3, 12);
  }
  v.offset = 100 + wk_rng_range(r, 0, 24);
  return v;
}

/* Against the addresses of all elements: reshape keeps them in order, disjoint tells the truth. */
static void view_arithmetic_is_right(void **state) {
  (void)state;
  wk_rng r = {3};
  int reshaped = 0, apart = 0;
  for (int round = 0; round < 20000; round++) {
    wk_view a = random_view(&r), b = random_view(&r), w;
    int64_t dims[3] = {1, 1, 1}, left = wk_view_count(&a);
    for (int i = 0; i < 2; i++) {
      dims[i] = wk_rng_range(&r, 1, 6);
      if (left % dims[i]) dims[i] = 1;
      left /= dims[i];
    }
    dims[2] = left;
    if (wk_view_reshape(&a, 3, dims, &w)) {
      reshaped++;
      for (int64_t i = 0; i < wk_view_count(&a); i++)
        assert_int_equal(address(&a, i), address(&w, i));
    }
    uint8_t touched[512] = {0};
    bool shared = false;
    int64_t lo, hi;
    wk_view_extent(&a, 1, &lo, &hi);
    for (int64_t i = 0; i < wk_view_count(&a); i++) {
      assert_true(address(&a, i) >= lo && address(&a, i) + wk_dtype_size(a.dtype) <= hi);
      for (int k = 0; k < wk_dtype_size(a.dtype); k++) touched[address(&a, i) + k] = 1;
    }
    for (int64_t i = 0; i < wk_view_count(&b); i++)
      for (int k = 0; k < wk_dtype_size(b.dtype); k++) shared |= touched[address(&b, i) + k] == 1;
    apart += !shared;
    assert_int_equal(wk_view_disjoint(&a, &b), !shared);
    assert_int_equal(wk_view_disjoint(&a, &b), wk_view_disjoint(&b, &a));
  }
  assert_true(reshaped > 1000 && apart > 300);
}

static void pieces_of_a_concat_are_disjoint(void **state) {
  (void)state;
  wk_view a = strided(dense(DIMS(4, 4, 3)), STRIDES(32, 8, 1)), b = a; /* channels 0..2 of 8 */
  b.dims[2] = 5;
  b.offset = 12;
  assert_true(wk_view_disjoint(&a, &b));
  b.offset = 8;
  assert_false(wk_view_disjoint(&a, &b));
  b.offset = 12 + 32 * 4; /* a row further down: channels 3..7 still */
  assert_true(wk_view_disjoint(&a, &b));
  b.dims[2] = 6; /* wraps into channel 0 of the next position */
  assert_false(wk_view_disjoint(&a, &b));
  b.buffer = 1;
  assert_true(wk_view_disjoint(&a, &b));
  /* columns of a matrix that is a part of rows whose length is no multiple of its own */
  a = b = strided(dense(DIMS(2, 2, 3)), STRIDES(20, 9, 3));
  b.offset = 4;
  assert_true(wk_view_disjoint(&a, &b));
}

static void sameness(void **state) {
  (void)state;
  wk_view a = dense(DIMS(2, 1, 3)), b = a;
  b.strides[1] = 50;
  assert_true(wk_view_same(&a, &b));
  b.strides[0] = 50;
  assert_false(wk_view_same(&a, &b));
  b = a;
  b.offset = 4;
  assert_false(wk_view_same(&a, &b));
}

/* ---- programs ------------------------------------------------------------------------------ */

static void buffers_get_unique_names(void **state) {
  (void)state;
  wk_program *p = wk_program_new("p");
  wk_buffer b = {.name = "t", .region = WK_REGION_ACT, .size = 4, .align = 4, .offset = -1};
  assert_int_equal(wk_program_buffer(p, &b), 0);
  assert_int_equal(wk_program_buffer(p, &b), 1);
  b.name = "";
  assert_int_equal(wk_program_buffer(p, &b), 2);
  assert_string_equal(p->buffers.data[0].name, "t");
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < i; k++)
      assert_string_not_equal(p->buffers.data[i].name, p->buffers.data[k].name);
  wk_program_free(p);
  wk_program_free(NULL);
}

static void flattening(void **state) {
  (void)state;
  wk_program *p = program_of(sample_program);
  wk_arena *scratch = wk_arena_new();
  wk_inst_pos *all;
  static const struct {
    wk_op op;
    int depth;
    int64_t trip;
  } want[] = {{WK_OP_CONV, 0, 1}, {WK_OP_COPY, 0, 1}, {WK_OP_IF, 0, 1},   {WK_OP_FILL, 1, 1},
              {WK_OP_MAP, 1, 1},  {WK_OP_LOOP, 1, 1}, {WK_OP_COPY, 2, 3}, {WK_OP_NEST, 0, 1},
              {WK_OP_REDUCE, 1, 1}, {WK_OP_MAP, 1, 1}};
  assert_int_equal(wk_program_flatten(p, scratch, &all), WK_COUNTOF(want));
  for (size_t k = 0; k < WK_COUNTOF(want); k++) {
    assert_int_equal(all[k].inst->op, want[k].op);
    assert_int_equal(all[k].depth, want[k].depth);
    assert_int_equal(all[k].trip, want[k].trip);
  }
  wk_arena_free(scratch);
  wk_program_free(p);
}

/* ---- the verifier -------------------------------------------------------------------------- */

typedef struct {
  const char *text;    /* instructions and more buffers */
  const char *message; /* NULL: accepted */
} verify_case;

static const char buffers[] =
    "program \"p\" { buffer input 0 %x : f32[2,3,4,4]  buffer output 0 %y : f32[2,3,4,4]\n"
    "buffer const %w : 4096 = splat(0) buffer act %t : 4096 buffer act %u : 4096\n"
    "buffer scratch %s : 4096 buffer const %c : 1 = {1} buffer act %n : 8\n";

#define X "@in %x[2,3,4,4]:f32"
#define Y "@out %y[2,3,4,4]:f32"
#define CONV_ATTRS "strides=[1,1], pads=[0,0,0,0], dilations=[1,1]"
#define CONV "{" CONV_ATTRS "}"
#define CONV_ADD "{" CONV_ATTRS ", epilogue=\"add(%0, %1)\"}"

static const verify_case verify_cases[] = {
    /* buffers */
    {"buffer act %a : 4 align 3", "alignment 3"},
    {"buffer act %a : 4 align 0", "alignment 0"},
    {"buffer act %a : 4 align 8 offset 4", "lies at 4"},
    {"buffer act %a : 4 offset -2", "lies at -2"},
    {"buffer const %a : 4", "no contents"},
    {"buffer input 2 %a : f32[1]", "binding 1"},
    /* views */
    {"copy(" Y ";" X ")", NULL},
    {"fill(@out %y[2,3,4,4]:f32 +4)", "touches bytes [4, 388) of buffer %y of 384"},
    {"fill(@out %y[2]:f32 +2)", "f32 elements do not lie on multiples of 4 bytes"},
    {"loop(; -, -){trip=2} do {fill(@out %y[2]:f32 step 6)}", "do not lie on multiples"},
    {"fill(@out %y[2,2]:f32 *(-1,1))", "touches bytes [-4, 8)"},
    {"fill(@out %y[0,99]:f32 +9996)", NULL},
    {"fill(@out %y[2]:f32 *(4611686018427387904))", "touches"},
    {"fill(@out %x[4]:f32)", "writes the input buffer %x"},
    {"fill(@out %w[4]:f32)", "writes the const buffer %w"},
    {"fill(@in %t[4]:f32)", "wrong role"},
    {"copy(" Y "; @inout %t[2,3,4,4]:f32)", "wrong role"},
    {"fill(@out %y[4,4]:f32 *(0,1))", "stands still along axis 0"},
    {"fill(@out %y[4,0]:f32 *(0,0))", NULL},
    /* operands */
    {"fill(@out %y[4]:f32; @in %t[4]:f32)", "1 outputs and 2 operands"},
    {"fill(-)", "left out"},
    {"copy(" Y "; @in %x[2,3,16]:f32)", "operand 1 is f32[2,3,16], needs f32[2,3,4,4]"},
    {"copy(" Y "; @in %x[2,3,4,4]:i32)", "operand 1 is i32, needs f32"},
    {"map(" Y ";" X "){body=\"neg(%0)\"}", NULL},
    {"map(" Y ";" X ")", "body is missing"},
    {"map(" Y ";" X "){body=\"neg(%0), %0\"}", "2 results"},
    {"map(" Y ";" X "){body=\"i8(%0)\"}", "operand 0 is f32, needs i8"},
    {"map(" Y ";" X "){body=\"f32(index<4>())\"}", "index<4>"},
    {"map(" Y "; @in %x[1,3,4,4]:f32){body=\"%0\"}", "operand 1 is"},
    {"reduce(@out %y[2,3,16]:f32 *(3,1,0); @in %x[2,3,16]:f32){axes=[2]}", NULL},
    {"reduce(@out %y[2,3,16]:f32 *(1,0,0); @in %x[2,3,16]:f32){axes=[1,2]}", NULL},
    {"reduce(@out %y[2,3,16]:f32; @in %x[2,3,16]:f32){axes=[2]}", "moves along the reduced axis"},
    {"reduce(@out %y[2,0]:f32 *(1,0); @in %x[2,0]:f32){axes=[1]}", "folds no elements"},
    {"reduce(@out %y[2,3,16]:f32 *(0,1,0); @in %x[2,3,16]:f32){axes=[2]}", "stands still"},
    {"reduce(@out %y[2,3]:f32 *(1,0); @in %x[2,3]:f32){axes=[2]}", "outside rank 2"},
    {"reduce(@out %y[2,3]:f32 *(0,0); @in %x[2,3]:f32){axes=[1,0]}", "not ascending"},
    {"reduce(@out %y[4]:f32 *(0); @in %x[4]:f32){axes=[0], kind=\"mean\"}", "unknown kind"},
    {"reduce(@out %t[4]:i64 *(0); @in %x[4]:f32){axes=[0], kind=\"argmin\"}", NULL},
    {"reduce(@out %t[4]:f32 *(0); @in %x[4]:f32){axes=[0], kind=\"argmin\"}", "needs i64"},
    {"reduce(@out %t[2,3]:i64 *(0,0); @in %x[2,3]:f32){axes=[0,1], kind=\"argmax\"}",
     "argmax needs exactly one axis"},
    {"reduce(@out %y[4]:f32 *(0); @in %x[4]:f32){axes=[0], post=\"exp(%0)\"}", NULL},
    {"reduce(@out %y[4]:f32 *(0); @in %x[4]:f32, @in %w[4]:f32){axes=[0]}", "without `pre`"},
    {"conv(" Y ";" X ", @in %w[3,3,1,1]:f32, -)" CONV, NULL},
    {"conv(" Y ";" X ", @in %w[3,3,1,1]:f32, @in %w[3]:f32, @in %t[2,3,4,4]:f32)" CONV_ADD,
     NULL},
    {"conv(" Y ";" X ", @in %w[3,3,1,1]:f32, @in %w[4]:f32)" CONV, "conv"},
    {"conv(" Y ";" X ", @in %w[3,4,1,1]:f32, -)" CONV, "conv"},
    {"conv(@out %y[2,3,2,2]:f32;" X ", @in %w[3,3,1,1]:f32, -)" CONV, "needs f32[2,3,4,4]"},
    {"conv(" Y ";" X ", @in %w[3,3,1,1]:f32, -, @in %t[3,4,4]:f32)" CONV_ADD,
     "operand 4 is f32[3,4,4]"},
    {"conv(" Y "; -, @in %w[3,3,1,1]:f32, -)" CONV, "x is missing"},
    {"matmul(@out %y[2,5]:f32; @in %x[2,3]:f32, @in %w[3,5]:f32)", NULL},
    {"matmul(@out %y[2,5]:f32; @in %x[2,4]:f32, @in %w[3,5]:f32)", "matmul"},
    {"matmul(@out %y[3,2,5]:f32; @in %x[3,2,3]:f32, @in %w[3,3,5]:f32 *(0,5,1))", NULL},
    {"matmul(@out %y[3,2,5]:f32; @in %x[3,2,3]:f32, @in %w[1,3,5]:f32)", "operand 2 does not have"},
    {"matmul(@out %y[3,2,5]:f32; @in %x[1,2,3]:f32, @in %w[3,3,5]:f32 *(0,5,1))",
     "operand 1 does not have the leading dims"},
    {"matmul(@out %y[3,2,5]:f32; @in %x[3,2,3]:f32, @in %w[3,5]:f32)", "operand 2 does not have"},
    {"max_pool(@out %y[2,3,2,2]:f32, -;" X "){kernel=[2,2], strides=[2,2], pads=[0,0,0,0],"
     " dilations=[1,1]}", NULL},
    {"max_pool(@out %y[2,3,3,2]:f32;" X "){kernel=[2,2], strides=[2,2], pads=[0,0,0,0],"
     " dilations=[1,1]}", "operand 0 is f32[2,3,3,2]"},
    {"gather(@out %y[5,3]:f32; @in %x[2,3]:f32, @in %w[5]:i64)", NULL},
    {"gather(@out %y[5,3]:f32; @in %x[2,3]:f32, @in %w[5]:f32)", "gather"},
    {"if(; @in %c[]:bool) then {} else {}", NULL},
    {"if(; @in %c[]:u8) then {} else {}", "needs bool"},
    {"if(; -) then {} else {}", "left out"},
    {"loop(; -, -){trip=-1} do {}", "trip is negative"},
    {"loop(; @in %c[]:bool, -) do {}", "wrong role"},
    {"loop(; -, @out %n[]:i64){trip=3} do {}", NULL},
    {"loop(; -, @out %n[]:i32){trip=3} do {}", "needs i64"},
    {"loop(; -, @inout %n[]:i64){trip=3} do {}", "operand 1 has the wrong role"},
    /* steps */
    {"loop(; -, -){trip=3} do {fill(@out %n[]:u16 step 2)}", NULL},
    {"loop(; -, -){trip=4} do {fill(@out %n[]:u16 step 4)}", "touches bytes [0, 14)"},
    {"loop(; -, -){trip=0} do {fill(@out %n[]:u16 step 3000)}", NULL},
    {"loop(; -, -){trip=3} do {if(; @in %c[]:bool) then {fill(@out %n[]:u16 step 4)} else {}}",
     "touches bytes [0, 10)"},
    {"loop(; -, -){trip=9} do {loop(; -, -){trip=2} do {fill(@out %n[]:u16 step 4)}}", NULL},
    /* overlaps */
    {"map(@out %t[4]:f32; @in %t[4]:f32){body=\"neg(%0)\"}", NULL},
    {"map(@out %t[4]:f32; @in %t[4]:i32){body=\"f32(%0)\"}", NULL},
    {"map(@out %t[4]:f32; @in %t[4]:i16){body=\"f32(%0)\"}", "overlaps operand 0"},
    {"map(@out %t[4]:f32; @in %t[4]:f32 +4){body=\"neg(%0)\"}", "overlaps operand 0"},
    {"map(@out %t[4]:f32; @in %t[4]:f32 +12 *(-1)){body=\"neg(%0)\"}", "overlaps operand 0"},
    {"map(@out %t[4]:f32; @in %t[4]:f32 +16){body=\"neg(%0)\"}", NULL},
    {"map(@out %t[4]:f32, @out %t[4]:f32; @in %u[4]:f32){body=\"%0, %0\"}", "overlaps operand 0"},
    {"map(@out %t[4]:f32 *(2), @out %t[4]:f32 +4 *(2); @in %u[4]:f32){body=\"%0, %0\"}", NULL},
    {"copy(@out %t[4]:f32; @in %t[4]:f32)", "overlaps operand 0"},
    {"conv(@out %t[2,3,4,4]:f32;" X ", @in %w[3,3,1,1]:f32, -, @in %t[2,3,4,4]:f32)" CONV_ADD,
     NULL},
    {"matmul(@out %t[4,4]:f32; @in %u[4,4]:f32, @in %t[4,4]:f32)", "overlaps operand 0"},
    {"conv(@out %t[2,3,4,4]:f32; @in %t[2,3,4,4]:f32, @in %w[3,3,1,1]:f32, -)" CONV,
     "overlaps operand 0"},
    {"loop(; -, -){trip=4} do {copy(@out %t[2]:f32 step 16; @in %t[2]:f32 +8 step 16)}", NULL},
    {"loop(; -, -){trip=4} do {copy(@out %t[2]:f32 step 8; @in %t[2]:f32 +16)}", "overlaps"},
    {"loop(; -, -){trip=2} do {copy(@out %t[2]:f32 step 8; @in %t[2]:f32 +16)}", NULL},
    /* nests, scratch */
    {"nest(){outer=1} do {map(@out %s[2,4]:f32 *(0,1); @in %x[2,4]:f32){body=\"%0\"}"
     " copy(@out %y[2,4]:f32; @in %s[2,4]:f32 *(0,1))}", NULL},
    {"nest(){outer=1} do {map(@out %s[2,4]:f32 *(0,1); @in %x[2,4]:f32){body=\"%0\"}"
     " copy(@out %y[3,4]:f32; @in %t[3,4]:f32)}", "outer dims of its nest"},
    {"nest(){outer=3} do {copy(@out %y[3,4]:f32; @in %t[3,4]:f32)}", "outer dims of its nest"},
    {"nest(){outer=9} do {}", "outer is 9"},
    {"nest() do {nest() do {}}", "a body of its own"},
    {"nest(){outer=1} do {fill(@out %y[2,4]:f32 *(1,0))}", "stands still along axis 1"},
    {"nest() do {} fill(@out %t[2,4]:f32 *(0,1))", "stands still along axis 0"},
    {"fill(@out %s[4]:f32) copy(@out %t[4]:f32; @in %s[4]:f32)", "used by several instructions"},
};

static void verifier(void **state) {
  (void)state;
  for (size_t k = 0; k < WK_COUNTOF(verify_cases); k++) {
    const verify_case *c = &verify_cases[k];
    wk_program *p = NULL;
    wk_str b = {0};
    wk_str_printf(&b, "%s%s\n}", buffers, c->text);
    wk_status s = wk_program_parse(b.s, "t", &p);
    if (s && !c->message) fail_msg("%s: %s", c->text, s->message);
    if (!s && c->message) fail_msg("accepted: %s", c->text);
    if (s && !strstr(s->message, c->message))
      fail_msg("%s: \"%s\" lacks \"%s\"", c->text, s->message, c->message);
    wk_status_free(s);
    wk_program_free(p);
    wk_str_free(&b);
  }
}

/* What no text can say. */
static void damage_is_found(void **state) {
  (void)state;
  wk_program *p = program_of(sample_program);
  wk_inst *conv = p->body.insts.data[0];
  struct {
    const char *message;
    void *at;
    size_t n;
    uint64_t value;
  } damages[] = {
      {"operand 0 has no buffer", &conv->operands[0].buffer, 4, 99},
      {"operand 0 has rank 9", &conv->operands[0].rank, 4, 9},
      {"operand 1: invalid element type", &conv->operands[1].dtype, 4, 77},
      {"not an instruction", &conv->op, 4, WK_OP_RELU},
      {"not an instruction", &conv->op, 4, 5000},
      {"attributes are missing", &conv->attrs, 8, 0},
      {"more outputs than operands", &conv->n_out, 4, 9},
      {"1 bodies, needs 0", &conv->n_bodies, 4, 1},
      {"two buffers are called", &p->buffers.data[0].name, 8, (uint64_t)p->buffers.data[1].name},
      {"is in region 7", &p->buffers.data[6].region, 4, 7},
      {"has size -1", &p->buffers.data[6].size, 8, UINT64_MAX},
      {"is not bound to input 1", &p->buffers.data[0].io, 4, 1},
      {"%y is not bound to output 0", &p->outputs.data[0].buffer, 4, 1},
      {"needs 512 bytes, its buffer has 128", &p->inputs.data[0].type.dims[3], 8, 16},
  };
  wk_block none = {0}, *bodies = conv->bodies;
  conv->bodies = &none;
  for (size_t k = 0; k < WK_COUNTOF(damages); k++) {
    uint64_t saved = 0;
    memcpy(&saved, damages[k].at, damages[k].n);
    memcpy(damages[k].at, &damages[k].value, damages[k].n);
    wk_status s = wk_program_verify(p);
    memcpy(damages[k].at, &saved, damages[k].n);
    if (!s) fail_msg("accepted: %s", damages[k].message);
    if (!strstr(s->message, damages[k].message))
      fail_msg("\"%s\" lacks \"%s\"", s->message, damages[k].message);
    assert_int_equal(s->code, WK_INTERNAL);
    wk_status_free(s);
    assert_null(wk_program_verify(p));
  }
  conv->bodies = bodies;
  wk_program_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dense_views),
      cmocka_unit_test(extents),
      cmocka_unit_test(reshapes_need_no_copy_or_fail),
      cmocka_unit_test(view_arithmetic_is_right),
      cmocka_unit_test(pieces_of_a_concat_are_disjoint),
      cmocka_unit_test(sameness),
      cmocka_unit_test(buffers_get_unique_names),
      cmocka_unit_test(flattening),
      cmocka_unit_test(verifier),
      cmocka_unit_test(damage_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
