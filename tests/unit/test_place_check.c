/* SPDX-License-Identifier: Apache-2.0
 * What the checker of placements says of programs placed by hand: each rule on both sides of its
 * limit, in whole sentences. And where all of a program is placed. */
#include "tests/unit/case_text.h"

#include "compiler/ir/ir.h"
#include "compiler/memory/memory.h"

#define BUG " (the placement of t is wrong; this is a bug of the compiler)"

/* x and y are of 64 bytes. Where a to c lie, and what else there is, is up to the case. */
#define HEAD "  buffer input 0 %x : f32[4,4]\n  buffer output 0 %y : f32[4,4]\n"
#define A(at) "  buffer act %a : 64 align 16 offset " #at "\n"
#define B(at) "  buffer act %b : 64 align 16 offset " #at "\n"
#define C(at) "  buffer act %c : 64 align 16 offset " #at "\n"
#define N(at) "  buffer act %n : 1 align 1 offset " #at "\n"
#define ACT(size) "  region act " #size "\n"
#define COPY(to, from) "  copy(@out %" to "[4,4]:f32; @in %" from "[4,4]:f32)\n"
#define TOP(to, from) "  copy(@out %" to "[2,4]:f32; @in %" from "[2,4]:f32)\n"
#define LOW(to, from) "  copy(@out %" to "[2,4]:f32 +32; @in %" from "[2,4]:f32 +32)\n"
#define NEG(to, from) "  map(@out %" to "[4,4]:f32; @in %" from "[4,4]:f32) {body=\"neg(%0)\"}\n"
#define NEST(body) "  nest() do {\n" body "  }\n"
#define LOOP(trip, body) "  loop(; -, -) {trip=" #trip "} do {\n" body "  }\n"
#define ROW(to, from) "  copy(@out %" to "[4]:f32 step 16; @in %" from "[4]:f32 step 16)\n"

static const struct {
  const char *what, *text, *says; /* NULL: nothing */
  int64_t size; /* of a, where it is another */
  int64_t move; /* by how much the last operand of all is moved */
} cases[] = {
    {"all apart", ACT(192) A(0) B(64) C(128) COPY("a", "x") COPY("b", "a") COPY("c", "b")
     COPY("y", "c"), NULL, 0, 0},
    {"one after the other", ACT(128) A(0) B(64) C(0) COPY("a", "x") COPY("b", "a") COPY("c", "b")
     COPY("y", "c"), NULL, 0, 0},

    {"rows up to the end", ACT(48) A(0) LOOP(3, ROW("a", "x")) "  copy(@out %y[4]:f32; @in "
     "%a[4]:f32 +32)\n", NULL, 48, 0},
    {"a row too many", ACT(48) A(0) LOOP(4, ROW("a", "x"))
     "  copy(@out %y[4]:f32; @in %a[4]:f32)\n",
     "view [0, 64) leaves buffer a of 48 bytes", 48, 0},
    {"a row too many that never runs", ACT(32) A(0) TOP("a", "x") LOOP(0, COPY("y", "a"))
     TOP("y", "a"), NULL, 32, 0},
    {"an element far past the end that is never read", ACT(32) A(0) TOP("a", "x")
     LOOP(0, "  copy(@out %y[1]:f32; @in %a[1]:f32 +60)\n") TOP("y", "a"), NULL, 32, 0},
    {"before the beginning", ACT(64) A(0) COPY("a", "x")
     "  copy(@out %y[4,4]:f32; @in %a[4,4]:f32 +48 *(-4,1))\n",
     "view [-4, 60) leaves buffer a of 64 bytes", 0, -4},
    {"backwards to the beginning", ACT(64) A(0) COPY("a", "x")
     "  copy(@out %y[4,4]:f32; @in %a[4,4]:f32 +48 *(-4,1))\n", NULL, 0, 0},
    {"one past the end", ACT(64) A(0) COPY("a", "x") LOW("y", "a"),
     "view [36, 68) leaves buffer a of 64 bytes", 0, 4},
    {"a single element past the end", ACT(64) A(0) COPY("a", "x")
     "  copy(@out %y[1]:f32; @in %a[1]:f32 +60)\n", "view [64, 68) leaves buffer a of 64 bytes",
     0, 4},
    {"no elements, wherever they are", ACT(64) A(0) COPY("a", "x")
     "  copy(@out %y[0,4]:f32; @in %a[0,4]:f32)\n", NULL, 0, 640},
    {"at no multiple of its alignment", ACT(80) A(8) COPY("a", "x") COPY("y", "a"),
     "buffer a lies at 8, needs a multiple of 16", 0, 0},
    {"one byte past the region's end", ACT(79) A(16) COPY("a", "x") COPY("y", "a"),
     "buffer a lies at 16, past the end of its region", 0, 0},
    {"up to the region's end", ACT(80) A(16) COPY("a", "x") COPY("y", "a"), NULL, 0, 0},
    {"scratch past its region's end", "  region scratch 63\n  buffer scratch %s : 64 offset 0\n"
     NEST(NEG("s", "x") NEG("y", "s")), "buffer s lies at 0, past the end of its region", 0, 0},
    {"a constant past its region's end", "  region const 63\n  buffer const %k : 64 offset 0 = "
     "splat(1)\n" COPY("y", "k"), "buffer k lies at 0, past the end of its region", 0, 0},

    {"read before it is written", ACT(128) A(0) B(64) COPY("y", "b"),
     "reads b before it is written", 0, 0},
    {"scratch, read before it is written", "  region scratch 64\n  buffer scratch %s : 64 offset "
     "0\n" NEST(NEG("y", "s")), "reads s before it is written", 0, 0},
    {"overwritten", ACT(64) A(0) B(0) COPY("a", "x") COPY("b", "x") COPY("y", "a"),
     "reads a where b has been written over it", 0, 0},
    {"its first bytes overwritten", ACT(112) A(48) B(0) COPY("a", "x") COPY("b", "x")
     COPY("y", "a"), "reads a where b has been written over it", 0, 0},
    {"its last bytes overwritten", ACT(112) A(0) B(48) COPY("a", "x") COPY("b", "x")
     COPY("y", "a"), "reads a where b has been written over it", 0, 0},
    {"what is read is before them", ACT(96) A(0) B(32) COPY("a", "x") COPY("b", "x")
     TOP("y", "a"), NULL, 0, 0},
    {"what is read is behind them", ACT(96) A(32) B(0) COPY("a", "x") COPY("b", "x")
     LOW("y", "a"), NULL, 0, 0},
    {"what is read reaches them", ACT(80) A(0) B(16) COPY("a", "x") COPY("b", "x") TOP("y", "a"),
     "reads a where b has been written over it", 0, 0},
    {"nothing of it is read", ACT(64) A(0) B(0) COPY("a", "x") COPY("b", "x")
     "  copy(@out %y[0,4]:f32; @in %a[0,4]:f32)\n" COPY("y", "b"), NULL, 0, 0},

    {"nothing of it is written", ACT(64) A(0) B(0) COPY("b", "x")
     "  copy(@out %a[0,4]:f32; @in %x[0,4]:f32)\n" COPY("y", "b"), NULL, 0, 0},
    {"halves", ACT(64) A(0) TOP("a", "x") LOW("a", "x") COPY("y", "a"), NULL, 0, 0},
    {"written over between halves", ACT(96) A(0) B(32) TOP("a", "x") COPY("b", "x") LOW("a", "x")
     COPY("y", "a"), "writes a part of a after b was written over it", 0, 0},
    {"written anew as a whole", ACT(96) A(0) B(32) COPY("a", "x") COPY("b", "x") COPY("y", "b")
     COPY("a", "x") COPY("y", "a"), NULL, 0, 0},
    {"a copy of itself", ACT(16) "  buffer act %r : 16 align 16 offset 0\n"
     "  buffer act %o : 16 align 16 offset 0\n"
     "  copy(@out %r[4]:f32; @in %x[4]:f32)\n  copy(@out %o[4]:f32; @in %r[4]:f32)\n",
     "operands o and r overlap", 0, 0},
    {"sums of rows, again", ACT(80) "  buffer act %r : 16 align 16 offset 0\n"
     "  buffer act %o : 16 align 16 offset 0\n"
     "  reduce(@out %r[4,4]:f32 *(1,0); @in %x[4,4]:f32) {axes=[1]}\n"
     "  copy(@out %o[4]:f32; @in %x[4]:f32)\n"
     "  reduce(@out %r[4,4]:f32 *(1,0); @in %x[4,4]:f32) {axes=[1]}\n"
     "  copy(@out %y[4]:f32; @in %r[4]:f32)\n", NULL, 0, 0},
    {"all of it in every iteration", ACT(64) A(0) B(0) COPY("a", "x") COPY("b", "x")
     LOOP(2, "  copy(@out %a[4,4]:f32 step 0; @in %x[4,4]:f32)\n") COPY("y", "a"), NULL, 0, 0},
    {"rows, after all was written over", ACT(64) A(0) B(0) COPY("a", "x") COPY("b", "x")
     LOOP(4, ROW("a", "x")) COPY("y", "a"), "writes a part of a after b was written over it", 0, 0},

    {"operands that touch", ACT(128) A(0) B(64) COPY("a", "x") NEG("b", "a") COPY("y", "b"), NULL,
     0, 0},
    {"operands that share a byte", ACT(112) A(0) B(48) COPY("a", "x") NEG("b", "a") COPY("y", "b"),
     "operands b and a overlap", 0, 0},
    {"operands the other way around", ACT(112) A(48) B(0) COPY("a", "x") NEG("b", "a")
     COPY("y", "b"), "operands b and a overlap", 0, 0},
    {"operands that are read may share", ACT(128) A(0) B(0) C(64) COPY("a", "x")
     "  map(@out %c[2,4]:f32; @in %a[2,4]:f32, @in %a[2,4]:f32 +32) {body=\"add(%0, %1)\"}\n"
     "  copy(@out %y[2,4]:f32; @in %c[2,4]:f32)\n", NULL, 0, 0},
    {"in place", ACT(64) A(0) COPY("a", "x") NEG("a", "a") COPY("y", "a"), NULL, 0, 0},
    {"regions begin at 0 each", ACT(64) "  region scratch 64\n" A(0)
     "  buffer scratch %s : 64 offset 0\n" COPY("a", "x") NEST(NEG("s", "a") NEG("y", "s")),
     NULL, 0, 0},
    {"scratch that shares", "  region scratch 64\n  buffer scratch %s : 64 offset 0\n"
     "  buffer scratch %t : 64 offset 0\n" NEST(NEG("s", "x") NEG("t", "s") NEG("y", "t")),
     "operands s and t overlap", 0, 0},
    {"instructions of a nest, apart", ACT(192) A(0) B(64) C(128) COPY("a", "x")
     NEST(NEG("b", "a") NEG("c", "b")) COPY("y", "c"), NULL, 0, 0},
    {"the last of a nest writes what the first reads", ACT(128) A(0) B(64) C(0) COPY("a", "x")
     NEST(NEG("b", "a") NEG("c", "b")) COPY("y", "c"),
     "operands c and a overlap", 0, 0},
    {"the first of a nest writes what the last reads", ACT(128) A(0) B(64) C(64) COPY("a", "x")
     COPY("c", "x") NEST(NEG("b", "a") NEG("y", "c")),
     "operands b and c overlap", 0, 0},

    {"carried around", ACT(128) A(0) B(64) COPY("a", "x") LOOP(2, COPY("b", "a") COPY("a", "b"))
     COPY("y", "a"), NULL, 0, 0},
    {"overwritten in the iteration before", ACT(64) A(0) B(0) COPY("a", "x")
     LOOP(2, COPY("y", "a") COPY("b", "x")), "reads a where b has been written over it", 0, 0},
    {"of one iteration", ACT(64) A(0) B(0) LOOP(2, COPY("a", "x") COPY("y", "a") COPY("b", "x")
     COPY("y", "b")), NULL, 0, 0},
    {"overwritten behind the loop", ACT(64) A(0) B(0) COPY("a", "x") LOOP(2, COPY("y", "a"))
     COPY("b", "x") COPY("y", "b"), NULL, 0, 0},
    {"overwritten behind the inner loop", ACT(64) A(0) B(0)
     LOOP(2, COPY("a", "x") LOOP(2, COPY("y", "a")) COPY("b", "x") COPY("y", "b")), NULL, 0, 0},
    {"overwritten in the inner loop's last iteration", ACT(64) A(0) B(0)
     LOOP(2, COPY("a", "x") LOOP(2, COPY("y", "a") COPY("b", "x")) COPY("y", "b")),
     "reads a where b has been written over it", 0, 0},
    {"the condition is overwritten", ACT(64) A(0) N(0) "  fill(@out %n[]:bool) {value=1.0}\n"
     "  loop(; @inout %n[]:bool, -) {trip=2} do {\n" COPY("a", "x") COPY("y", "a") "  }\n",
     "reads n where a has been written over it", 0, 0},

    {"constants apart", "  region const 128\n  buffer const %k : 64 offset 0 = splat(1)\n"
     "  buffer const %l : 64 offset 64 = splat(2)\n" COPY("y", "k") COPY("y", "l"), NULL, 0, 0},
    {"constants that share bytes", "  region const 124\n  buffer const %k : 64 offset 0 = splat(1)"
     "\n  buffer const %l : 64 align 4 offset 60 = splat(2)\n" COPY("y", "k") COPY("y", "l"),
     "items 2 and 3 overlap: bytes [0, 64) in [0, 1) and bytes [60, 124) in [0, 1)", 0, 0},
    {"one of them is not read", "  region const 64\n  buffer const %k : 64 offset 0 = splat(1)\n"
     "  buffer const %l : 64 offset 0 = splat(2)\n" COPY("y", "k"), NULL, 0, 0},
    {"states apart", "  region state 128\n  buffer state 0 %s : f32[4,4] align 64 offset 0 = "
     "splat(0)\n  buffer state 1 %t : f32[4,4] align 64 offset 64 = splat(0)\n" COPY("t", "s"),
     NULL, 0, 0},
    {"states that share", "  region state 64\n  buffer state 0 %s : f32[4,4] align 64 offset 0 = "
     "splat(0)\n  buffer state 1 %t : f32[4,4] align 64 offset 0 = splat(0)\n" COPY("s", "x")
     COPY("t", "x"),
     "items 2 and 3 overlap: bytes [0, 64) in [0, 1) and bytes [0, 64) in [0, 1)", 0, 0},
    {"what a state holds is read at once", "  region state 64\n  buffer state 0 %s : f32[4,4] "
     "align 64 offset 0 = splat(0)\n" COPY("y", "s"), NULL, 0, 0},
};

/* Where buffers lie and how large regions are, which the parser would check as well. */
typedef struct {
  struct {
    char name;
    int64_t offset;
  } buffer[4];
  size_t n;
  int64_t region[WK_REGION_COUNT];
} placement;

/* The program without its placement. */
static void take_apart(const char *from, wk_str *text, placement *out) {
  static const char *const regions[WK_REGION_COUNT] = {
      [WK_REGION_ACT] = "act", [WK_REGION_SCRATCH] = "scratch", [WK_REGION_CONST] = "const",
      [WK_REGION_STATE] = "state"};
  *out = (placement){.n = 0};
  wk_str_add(text, "program \"t\" {\n" HEAD);
  for (size_t n; *from; from += n) {
    n = strcspn(from, "\n") + 1;
    if (!strncmp(from, "  region ", 9)) {
      for (int r = 0; r < WK_REGION_COUNT; r++)
        if (regions[r] && !strncmp(from + 9, regions[r], strlen(regions[r])))
          out->region[r] = strtoll(from + 9 + strlen(regions[r]), NULL, 10);
      continue;
    }
    const char *at = strncmp(from, "  buffer ", 9) ? NULL : strstr(from, " offset ");
    if (at && at < from + n) {
      char *rest;
      out->buffer[out->n].name = ((const char *)memchr(from, '%', n))[1];
      out->buffer[out->n++].offset = strtoll(at + 8, &rest, 10);
      wk_str_printf(text, "%.*s%.*s", (int)(at - from), from, (int)(from + n - rest), rest);
    } else {
      wk_str_printf(text, "%.*s", (int)n, from);
    }
  }
  wk_str_add(text, "}\n");
}

static void place(wk_program *p, const placement *x) {
  for (size_t b = 0; b < p->buffers.n; b++)
    for (size_t k = 0; k < x->n; k++)
      if (p->buffers.data[b].name[0] == x->buffer[k].name)
        p->buffers.data[b].offset = x->buffer[k].offset;
  memcpy(p->region_size, x->region, sizeof x->region);
}

static void rules(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str text = {0}, want = {0};
    wk_program *p = NULL;
    placement where;
    take_apart(cases[i].text, &text, &where);
    wk_status s = wk_program_parse(text.s, "case", &p);
    if (s) fail_msg("%s: %s: %s\n%s", cases[i].what, s->place ? s->place : "", s->message, text.s);
    place(p, &where);
    if (cases[i].size) p->buffers.data[2].size = cases[i].size;
    if (cases[i].move)
      p->body.insts.data[p->body.insts.n - 1]->operands[1].offset += cases[i].move;
    s = wk_place_check(p);
    if (cases[i].says) wk_str_printf(&want, "%s%s", cases[i].says, BUG);
    if (!s != !cases[i].says || (s && strcmp(s->message, want.s))) {
      print_message("%s: '%s'\n", cases[i].what, s ? s->message : "");
      differ++;
    }
    wk_status_free(s);
    wk_str_free(&want);
    wk_str_free(&text);
    wk_program_free(p);
  }
  assert_int_equal(differ, 0);
}

/* ---- placing --------------------------------------------------------------------------------- */

/* Where all of a program lies, for activations aligned to so much. */
static const struct {
  const char *body;
  int64_t align;
  const char *placed;
} placings[] = {
    {"  buffer act %a : 64 align 16\n  buffer act %b : 64 align 16\n" COPY("a", "x") NEG("b", "a")
     COPY("y", "b"), 64, "a 0 b 64; act 128 scratch 0 const 0 state 0, bound 128"},
    {"  buffer act %a : 64 align 16\n  buffer act %b : 64 align 16\n" COPY("a", "x") NEG("b", "a")
     COPY("y", "b"), 256, "a 0 b 256; act 512 scratch 0 const 0 state 0, bound 512"},
    {"  buffer act %a : 64 align 512\n  buffer act %b : 64 align 16\n" COPY("a", "x")
     NEG("b", "a") COPY("y", "b"), 64, "a 0 b 512; act 576 scratch 0 const 0 state 0, bound 576"},
    /* what nobody mentions takes no room */
    {"  buffer act %a : 64 align 16\n  buffer act %b : 640 align 16\n  buffer const %k : 640 = "
     "splat(1)\n  buffer const %l : 60 = splat(1)\n  buffer const %m : 64 = splat(1)\n"
     COPY("a", "x") "  map(@out %y[15]:f32; @in %l[15]:f32) {body=\"neg(%0)\"}\n" COPY("y", "m")
     COPY("y", "a"), 64,
     "a 0 b 0 k 0 l 0 m 64; act 64 scratch 0 const 128 state 0, bound 64"},
    {"  buffer scratch %s : 64 align 4\n  buffer scratch %t : 64 align 4\n"
     NEST(NEG("s", "x") NEG("t", "s") NEG("y", "t")), 128,
     "s 0 t 64; act 0 scratch 128 const 0 state 0, bound 0"},
    {"  buffer state 0 %s : f32[3] align 64 = splat(0)\n  buffer state 1 %t : f32[4,4] align 64 = "
     "splat(0)\n  buffer state 2 %u : f32[3] align 64 = splat(0)\n" COPY("y", "t"), 64,
     "s 0 t 64 u 128; act 0 scratch 0 const 0 state 140, bound 0"},
};

static void placing(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(placings); i++) {
    wk_str text = {0}, b = {0};
    wk_program *p = NULL;
    wk_str_printf(&text, "program \"t\" {\n%s%s}\n", HEAD, placings[i].body);
    wk_status s = wk_program_parse(text.s, "case", &p);
    if (s) fail_msg("%zu: %s: %s\n%s", i, s->place ? s->place : "", s->message, text.s);
    s = wk_place(p, placings[i].align);
    if (s) fail_msg("%zu: %s", i, s->message);
    for (size_t k = 2; k < p->buffers.n; k++)
      wk_str_printf(&b, k > 2 ? " %s %d" : "%s %d", p->buffers.data[k].name,
                    (int)p->buffers.data[k].offset);
    wk_str_printf(&b, "; act %d scratch %d const %d state %d, bound %d",
                  (int)p->region_size[WK_REGION_ACT], (int)p->region_size[WK_REGION_SCRATCH],
                  (int)p->region_size[WK_REGION_CONST], (int)p->region_size[WK_REGION_STATE],
                  (int)p->act_bound);
    if (strcmp(b.s, placings[i].placed)) {
      differ++;
      print_message("%zu: %s\n", i, b.s);
    }
    assert_null(wk_place_check(p));
    wk_str_free(&text);
    wk_str_free(&b);
    wk_program_free(p);
  }
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rules), cmocka_unit_test(placing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
