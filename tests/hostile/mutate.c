/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hostile/mutate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static size_t below(wk_rng *rng, size_t n) { return n ? (size_t)(wk_rng_next(rng) % n) : 0; }

/* Where blocks begin and how long they are: short ones more often than long ones. */
static size_t block_length(wk_rng *rng, size_t most) {
  size_t n = (size_t)1 << below(rng, 12);
  n += below(rng, n);
  return n < most ? n : most;
}

/* Replaces bytes [at, at + gone) by `n` others. */
static void replace(wk_str *b, size_t at, size_t gone, const char *with, size_t n) {
  wk_str out = {0};
  if (at) wk_str_addn(&out, b->s, at);
  if (n) wk_str_addn(&out, with, n);
  if (b->n > at + gone) wk_str_addn(&out, b->s + at + gone, b->n - at - gone);
  if (out.n > WK_MUTANT_MAX) out.n = WK_MUTANT_MAX;
  wk_str_free(b);
  *b = out;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

typedef void (*mutation)(wk_rng *rng, wk_str *b, const wk_str *other);

static void flip_bit(wk_rng *rng, wk_str *b, const wk_str *other) {
  (void)other;
  if (b->n) b->s[below(rng, b->n)] ^= (char)(1 << below(rng, 8));
}

static void set_byte(wk_rng *rng, wk_str *b, const wk_str *other) {
  static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 8, 10, 16, 32, 64, '"', '\n', '-'};
  (void)other;
  if (b->n) b->s[below(rng, b->n)] = (char)values[below(rng, sizeof values)];
}

static void set_number(wk_rng *rng, wk_str *b, const wk_str *other) {
  static const uint64_t values[] = {0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000,
                                    0xffffffff, 0x100000000, 0x7fffffffffffffff,
                                    0x8000000000000000, UINT64_MAX, 0xfffffffffffff000};
  size_t size = (size_t)1 << (1 + below(rng, 3));
  (void)other;
  if (b->n < size) return;
  size_t at = below(rng, b->n - size + 1);
  if (below(rng, 4)) at = at / size * size;
  memcpy(b->s + at, &values[below(rng, WK_COUNTOF(values))], size);
}

static void add_to_byte(wk_rng *rng, wk_str *b, const wk_str *other) {
  (void)other;
  if (b->n) b->s[below(rng, b->n)] += (char)(1 + below(rng, 16)) * (below(rng, 2) ? 1 : -1);
}

static void truncate_at(wk_rng *rng, wk_str *b, const wk_str *other) {
  (void)other;
  b->n = below(rng, b->n + 1);
}

static void delete_block(wk_rng *rng, wk_str *b, const wk_str *other) {
  size_t at = below(rng, b->n);
  (void)other;
  replace(b, at, block_length(rng, b->n - at), NULL, 0);
}

static void repeat_block(wk_rng *rng, wk_str *b, const wk_str *other) {
  size_t at = below(rng, b->n), n = block_length(rng, b->n - at);
  wk_str block = {0};
  (void)other;
  for (size_t times = 1 + below(rng, 4); n && times > 0; times--) wk_str_addn(&block, b->s + at, n);
  replace(b, at, 0, block.s, block.n);
  wk_str_free(&block);
}

static void move_block(wk_rng *rng, wk_str *b, const wk_str *other) {
  size_t at = below(rng, b->n), n = block_length(rng, b->n - at), to = below(rng, b->n + 1);
  wk_str block = {0};
  (void)other;
  if (n) wk_str_addn(&block, b->s + at, n);
  replace(b, to, below(rng, 2) ? n : 0, block.s, block.n);
  wk_str_free(&block);
}

static void splice(wk_rng *rng, wk_str *b, const wk_str *other) {
  size_t at = below(rng, b->n + 1), from = below(rng, other->n);
  size_t n = block_length(rng, other->n - from);
  replace(b, at, below(rng, 2) ? n : below(rng, b->n - at + 1), other->s + from, n);
}

static size_t varint(char *out, uint64_t v) {
  size_t n = 0;
  do {
    out[n++] = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
    v >>= 7;
  } while (v);
  return n;
}

/* A byte, which may be the length of a field, becomes a long number. */
static void blow_up_varint(wk_rng *rng, wk_str *b, const wk_str *other) {
  static const uint64_t values[] = {127, 128, 16383, 65535, 0x7fffffff, 0xffffffff, 0x1ffffffff,
                                    INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
  char number[16];
  size_t n = varint(number, values[below(rng, WK_COUNTOF(values))]);
  (void)other;
  if (below(rng, 8) == 0) { /* never ends */
    memset(number, 0xff, 11);
    n = 11;
  }
  replace(b, below(rng, b->n + 1), 1, number, n);
}

/* Messages in messages: a length-delimited field repeated inwards, as deep as fits. */
static void nest(wk_rng *rng, wk_str *b, const wk_str *other) {
  static const uint8_t fields[][3] = {{7, 7, 7}, {1, 5, 6}, {5, 6, 1}, {2, 2, 2}, {1, 1, 1}};
  const uint8_t *field = fields[below(rng, WK_COUNTOF(fields))];
  size_t depth = (size_t)4 << below(rng, 11);
  char *text = wk_xmalloc(depth * 4 + 1), *end = text + depth * 4, *p = end;
  (void)other;
  for (size_t i = depth; i-- > 0;) { /* inside out: the length of what is inside comes before it */
    char head[8];
    head[0] = (char)(field[i % 3] << 3 | 2);
    size_t n = 1 + varint(head + 1, (uint64_t)(end - p));
    if ((size_t)(p - text) < n) break;
    memcpy(p -= n, head, n);
  }
  replace(b, below(rng, b->n + 1), 0, p, (size_t)(end - p));
  free(text);
}

typedef struct { const char *name; mutation run; } named_mutation;

static const named_mutation of_bytes[] = {
    {"flip-bit", flip_bit},         {"set-byte", set_byte},         {"set-number", set_number},
    {"add-to-byte", add_to_byte},   {"truncate", truncate_at},      {"delete-block", delete_block},
    {"repeat-block", repeat_block}, {"move-block", move_block},     {"splice", splice},
    {"blow-up-varint", blow_up_varint}, {"nest", nest}};

static void apply(wk_rng *rng, wk_str *b, const wk_str *other, const named_mutation *list, size_t n,
                  wk_str *note) {
  const named_mutation *m = &list[below(rng, n)];
  m->run(rng, b, other);
  wk_str_printf(note, " %s", m->name);
}

void mutate_bytes(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note) {
  for (size_t times = 1 + below(rng, 3); times > 0; times--)
    apply(rng, b, other, of_bytes, WK_COUNTOF(of_bytes), note);
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* A run of word characters at or after a random place. */
static bool pick_word(wk_rng *rng, const wk_str *b, size_t *at, size_t *n) {
  size_t i = below(rng, b->n);
  while (i > 0 && is_word(b->s[i - 1])) i--;
  while (i < b->n && !is_word(b->s[i])) i++;
  *at = i;
  while (i < b->n && is_word(b->s[i])) i++;
  *n = i - *at;
  return *n > 0;
}

static void replace_word(wk_rng *rng, wk_str *b, const wk_str *other) {
  size_t at, n, from, length;
  if (!pick_word(rng, b, &at, &n) || !pick_word(rng, other, &from, &length)) return;
  wk_str with = {0};
  wk_str_addn(&with, other->s + from, length);
  replace(b, at, n, with.s, with.n);
  wk_str_free(&with);
}

/* Two words that begin with the same kind of character change places, or one replaces the other:
 * operands, operators, sizes. */
static void exchange_words(wk_rng *rng, wk_str *b, const wk_str *other) {
  size_t at, n, from = 0, length = 0;
  (void)other;
  if (!pick_word(rng, b, &at, &n)) return;
  bool digit = isdigit((unsigned char)b->s[at]);
  char before = at ? b->s[at - 1] : 0;
  for (int tries = 0; tries < 32; tries++) {
    if (!pick_word(rng, b, &from, &length)) return;
    bool same = digit ? isdigit((unsigned char)b->s[from]) != 0
                      : (from ? b->s[from - 1] : 0) == before;
    if (same && from != at) break;
  }
  wk_str with = {0};
  wk_str_addn(&with, b->s + from, length);
  replace(b, at, n, with.s, with.n);
  wk_str_free(&with);
}

static void small_number(wk_rng *rng, wk_str *b, const wk_str *other) {
  size_t at = 0, n = 0;
  char text[4];
  (void)other;
  for (int tries = 0; tries < 8; tries++) {
    if (pick_word(rng, b, &at, &n) && isdigit((unsigned char)b->s[at])) break;
  }
  snprintf(text, sizeof text, "%d", (int)below(rng, 18));
  if (n) replace(b, at, n, text, strlen(text));
}

static void replace_number(wk_rng *rng, wk_str *b, const wk_str *other) {
  static const char *const numbers[] = {
      "0", "1", "-1", "2", "3", "8", "9", "127", "255", "65536", "2147483647", "2147483648",
      "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808",
      "9223372036854775808", "1e309", "nan", "inf", "0x", "1e", "00000000000000000000000000001",
      "4611686018427387904", "1000000007"};
  size_t at = 0, n = 0;
  (void)other;
  for (int tries = 0; tries < 8; tries++) {
    if (pick_word(rng, b, &at, &n) && isdigit((unsigned char)b->s[at])) break;
  }
  const char *with = numbers[below(rng, WK_COUNTOF(numbers))];
  if (n) replace(b, at, n, with, strlen(with));
}

static void change_line(wk_rng *rng, wk_str *b, const wk_str *other) {
  size_t at = below(rng, b->n), end = at;
  (void)other;
  while (at > 0 && b->s[at - 1] != '\n') at--;
  while (end < b->n && b->s[end++] != '\n') {}
  wk_str line = {0};
  if (end > at) wk_str_addn(&line, b->s + at, end - at);
  if (below(rng, 2)) replace(b, at, end - at, NULL, 0);
  else replace(b, below(rng, b->n + 1), 0, line.s, line.n);
  wk_str_free(&line);
}

static void repeat_character(wk_rng *rng, wk_str *b, const wk_str *other) {
  static const char chars[] = "([{<,%\"-#;=x0 \n";
  char run[8192];
  size_t n = (size_t)1 << below(rng, 14);
  (void)other;
  memset(run, chars[below(rng, sizeof chars - 1)], sizeof run);
  replace(b, below(rng, b->n + 1), 0, run, n < sizeof run ? n : sizeof run);
}

/* Mild ones more often: most of a text should stay well formed. */
static const named_mutation of_text[] = {
    {"exchange-words", exchange_words}, {"exchange-words", exchange_words},
    {"exchange-words", exchange_words}, {"exchange-words", exchange_words},
    {"small-number", small_number}, {"small-number", small_number},
    {"small-number", small_number}, {"replace-number", replace_number},
    {"replace-number", replace_number}, {"change-line", change_line},
    {"change-line", change_line}, {"replace-word", replace_word},
    {"repeat-character", repeat_character}, {"set-byte", set_byte}, {"truncate", truncate_at},
    {"delete-block", delete_block}, {"move-block", move_block}, {"splice", splice}};

void mutate_text(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note) {
  for (size_t times = 1 + below(rng, 3) / 2; times > 0; times--)
    apply(rng, b, other, of_text, WK_COUNTOF(of_text), note);
}
