/* SPDX-License-Identifier: Apache-2.0
 * Streams as text and as files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/accel/isa/stream.h"
#include "tests/unit/accel_commands.h"

static wk_stream *assemble_with(const char *text, const wk_asm_options *o) {
  wk_stream *s = NULL;
  wk_status status = wk_asm(text, strlen(text), "s.s", NULL, o, &s);
  if (status) fail_msg("%s: %s", status->place ? status->place : "", status->message);
  return s;
}

static const wk_asm_options unchecked = {.unchecked = true};
static wk_stream *assemble(const char *text) { return assemble_with(text, &unchecked); }

static wk_isa_command get(const wk_stream *s, uint32_t i) {
  wk_isa_command c;
  assert_true(i < s->n);
  assert_true(wk_stream_get(s, i, &c));
  return c;
}

/* ---- expressions and names ------------------------------------------------------------------- */

static void expressions(void **state) {
  static const struct { const char *text; int64_t want; } cases[] = {
      {"7", 7}, {"0x1F", 31}, {"N", 16}, {"2+3*4", 14}, {"(2+3)*4", 20}, {"2 + 3", 5},
      {"20/6", 3}, {"20%6", 2}, {"- 3 + 5", 2}, {"-(-4)", 4}, {"2*-3+10", 4}, {"10-4-3", 3},
      {"A+1", 101}, {"A - B", 93}, {"B%2*8", 8}, {"( A )", 100}, {"100/7/2", 7},
      {"-21/-1", 21}, {"-21%-1", 0}, {"(-9223372036854775807-1)/-4611686018427387904", 2},
      {"(-9223372036854775807-1)%-5+9", 6}, {"~", -1}};
  (void)state;
  for (size_t i = 0; cases[i].want >= 0; i++) {
    char text[200];
    snprintf(text, sizeof text, ".define A 100\n.define B 7\nmark row=%s\n", cases[i].text);
    wk_stream *s = assemble(text);
    assert_int_equal(get(s, 0).v[WK_MARK_row], cases[i].want);
    wk_stream_free(s);
  }
}

static void signs_separate_values(void **state) {
  (void)state;
  wk_stream *s = assemble(".memory m 0 64\n.bytes m 0 1 -2 3 - 1 4-1 +5 (6) -(7)\n");
  static const int8_t want[] = {1, -2, 2, 3, 5, 6, -7, 0};
  assert_memory_equal(s->regions.data[0].data, want, sizeof want);
  wk_stream_free(s);
}

static void loops(void **state) {
  static const char text[] =
      ".for i 0 3\n"
      "  .define base i*10\n"
      "  .for j 0 i   ; none at first\n"
      "a{i}_{j}: mark row=base+j\n"
      "  .end\n"
      ".end\n"
      ".for i 5 5\nnothing at all\n.for k 0 1\n.end\n.end\n"
      ".for i 2 0-1\nnothing\n.end\n"
      "mark row=99 wait a2_1 a0_0? a{3-1}_{0}\n";
  (void)state;
  wk_stream *s = assemble(text);
  assert_int_equal(s->n, 4);
  assert_int_equal(get(s, 0).v[WK_MARK_row], 10);
  assert_int_equal(get(s, 1).v[WK_MARK_row], 20);
  assert_int_equal(get(s, 2).v[WK_MARK_row], 21);
  assert_int_equal(s->lines.data[2], 4);
  assert_int_equal(get(s, 3).wait, 1);
  assert_int_equal(get(s, 3).threshold[WK_QUEUE_ex], 3);
  wk_stream_free(s);
}

static void waits(void **state) {
  static const char text[] =
      "a: ld.ld0 dram=0 n0=8 spm=0 c0=8\n"
      "b: ld.ld1 dram=0 n0=8 spm=8 c0=8\n"
      "c: fill.ld0 spm=16 c0=8 wait b\n"
      "d: map fn=move a=0 out=32 n=8 wait c a b ve:0\n"
      "st dram=64 n0=8 spm=0 c0=8 op=3 prio=5 wait d ld0:1 x{1-2}?\n"
      "end\n";
  (void)state;
  wk_stream *s = assemble_with(text, NULL);
  wk_isa_command c = get(s, 2);
  assert_int_equal(c.wait, 1 << WK_QUEUE_ld1);
  assert_int_equal(c.threshold[WK_QUEUE_ld1], 1);
  c = get(s, 3);
  assert_int_equal(c.wait, 1 << WK_QUEUE_ld0 | 1 << WK_QUEUE_ld1 | 1 << WK_QUEUE_ve);
  assert_int_equal(c.threshold[WK_QUEUE_ld0], 2);
  assert_int_equal(c.threshold[WK_QUEUE_ve], 0);
  c = get(s, 4);
  assert_int_equal(c.operator, 3);
  assert_int_equal(c.priority, 5);
  assert_int_equal(c.wait, 1 << WK_QUEUE_ld0 | 1 << WK_QUEUE_ve);
  assert_int_equal(c.threshold[WK_QUEUE_ld0], 1);
  assert_int_equal(s->issued[WK_QUEUE_ld0], 2);
  wk_stream_free(s);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void memory(void **state) {
  static const char text[] =
      ".memory a 0x1000 64\n.memory b a+0x40 8\n"
      ".words a 4 -1 0x01020304 4294967295\n"
      ".random b 7 -1 1\n"
      ".output b\n"
      ".stream 0x2000\n.marks 0x4000\n"
      "ld.ld0 dram=b-1 n0=1 spm=0 c0=1\nmark row=2\nend\n";
  static const uint8_t words[] = {0, 0, 0, 0, 255, 255, 255, 255, 4, 3, 2, 1,
                                  255, 255, 255, 255, 0};
  (void)state;
  wk_stream *s = assemble_with(text, NULL);
  assert_int_equal(s->regions.n, 2);
  const wk_image *b = wk_stream_find(s, "b");
  assert_int_equal(b->address, 0x1040);
  assert_true(b->is_output);
  assert_memory_equal(s->regions.data[0].data, words, sizeof words);
  wk_rng r = {7};
  for (int i = 0; i < 8; i++) assert_int_equal((int8_t)b->data[i], wk_rng_range(&r, -1, 1));
  assert_int_equal(s->address, 0x2000);
  assert_int_equal(s->marks, 0x4000);
  assert_int_equal(wk_stream_mark_bytes(s), 3072);
  assert_int_equal(get(s, 0).v[WK_LD_dram], 0x103f);
  wk_stream_free(s);
}

static void chosen_addresses(void **state) {
  (void)state;
  wk_stream *s = assemble(".memory a 0x1000 0x1001\nmark\nend\n");
  assert_int_equal(s->address, 0x3000);
  assert_int_equal(s->marks, 0x4000);
  wk_stream_free(s);
  s = assemble("end\n");
  assert_int_equal(s->address, 0);
  assert_int_equal(s->marks, 0);
  wk_stream_free(s);
}

static void records(void **state) {
  static const char text[] =
      ".memory p 0 256\n"
      ".record p 16 zero=-3 lo=-100 hi=100 ma=-5 mb=0x7fffff shift=62 za=1 zb=-2 zy=3 lo2=-7 hi2=9"
      " flags=1\n"
      ".entry p 16 1 bias=-2 mult=0xabcdef shift=33\n"
      ".entry p 16 0 bias=4 scale=0.0123\n"
      ".record p 128 scale=0.5\n"
      ".record p 192 scale_a=0.5 scale_b=0.25\n"
      ".record p 64 e=0x0102030405060708 shift=45\n"
      ".entry p 64 0 bias=-1 gain=-2\n";
  static const uint8_t norm[] = {8, 7, 6, 5, 4, 3, 2, 1, 45};
  static const uint8_t want[] = {0xfd, 0xff, 0x9c, 0xff, 100, 0, 0, 0, 0xfb, 0xff, 0xff, 0xff, 0xff,
                                 0xff, 0x7f, 0, 62, 1, 1, 0, 0xfe, 0xff, 3, 0, 0xf9, 0xff, 9, 0,
                                 0, 0, 0, 0};
  static const uint8_t entry[] = {0xfe, 0xff, 0xff, 0xff, 0xef, 0xcd, 0xab, 33};
  static const uint8_t half[] = {0, 0, 0x80, 0xff, 127, 0, 0, 0, 0, 0, 0x80, 0};
  (void)state;
  wk_stream *s = assemble(text);
  const uint8_t *p = s->regions.data[0].data;
  assert_memory_equal(p + 16, want, sizeof want);
  assert_memory_equal(p + 16 + 40, entry, sizeof entry);
  uint32_t mult = p[52] | (uint32_t)p[53] << 8 | (uint32_t)p[54] << 16;
  double scale = mult * 0x1p-16;
  for (int i = 0; i < p[55]; i++) scale /= 2;
  assert_true(scale > 0.0123 * (1 - 1e-6) && scale < 0.0123 * (1 + 1e-6));
  assert_memory_equal(p + 64 + 8, norm, sizeof norm);
  assert_memory_equal(p + 64 + 32, "\xff\xff\xff\xff\xfe\xff\xff\xff", 8);
  assert_memory_equal(p + 128, half, sizeof half); /* ma 2^23, 0.5 * 2^16 = 2^23 / 2^8 */
  assert_int_equal(p[128 + 16], 8);
  int32_t ma, mb;
  memcpy(&ma, p + 200, 4);
  memcpy(&mb, p + 204, 4);
  assert_int_equal(ma, 2 * mb);
  assert_true(ma == (INT64_C(1) << p[192 + 16]) / 2);
  wk_stream_free(s);
}

/* b.npy, which is read into four bytes. */
static void wrong_files(const char *folder) {
  static const struct { const char *head, *message; } cases[] = {
      {"'<i2', 'fortran_order': False}", "has elements that are neither int8 nor uint8"},
      {"'|u1', 'fortran_order': True}", "is in Fortran order"},
      {"'|u1', 'fortran_order': False}", "b.npy has 5 bytes, 'b' only 4"}};
  char path[64];
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str b = {0};
    wk_stream *s;
    wk_str_addn(&b, "\x93NUMPY\x01\x00", 8);
    wk_str_printf(&b, "%c", (int)strlen(cases[i].head));
    wk_str_addn(&b, "", 1);
    wk_str_printf(&b, "%s12345", cases[i].head);
    snprintf(path, sizeof path, "%s/b.npy", folder);
    assert_null(wk_write_file(path, b.s, b.n));
    snprintf(path, sizeof path, "%s/s.s", folder);
    wk_status status = wk_stream_load(path, NULL, &s);
    assert_non_null(status);
    assert_string_equal(status->message, cases[i].message);
    wk_status_free(status);
    wk_str_free(&b);
  }
}

static void files(void **state) {
  char folder[] = "/tmp/wick-asm-XXXXXX", path[64];
  static const char npy[] = "\x93NUMPY\x01\x00\x38\x00{'descr': '|i1', 'fortran_order': False, "
                            "'shape': (3,)}\n\x01\x02\x03";
  static const char text[] = ".machine \"m.cfg\"\n.memory a 0 16\n.file a \"raw.bin\"\n"
                             ".memory b 16 4\n.file b \"b.npy\"\nmap fn=move a=0 out=0\nend\n";
  wk_stream *s;
  (void)state;
  assert_non_null(mkdtemp(folder));
  const struct { const char *name, *data; size_t n; } all[] = {
      {"m.cfg", "array = 8;", 10}, {"raw.bin", "hello", 5}, {"b.npy", npy, sizeof npy - 1},
      {"s.s", text, sizeof text - 1}};
  for (size_t i = 0; i < WK_COUNTOF(all); i++) {
    snprintf(path, sizeof path, "%s/%s", folder, all[i].name);
    assert_null(wk_write_file(path, all[i].data, all[i].n));
  }
  wk_status status = wk_stream_load(path, NULL, &s);
  if (status) fail_msg("%s: %s", status->place, status->message);
  assert_int_equal(s->machine.array, 8);
  assert_string_equal(s->machine.name, "m");
  assert_int_equal(get(s, 0).v[WK_MAP_n], 8);
  assert_memory_equal(s->regions.data[0].data, "hello\0", 6);
  assert_memory_equal(s->regions.data[1].data, "\1\2\3\0", 4);
  wk_stream_free(s);
  wrong_files(folder);
  for (size_t i = 0; i < WK_COUNTOF(all); i++) {
    snprintf(path, sizeof path, "%s/%s", folder, all[i].name);
    unlink(path);
  }
  rmdir(folder);
}

/* ---- messages -------------------------------------------------------------------------------- */

#define MEMORY ".memory m 0 64\n"

static void refuses(void **state) {
  static const struct { const char *text, *place, *message; } cases[] = {
#include "tests/unit/asm_errors.def"
  };
  int bad = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_stream *s = NULL;
    wk_status status = wk_asm(cases[i].text, strlen(cases[i].text), "s.s", NULL, NULL, &s);
    const char *place = status && status->place ? status->place : "";
    if (!status || strcmp(place, cases[i].place) != 0 ||
        strcmp(status->message, cases[i].message) != 0) {
      print_error("%s\n  gives   %s: %s\n  wanted  %s: %s\n", cases[i].text, place,
                  status ? status->message : "nothing", cases[i].place, cases[i].message);
      bad++;
    }
    if (!status) wk_stream_free(s);
    wk_status_free(status);
  }
  if (bad) fail_msg("%d of %zu messages differ", bad, WK_COUNTOF(cases));
}

static void limits(void **state) {
  static const struct { const char *text; wk_asm_options o; const char *message; } cases[] = {
      {".for i 0 100\nmark\n.end\nend\n", {.max_commands = 50}, "more than 50 commands"},
      {".for i 0 1000000000000\n.end\n", {.max_lines = 1000},
       "more than 1000 lines with what loops repeat"},
      {".for i 0 9999999\n.for j 0 9999999\n.end\n.end\n", {.max_lines = 1000},
       "more than 1000 lines with what loops repeat"},
      {".memory a 0 1000000\n.memory b 1000000 100\n.random b 1\n.random a 1\n",
       {.max_bytes = 1000}, "the memory images have more than 1000 bytes"},
      {".for i 0 5000\n.memory a 0 1\n.end\n", {0}, "the name 'a' is taken"},
      {".memory a123456789b123456789c123456789d123456789e123456789f123456789abcd 0 1\n", {0},
       "a name has at most 63 letters"},
      {"mark\nmark\nend\n", {.max_commands = 3}, NULL},
      {"mark\nmark\nend\n", {.max_commands = 2}, "more than 2 commands"},
      {"mark\n\nend", {.max_lines = 3}, NULL},
      {"mark\n\nend", {.max_lines = 2}, "more than 2 lines with what loops repeat"},
      {".memory a 0 1024\n.random a 1\nend\n", {.max_bytes = 1024}, NULL},
      {".memory a 0 1024\n.random a 1\nend\n", {.max_bytes = 1023},
       "the memory images have more than 1023 bytes"}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_stream *s = NULL;
    wk_status status = wk_asm(cases[i].text, strlen(cases[i].text), "s.s", NULL, &cases[i].o, &s);
    if (!status != !cases[i].message || (status && strcmp(status->message, cases[i].message)))
      fail_msg("case %zu: %s", i, status ? status->message : "is taken");
    if (!status) wk_stream_free(s);
    wk_status_free(status);
  }
}

/* ---- round trips ----------------------------------------------------------------------------- */

static void expect_equal(const wk_stream *a, const wk_stream *b, const char *text) {
  bool same = a->n == b->n && a->address == b->address && a->marks == b->marks &&
              a->regions.n == b->regions.n &&
              memcmp(a->bytes.data, b->bytes.data, a->bytes.n) == 0;
  for (size_t i = 0; same && i < a->regions.n; i++) {
    const wk_image *x = &a->regions.data[i], *y = &b->regions.data[i];
    same = !strcmp(x->name, y->name) && x->address == y->address && x->size == y->size &&
           x->is_output == y->is_output && !x->data == !y->data &&
           (!x->data || !memcmp(x->data, y->data, x->size));
  }
  if (!same) fail_msg("differs from what it was:\n%s", text);
}

static void draw_regions(wk_rng *r, wk_stream *s) {
  uint64_t at = (uint64_t)draw(r, 0, 5000);
  for (int64_t i = draw(r, 0, 4); i > 0; i--) {
    char name[16];
    wk_image *region;
    uint8_t *data;
    uint64_t size = (uint64_t)draw(r, 1, 200);
    snprintf(name, sizeof name, "m%d", (int)i);
    assert_null(wk_stream_region(s, name, at, size, &region));
    at += size + (uint64_t)draw(r, 0, 1) * (uint64_t)draw(r, 0, 300);
    region->is_output = draw(r, 0, 1);
    if (!draw(r, 0, 2)) continue;
    assert_null(wk_region_fill(region, &data));
    for (uint64_t k = 0; k < size; k++) data[k] = draw(r, 0, 3) ? 0 : (uint8_t)draw(r, 0, 255);
  }
}

/* is_wild: any bits now and then. */
static wk_stream *draw_stream(wk_rng *r, bool is_wild) {
  wk_machine m = draw_machine(r);
  wk_stream *s = wk_stream_new(&m, "random");
  draw_regions(r, s);
  for (int64_t i = draw(r, 0, 30); i > 0;) {
    uint8_t bytes[WK_COMMAND_BYTES];
    wk_isa_fault f;
    int opcode = wk_isa_commands[draw(r, 0, (int64_t)wk_isa_commands_count - 2)].opcode;
    wk_isa_command c = draw_command(r, &m, opcode);
    for (int q = 0; q < wk_machine_queues(&m); q++)
      if (draw(r, 0, 3) == 0) wk_isa_wait(&c, q, (uint32_t)draw(r, 0, s->issued[q]));
    if (!is_wild && wk_isa_find_fault(&m, &c, s->issued, &f)) continue;
    i--;
    wk_isa_encode(&c, bytes);
    if (is_wild && draw(r, 0, 4) == 0) bytes[draw(r, 0, 63)] ^= (uint8_t)(1 << draw(r, 0, 7));
    if (is_wild && draw(r, 0, 9) == 0)
      for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (uint8_t)draw(r, 0, 255);
    assert_null(wk_stream_add_bytes(s, bytes, (uint32_t)draw(r, 0, 100)));
  }
  wk_isa_command end = wk_isa_command_default(&m, WK_CMD_END);
  assert_null(wk_stream_add(s, &end, 0));
  assert_null(wk_stream_finish(s));
  return s;
}

static void text_and_back(void **state) {
  wk_rng r = {4};
  (void)state;
  for (int round = 0; round < 1500; round++) {
    bool is_wild = round % 3 == 0;
    wk_stream *s = draw_stream(&r, is_wild), *back;
    wk_str text = {0};
    const wk_asm_options o = {.machine = round % 2 ? &s->machine : NULL, .unchecked = is_wild};
    wk_disasm(&text, s, WK_DISASM_ALL);
    wk_status status = wk_asm(text.s, text.n, "own", NULL, &o, &back);
    if (status) fail_msg("%s: %s in\n%s", status->place, status->message, text.s);
    expect_equal(s, back, text.s);
    wk_stream_free(back);
    wk_stream_free(s);
    wk_str_free(&text);
  }
}

static void write_to(const wk_stream *s, wk_file *out) {
  char path[] = "/tmp/wick-stream-XXXXXX";
  wk_out *o;
  close(mkstemp(path));
  assert_null(wk_out_open(path, &o));
  wk_stream_write(s, o);
  assert_null(wk_out_commit(o));
  assert_null(wk_file_map(path, out));
  unlink(path);
}

static void file_and_back(void **state) {
  wk_rng r = {5};
  (void)state;
  for (int round = 0; round < 60; round++) {
    wk_stream *s = draw_stream(&r, round % 2), *back;
    wk_file f;
    write_to(s, &f);
    wk_status status = wk_stream_read_memory(f.data, f.size, &back);
    if (status) fail_msg("%s", status->message);
    expect_equal(s, back, "file");
    assert_memory_equal(s->lines.data, back->lines.data, s->n * 4);
    assert_string_equal(s->machine.name, back->machine.name);
    assert_true(wk_machine_hash(&s->machine) == wk_machine_hash(&back->machine));
    wk_stream_free(back);
    wk_file_unmap(&f);
    wk_stream_free(s);
  }
}

/* Any flipped byte, any cut. */
static void damage_is_seen(void **state) {
  wk_rng r = {6};
  (void)state;
  wk_stream *s = draw_stream(&r, false), *back;
  wk_file f;
  write_to(s, &f);
  uint8_t *copy = wk_xmalloc(f.size);
  memcpy(copy, f.data, f.size);
  for (size_t i = 0; i < f.size; i++) {
    copy[i] ^= 0x10;
    wk_status status = wk_stream_read_memory(copy, f.size, &back);
    if (!status) fail_msg("byte %zu", i);
    wk_status_free(status);
    copy[i] ^= 0x10;
    status = wk_stream_read_memory(copy, i, &back);
    if (!status) fail_msg("cut at %zu", i);
    wk_status_free(status);
  }
  free(copy);
  wk_file_unmap(&f);
  wk_stream_free(s);
}

/* ---- damage that checksums do not show ------------------------------------------------------- */

/* The header of a stream's file: sections of 24 bytes from SECTIONS on, as stream_file.c says. */
enum { VERSION = 8, HEADER_SIZE = 12, FILE_SIZE = 16, MACHINE_HASH = 24, SECTION_COUNT = 32 };
enum { HEADER_CRC = 36, SECTIONS = 40, HEADER = 208 };
enum { META, LINES = 3, REGIONS, STRINGS, N_SECTIONS = 7 };
enum { REGION_RESERVED = 12, REGION_SIZE = 24, REGION = 32 };

static uint64_t get64(const uint8_t *at) {
  uint64_t v;
  memcpy(&v, at, sizeof v);
  return v;
}

static uint8_t *section_of(uint8_t *file, int i) { return file + SECTIONS + i * 24; }

static void put_crc(uint8_t *at, const uint8_t *data, uint64_t size) {
  uint32_t crc = wk_crc32c(0, data, (size_t)size);
  memcpy(at, &crc, sizeof crc);
}

static void seal(uint8_t *file) {
  for (int i = 0; i < N_SECTIONS; i++) {
    uint8_t *s = section_of(file, i);
    put_crc(s + 16, file + get64(s), get64(s + 8));
  }
  memset(file + HEADER_CRC, 0, 4);
  put_crc(file + HEADER_CRC, file, HEADER);
}

static void sealed_damage_is_seen(void **state) {
  static const struct {
    int section, at; /* section -1: the header; at -1: the section's size, less `by`; -2: what
                      * was cut off stays behind it */
    uint8_t by;
    const char *message;
  } cases[] = {
      {LINES, -1, 4, "is damaged: LINES has another length than COMMANDS"},
      {REGIONS, REGION + REGION_RESERVED, 1, "is damaged: memory 1"},
      {REGIONS, REGION + 4, 8, "is damaged: memory 1"}, /* an unknown flag */
      {REGIONS, 0, 0x80, "is damaged: memory 0"}, /* a name behind the texts */
      {REGIONS, REGION + REGION_SIZE, 3, "is damaged: the image of 'two' is cut off"},
      {-1, MACHINE_HASH, 1, "is of another version of Wick: its machine 'base' has hash "},
      {-1, VERSION, 8, "is of version "},
      {-1, HEADER_SIZE, 8, "is of version "},
      {-1, SECTION_COUNT, 8, "is of version "},
      {-1, FILE_SIZE, 8, "has "},
      {-1, SECTIONS + 20, 1, "is damaged: section META does not fit in"},
      {-1, SECTIONS + 24, 8, "is damaged: section MACHINE does not fit in"},
      {LINES, -1, 3, "is damaged: section LINES does not fit in"},
      {LINES, -2, 4, "is damaged: a gap is not zero"},
      {META, -1, 24, "is damaged: section MACHINE does not fit in"},
      {META, -2, 256 - 24, "is damaged: its sections do not fit together"}, /* of two rows */
      {STRINGS, -1, 1, "is damaged: its sections do not fit together"},
      {META, 0, 0x80, "is damaged: a text is missing"},
      {META, 4, 0x80, "is damaged: a text is missing"},
      {META, 12, 1, "is damaged: an address beyond 32 bits"},
      {META, 20, 1, "is damaged: an address beyond 32 bits"},
      {REGIONS, REGION + 4, 1, "is damaged: bytes behind the images"}, /* one has no image */
  };
  wk_stream *s = assemble(".memory one 0 8\n.random one 1\n.memory two 64 8\n.random two 2\n"
                          "mark\nend\n");
  wk_stream *back;
  wk_file f;
  (void)state;
  write_to(s, &f);
  uint8_t *copy = wk_xmalloc(f.size);
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    memcpy(copy, f.data, f.size);
    uint8_t *section = cases[i].section < 0 ? NULL : section_of(copy, cases[i].section);
    if (cases[i].at < 0) {
      section[8] -= cases[i].by;
      if (cases[i].at == -1) /* a gap */
        memset(copy + get64(section) + get64(section + 8), 0, cases[i].by);
    }
    if (cases[i].at >= 0) (section ? copy + get64(section) : copy)[cases[i].at] ^= cases[i].by;
    seal(copy);
    wk_status status = wk_stream_read_memory(copy, f.size, &back);
    if (!status) fail_msg("taken, not: %s", cases[i].message);
    if (strncmp(status->message, cases[i].message, strlen(cases[i].message)))
      fail_msg("%s, not: %s", status->message, cases[i].message);
    wk_status_free(status);
  }
  memcpy(copy, f.data, f.size);
  seal(copy);
  assert_memory_equal(copy, f.data, f.size);
  free(copy);
  wk_file_unmap(&f);
  wk_stream_free(s);
}

static void other_machines_are_refused(void **state) {
  wk_machine base, tiny;
  wk_stream *s = assemble("end\n");
  (void)state;
  assert_null(wk_machine_read("base", &base));
  assert_null(wk_machine_read("tiny", &tiny));
  assert_null(wk_stream_fits(s, &base));
  base.dram_latency = 500; /* no hardware */
  assert_null(wk_stream_fits(s, &base));
  wk_status status = wk_stream_fits(s, &tiny);
  assert_non_null(status);
  assert_non_null(strstr(status->message, "is for machine 'base', not 'tiny': array is 16, not 8"));
  wk_status_free(status);
  wk_stream_free(s);
}

static void one_command_as_text(void **state) {
  wk_machine m;
  wk_str b = {0};
  (void)state;
  wk_machine_defaults(&m);
  wk_isa_command c = wk_isa_command_default(&m, WK_CMD_MAP);
  c.queue = WK_QUEUE_ve;
  c.v[WK_MAP_fn] = WK_CHOICE_MAP_table;
  c.v[WK_MAP_a] = 0x40;
  wk_isa_wait(&c, WK_QUEUE_ex, 3);
  wk_disasm_command(&b, &m, &c);
  assert_string_equal(b.s, "map fn=table a=0x40 out=0x0 wait ex:3");
  wk_str_free(&b);
}

/* What the assembler could not have written: bits of no field. */
static void a_raw_command_as_text(void **state) {
  wk_machine m;
  wk_str b = {0};
  uint8_t bytes[WK_COMMAND_BYTES];
  wk_isa_command back;
  (void)state;
  wk_machine_defaults(&m);
  wk_isa_command c = wk_isa_command_default(&m, WK_CMD_MAP);
  c.queue = WK_QUEUE_ex; /* which has no such command */
  wk_disasm_command(&b, &m, &c);
  assert_memory_equal(b.s, ".raw 0x", 7);
  const char *at = b.s + 4;
  for (size_t i = 0; i < WK_COMMAND_BYTES; i += 4) {
    uint32_t word = (uint32_t)strtoul(at, (char **)(uintptr_t)&at, 16);
    memcpy(bytes + i, &word, 4);
  }
  assert_int_equal(*at, 0);
  assert_true(wk_isa_decode(bytes, &back));
  assert_memory_equal(&back, &c, sizeof c);
  wk_str_free(&b);
}

/* The text names all that another machine's stream depends on, as a machine file has it. */
static void an_own_machine_as_text(void **state) {
  wk_machine m, back;
  wk_str b = {0}, file = {0};
  (void)state;
  static const char own[] = "array = 8;\nload_channels = 1;\n";
  assert_null(wk_machine_parse(own, strlen(own), "base", &m)); /* but not its hardware */
  wk_stream *s = assemble_with("end\n", &(wk_asm_options){.machine = &m, .unchecked = true});
  wk_disasm(&b, s, WK_DISASM_ALL);
  static const char head[] = "; assemble it for machine 'base': ";
  char *at = strstr(b.s, head), *end = at ? strchr(at, '\n') : NULL;
  assert_non_null(end);
  *end = 0;
  for (char *key = strtok(at + strlen(head), " "); key; key = strtok(NULL, " "))
    wk_str_printf(&file, "%s;\n", key);
  wk_status status = wk_machine_parse(file.s, file.n, "m", &back);
  if (status) fail_msg("%s: %s", status->message, file.s);
  assert_true(wk_machine_hash(&back) == wk_machine_hash(&m));
  wk_str_free(&file);
  wk_str_free(&b);
  wk_stream_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions), cmocka_unit_test(signs_separate_values),
      cmocka_unit_test(loops), cmocka_unit_test(waits), cmocka_unit_test(memory),
      cmocka_unit_test(chosen_addresses), cmocka_unit_test(records), cmocka_unit_test(files),
      cmocka_unit_test(refuses), cmocka_unit_test(limits), cmocka_unit_test(text_and_back),
      cmocka_unit_test(file_and_back), cmocka_unit_test(damage_is_seen),
      cmocka_unit_test(sealed_damage_is_seen), cmocka_unit_test(other_machines_are_refused),
      cmocka_unit_test(one_command_as_text), cmocka_unit_test(a_raw_command_as_text),
      cmocka_unit_test(an_own_machine_as_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
