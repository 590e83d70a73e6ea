/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hostile/model_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/ir/ir.h"

typedef struct {
  const char *text, *p;
  wk_str *model; /* fields of ModelProto */
} reader;

/* ---- wire format ----------------------------------------------------------------------------- */

static void put_varint(wk_str *b, uint64_t v) {
  do {
    char c = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    wk_str_addn(b, &c, 1);
    v >>= 7;
  } while (v);
}

static void put_int(wk_str *b, uint32_t field, int64_t v) {
  put_varint(b, (uint64_t)field << 3);
  put_varint(b, (uint64_t)v);
}

static void put_bytes(wk_str *b, uint32_t field, const char *s, size_t n) {
  put_varint(b, (uint64_t)field << 3 | 2);
  put_varint(b, n);
  if (n) wk_str_addn(b, s, n);
}

static void put_text(wk_str *b, uint32_t field, const char *s) {
  put_bytes(b, field, s, strlen(s));
}

static void put_float(wk_str *b, uint32_t field, double v) {
  float f = (float)v;
  put_varint(b, (uint64_t)field << 3 | 5);
  wk_str_addn(b, (const char *)&f, 4);
}

/* Appends a message and releases it. */
static void put_message(wk_str *b, uint32_t field, wk_str *m) {
  put_bytes(b, field, m->s, m->n);
  wk_str_free(m);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void bad(const reader *r, const char *want) {
  fprintf(stderr, "model text: wanted %s at '%.40s' in '%.200s'\n", want, r->p, r->text);
  abort();
}

static char peek(reader *r) {
  while (isspace((unsigned char)*r->p)) r->p++;
  return *r->p;
}

static bool take(reader *r, const char *s) {
  peek(r);
  size_t n = strlen(s);
  if (strncmp(r->p, s, n) != 0) return false;
  if (isalnum((unsigned char)s[n - 1]) && (isalnum((unsigned char)r->p[n]) || r->p[n] == '_'))
    return false;
  r->p += n;
  return true;
}

static void need(reader *r, const char *s) {
  if (!take(r, s)) bad(r, s);
}

typedef struct { char s[256]; } word;

static word take_word(reader *r) {
  word w = {{0}};
  size_t n = 0;
  peek(r);
  while ((isalnum((unsigned char)*r->p) || strchr("_./", *r->p)) && *r->p && n < sizeof w.s - 1)
    w.s[n++] = *r->p++;
  if (n == 0) bad(r, "a word");
  return w;
}

/* A name of a tensor; "_" is the empty one. */
static word take_name(reader *r) {
  word w = take_word(r);
  if (strcmp(w.s, "_") == 0) w.s[0] = 0;
  return w;
}

static word take_quoted(reader *r) {
  word w = {{0}};
  size_t n = 0;
  need(r, "\"");
  while (*r->p && *r->p != '"' && n < sizeof w.s - 1) w.s[n++] = *r->p++;
  need(r, "\"");
  return w;
}

static int64_t take_int(reader *r) {
  char *end;
  peek(r);
  long long v = strtoll(r->p, &end, 10);
  if (end == r->p) bad(r, "an integer");
  r->p = end;
  return v;
}

/* *is_int tells 3 from 3.0, inf and nan. */
static double take_number(reader *r, bool *is_int) {
  char *end, *end_int;
  peek(r);
  double v = strtod(r->p, &end);
  (void)strtoll(r->p, &end_int, 10);
  if (end == r->p) bad(r, "a number");
  *is_int = end == end_int;
  r->p = end;
  return v;
}

/* ---- types and tensors ----------------------------------------------------------------------- */

/* By TensorProto.DataType; bits of an element. */
static const struct { const char *name; int bits; } elems[] = {
    [1] = {"f32", 32}, [2] = {"u8", 8}, [3] = {"i8", 8}, [4] = {"u16", 16}, [5] = {"i16", 16},
    [6] = {"i32", 32}, [7] = {"i64", 64}, [8] = {"string", 8}, [9] = {"bool", 8},
    [10] = {"f16", 16}, [11] = {"f64", 64}, [12] = {"u32", 32}, [13] = {"u64", 64},
    [14] = {"c64", 64}, [16] = {"bf16", 16}, [17] = {"f8e4m3fn", 8}, [18] = {"f8e4m3fnuz", 8},
    [19] = {"f8e5m2", 8}, [20] = {"f8e5m2fnuz", 8}, [21] = {"u4", 4}, [22] = {"i4", 4},
    [23] = {"f4e2m1fn", 4}, [24] = {"f8e8m0fnu", 8}, [25] = {"u2", 2}, [26] = {"i2", 2},
    [99] = {"type99", 8}};

static int32_t take_elem(reader *r) {
  for (size_t i = 0; i < WK_COUNTOF(elems); i++)
    if (elems[i].name && take(r, elems[i].name)) return (int32_t)i;
  bad(r, "an element type");
  return 0;
}

static bool at_int(reader *r) { return isdigit((unsigned char)peek(r)) || *r->p == '-'; }

static void put_type(reader *r, wk_str *b, uint32_t field) {
  wk_str type = {0}, of = {0}, shape = {0};
  bool is_optional = take(r, "optional");
  if (is_optional || take(r, "sequence")) {
    put_type(r, &of, 1);
    put_message(&type, is_optional ? 9 : 4, &of);
    put_message(b, field, &type);
    return;
  }
  put_int(&of, 1, take_elem(r));
  if (take(r, "[")) {
    while (!take(r, "]")) {
      wk_str dim = {0};
      if (at_int(r)) put_int(&dim, 1, take_int(r));
      else if (!take(r, "_")) put_text(&dim, 2, take_word(r).s);
      put_message(&shape, 1, &dim);
      (void)take(r, ",");
    }
    put_message(&of, 2, &shape);
  }
  put_message(&type, 1, &of);
  put_message(b, field, &type);
}

static void put_value_info(reader *r, wk_str *graph, uint32_t field) {
  wk_str info = {0};
  word name = take_name(r);
  put_text(&info, 1, name.s);
  if (peek(r) && *r->p != ';' && *r->p != ')') put_type(r, &info, 2);
  put_message(graph, field, &info);
}

/* Element n; of narrow types v has the bits. */
static void put_element(wk_str *raw, int32_t elem, int64_t n, double v) {
  union { float f; double d; int64_t i; char s[8]; } u = {.i = 0};
  int bits = elems[elem].bits;
  if (elem == 1) u.f = (float)v;
  else if (elem == 11) u.d = v;
  else if (elem == 10 || elem == 16) wk_store_f64(u.s, elem == 10 ? WK_F16 : WK_BF16, 0, v);
  else u.i = v >= 9223372036854775807.0 ? INT64_MAX : (int64_t)v;
  if (bits < 8) {
    int at = (int)(n * bits % 8);
    if (at == 0) wk_str_addn(raw, "\0", 1);
    raw->s[raw->n - 1] |= (char)((u.i & ((1 << bits) - 1)) << at);
  } else {
    wk_str_addn(raw, u.s, (size_t)bits / 8);
  }
}

static void put_values(reader *r, wk_str *raw, int32_t elem, int64_t count) {
  int64_t n = 0;
  double v = 0;
  bool is_int;
  if (take(r, "{")) {
    for (; !take(r, "}"); n++) {
      v = take_number(r, &is_int);
      put_element(raw, elem, n, v);
      (void)take(r, ",");
    }
  }
  for (; n < count; n++) put_element(raw, elem, n, v);
}

static void put_external(reader *r, wk_str *t) {
  static const char *const keys[] = {"location", "offset", "length"};
  put_int(t, 14, 1);
  for (int i = 0; i < 3 && (i == 0 || at_int(r)); i++) {
    wk_str entry = {0};
    put_text(&entry, 1, keys[i]);
    if (i == 0) {
      put_text(&entry, 2, take_quoted(r).s);
    } else {
      char text[24];
      snprintf(text, sizeof text, "%lld", (long long)take_int(r));
      put_text(&entry, 2, text);
    }
    put_message(t, 13, &entry);
  }
}

static void put_initialiser(reader *r, wk_str *graph, uint32_t field) {
  wk_str t = {0}, raw = {0};
  int64_t count = 1;
  word name = take_name(r);
  int32_t elem = take_elem(r);
  need(r, "[");
  while (!take(r, "]")) {
    int64_t d = take_int(r);
    put_int(&t, 1, d);
    if (!wk_mul_ok(count, d, &count)) count = 0;
    (void)take(r, ",");
  }
  put_int(&t, 2, elem);
  put_text(&t, 8, name.s);
  bool given = take(r, "=");
  if (given && take(r, "external")) {
    put_external(r, &t);
  } else {
    if (given && take(r, "raw")) {
      for (int64_t n = take_int(r); n > 0; n--) wk_str_addn(&raw, "\0", 1);
    } else {
      put_values(r, &raw, elem, count < (1 << 20) ? count : 0);
    }
    put_message(&t, 9, &raw);
  }
  put_message(graph, field, &t);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_statements(reader *r, wk_str *graph, uint32_t node_field);

static void put_texts(reader *r, wk_str *a) {
  while (!take(r, "]")) {
    put_text(a, 9, take_quoted(r).s);
    (void)take(r, ",");
  }
  put_int(a, 20, 8);
}

static void put_list(reader *r, wk_str *a) {
  wk_str ints = {0}, floats = {0};
  bool all_ints = true, is_int;
  while (!take(r, "]")) {
    peek(r);
    const char *from = r->p;
    double v = take_number(r, &is_int);
    all_ints = all_ints && is_int;
    for (int64_t n = take(r, "*") ? take_int(r) : 1; n > 0; n--) {
      put_float(&floats, 7, v);
      if (is_int) put_int(&ints, 8, strtoll(from, NULL, 10));
    }
    (void)take(r, ",");
  }
  wk_str *used = all_ints ? &ints : &floats;
  if (used->n) wk_str_addn(a, used->s, used->n);
  put_int(a, 20, all_ints ? 7 : 6);
  wk_str_free(&ints);
  wk_str_free(&floats);
}

static void put_graph(reader *r, wk_str *a, uint32_t field) {
  wk_str graph = {0};
  put_statements(r, &graph, 1);
  need(r, ")");
  put_text(&graph, 2, "body");
  put_message(a, field, &graph);
}

static void put_graphs(reader *r, wk_str *a) {
  while (!take(r, "]")) {
    need(r, "(");
    put_graph(r, a, 11);
    (void)take(r, ",");
  }
  put_int(a, 20, 10);
}

static void put_tensors(reader *r, wk_str *a) {
  while (!take(r, "]")) {
    need(r, "tensor");
    put_initialiser(r, a, 10);
    (void)take(r, ",");
  }
  put_int(a, 20, 9);
}

static void put_any_list(reader *r, wk_str *a) {
  switch (peek(r)) {
    case '"': put_texts(r, a); return;
    case '(': put_graphs(r, a); return;
    case 't': put_tensors(r, a); return;
    default: put_list(r, a);
  }
}

static void put_number(reader *r, wk_str *a) {
  bool is_int;
  peek(r);
  const char *from = r->p;
  double v = take_number(r, &is_int);
  if (is_int) put_int(a, 3, strtoll(from, NULL, 10));
  else put_float(a, 2, v);
  put_int(a, 20, is_int ? 2 : 1);
}

static void put_attribute(reader *r, wk_str *node) {
  wk_str a = {0};
  put_text(&a, 1, take_word(r).s);
  need(r, "=");
  if (peek(r) == '"') {
    put_text(&a, 4, take_quoted(r).s);
    put_int(&a, 20, 3);
  } else if (take(r, "(")) {
    put_graph(r, &a, 6);
    put_int(&a, 20, 5);
  } else if (take(r, "[")) {
    put_any_list(r, &a);
  } else if (take(r, "floats")) {
    need(r, "[]");
    put_int(&a, 20, 6);
  } else if (take(r, "strings")) {
    need(r, "[]");
    put_int(&a, 20, 8);
  } else if (take(r, "tensor")) {
    put_initialiser(r, &a, 5);
    put_int(&a, 20, 4);
  } else {
    put_number(r, &a);
  }
  put_message(node, 5, &a);
}

static void put_names(reader *r, wk_str *b, uint32_t field) {
  do put_text(b, field, take_name(r).s);
  while (take(r, ","));
}

static void put_node(reader *r, wk_str *graph, uint32_t field) {
  wk_str node = {0};
  word op = take_word(r);
  char *dot = strrchr(op.s, '.');
  put_text(&node, 4, dot ? dot + 1 : op.s);
  if (dot) put_bytes(&node, 7, op.s, (size_t)(dot - op.s));
  if (!take(r, "->")) {
    put_names(r, &node, 1);
    need(r, "->");
  }
  put_names(r, &node, 2);
  if (take(r, "{")) {
    while (!take(r, "}")) put_attribute(r, &node);
  }
  put_message(graph, field, &node);
}

static void put_opset(wk_str *b, uint32_t field, const char *domain, int64_t version) {
  wk_str o = {0};
  put_text(&o, 1, domain);
  put_int(&o, 2, version);
  put_message(b, field, &o);
}

static void put_import(reader *r) {
  word domain = take_word(r);
  put_opset(r->model, 8, domain.s, take_int(r));
}

static void put_function(reader *r) {
  wk_str f = {0};
  put_text(&f, 1, take_word(r).s);
  put_names(r, &f, 4);
  need(r, "->");
  put_names(r, &f, 5);
  need(r, "(");
  put_statements(r, &f, 7);
  need(r, ")");
  put_opset(&f, 9, "", 17);
  put_opset(&f, 9, "local", 1);
  put_text(&f, 10, "local");
  put_message(r->model, 25, &f);
}

static void put_statements(reader *r, wk_str *graph, uint32_t node_field) {
  while (peek(r) && *r->p != ')') {
    if (take(r, "opset")) put_opset(r->model, 8, "", take_int(r));
    else if (take(r, "import")) put_import(r);
    else if (take(r, "in")) put_value_info(r, graph, 11);
    else if (take(r, "out")) put_value_info(r, graph, 12);
    else if (take(r, "init")) put_initialiser(r, graph, 5);
    else if (take(r, "fun")) put_function(r);
    else put_node(r, graph, node_field);
    if (!take(r, ";") && peek(r) && *r->p != ')') bad(r, ";");
  }
}

void model_text(const char *text, wk_str *out) {
  wk_str graph = {0};
  reader r = {.text = text, .p = text, .model = out};
  put_int(out, 1, 8);
  put_statements(&r, &graph, 1);
  if (*r.p) bad(&r, "the end");
  put_text(&graph, 2, "g");
  put_message(out, 7, &graph);
  if (!strstr(text, "opset ")) put_opset(out, 8, "", 17);
  put_opset(out, 8, "local", 1);
  put_opset(out, 8, "com.microsoft", 1);
  if (!strstr(text, "import ai.onnx.ml ")) put_opset(out, 8, "ai.onnx.ml", 5);
  put_opset(out, 8, "org.pytorch.aten", 1);
  put_opset(out, 8, "wick", 1);
  put_opset(out, 8, "ai.onnx.preview.training", 1);
}
