/* SPDX-License-Identifier: Apache-2.0
 * What whoever loads a package may ask for: a verifier, no native code, a limit of memory, that
 * everything is verified and nothing run. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/internal.h"
#include "sim/device.h"
#include "tests/accel_package.h"
#include "tests/accel_streams.h"
#include "tests/unit/opencl_package.h"
#include "tests/unit/tiny_package.h"

#if defined __SANITIZE_ADDRESS__
enum { PEAK = 4096 }; /* MiB; memory has a shadow */
#else
enum { PEAK = 512 };
#endif

typedef struct {
  uint8_t *data;
  size_t size;
} bytes;

static bytes bytes_of(wk_package *p) {
  void *data;
  bytes b;
  assert_null(wk_package_bytes(p, &data, &b.size));
  wk_package_free(p);
  b.data = data;
  return b;
}

static wick_status load(const bytes *b, wick_load_options o, wick_model **model,
                        wick_error_detail *why) {
  o.size = sizeof o;
  o.detail = why;
  return wick_model_load_memory(b->data, b->size, &o, model);
}

static void expect_status(const bytes *b, wick_load_options o, wick_status wanted,
                          const char *text) {
  wick_error_detail why;
  wick_model *model;
  wick_status status = load(b, o, &model, &why);
  if (status != wanted) fail_msg("%s: %s", wick_status_text(status), why.text);
  if (text && !strstr(why.text, text)) fail_msg("%s", why.text);
  if (status == WICK_OK) wick_model_free(model);
}

static void expect_run(wick_model *model) {
  static _Alignas(64) float x[4] = {1, 2, 3, 4}, y[4];
  static int32_t i[TINY_N];
  wick_session *s;
  assert_int_equal(wick_session_create(model, 0, 1, &s), WICK_OK);
  assert_int_equal(wick_session_run(s, (const void *[]){x}, (void *[]){y, i}), WICK_OK);
  for (int k = 0; k < 4; k++)
    assert_true(y[k] == (x[k] + tiny_consts[k]) * (x[k] + tiny_consts[k]));
  for (int k = 0; k < TINY_N; k++) assert_int_equal(i[k], k);
  wick_session_free(s);
}

/* ---- a verifier ------------------------------------------------------------------------------ */

typedef struct {
  const uint8_t *data; /* what the pieces must be */
  size_t size;
  uint8_t *spoilt;  /* NULL, or memory that changes when the verifier has seen it */
  const char *file; /* the same of a file */
  int calls;
  wick_status says;
} watching;

static void spoil(const watching *w) {
  uint8_t junk[256];
  memset(junk, 0xcc, sizeof junk); /* int3 */
  if (w->spoilt) memset(w->spoilt, 0xcc, w->size);
  int fd = w->file ? open(w->file, O_WRONLY) : -1;
  for (size_t at = 0; fd >= 0 && at < w->size; at += sizeof junk)
    assert_true(pwrite(fd, junk, sizeof junk, (off_t)at) == sizeof junk);
  if (fd >= 0) close(fd);
}

static wick_status watch(void *user, const wick_piece *pieces, uint32_t count,
                         wick_error_detail *detail) {
  watching *w = user;
  size_t at = 0;
  w->calls++;
  assert_string_equal(pieces[0].name, "HEADER");
  assert_int_equal(pieces[0].offset, 0);
  for (uint32_t i = 0; i < count; i++) {
    const wick_piece *p = &pieces[i];
    for (; at < p->offset; at++) assert_int_equal(w->data[at], 0);
    assert_int_equal(at, p->offset);
    assert_memory_equal(p->data, w->data + at, p->size);
    at += p->size;
    if (w->spoilt)
      assert_true((const uint8_t *)p->data + p->size <= w->spoilt ||
                  (const uint8_t *)p->data >= w->spoilt + w->size);
  }
  assert_int_equal(at, w->size);
  snprintf(detail->text, sizeof detail->text, "as the verifier says");
  spoil(w);
  return w->says;
}

/* The whole package is shown, once, and what was shown is what runs, whatever becomes of the file
 * or of the caller's memory. */
static void what_was_verified_is_used(void **state) {
  bytes b = bytes_of(tiny_package(""));
  char path[] = "/tmp/wick-load-XXXXXX";
  (void)state;
  for (int k = 0; k < 3; k++) {
    uint8_t *copy = aligned_alloc(64, (b.size + 127) / 64 * 64);
    uint8_t *at = copy + k; /* aligned, and not */
    wick_error_detail why;
    wick_model *model;
    memcpy(at, b.data, b.size);
    watching w = {.data = b.data, .size = b.size, .spoilt = at};
    const bytes c = {at, b.size};
    assert_int_equal(load(&c, (wick_load_options){.verifier = watch, .user = &w}, &model, &why),
                     WICK_OK);
    assert_int_equal(w.calls, 1);
    expect_run(model);
    wick_model_free(model);
    free(copy);
  }
  int fd = mkstemp(path);
  assert_true(fd >= 0 && write(fd, b.data, b.size) == (ssize_t)b.size);
  close(fd);
  watching w = {.data = b.data, .size = b.size, .file = path};
  wick_model *model;
  const wick_load_options o = {.size = sizeof o, .verifier = watch, .user = &w};
  assert_int_equal(wick_model_load(path, &o, &model), WICK_OK);
  expect_run(model);
  wick_model_free(model);
  unlink(path);
  free(b.data);
}

static void verifiers_refuse(void **state) {
  bytes b = bytes_of(tiny_package(""));
  wick_pkg_section *section = (wick_pkg_section *)(b.data + sizeof(wick_pkg_header));
  (void)state;
  watching w = {.data = b.data, .size = b.size, .says = WICK_REFUSED};
  const wick_load_options o = {.verifier = watch, .user = &w};
  expect_status(&b, o, WICK_REFUSED, "as the verifier says");
  w.says = WICK_CANNOT_READ; /* whatever it says */
  expect_status(&b, o, WICK_CANNOT_READ, "as the verifier says");
  w.says = WICK_REFUSED; /* before anything else is looked at */
  b.data[section[WICK_SECTION_PARTS - 1].offset + 4] = 99;
  expect_status(&b, o, WICK_REFUSED, "as the verifier says");
  w.says = WICK_OK;
  expect_status(&b, o, WICK_CORRUPT, "checksum of section 2 (PARTS) differs");
  assert_int_equal(w.calls, 4);
  free(b.data);
}

static wick_status agree(void *user, const wick_piece *pieces, uint32_t count,
                         wick_error_detail *detail) {
  (void)user, (void)pieces, (void)count, (void)detail;
  return WICK_OK;
}

static void gaps_are_zeros(void **state) {
  bytes b = bytes_of(tiny_package(""));
  wick_pkg_section *section = (wick_pkg_section *)(b.data + sizeof(wick_pkg_header));
  size_t code = 0;
  (void)state;
  while (section[code].kind != WICK_SECTION_CODE) code++;
  b.data[section[code].offset - 1] = 1;
  expect_status(&b, (wick_load_options){.flags = WICK_LOAD_UNCHECKED, .verifier = agree},
                WICK_CORRUPT, "is not zero");
  free(b.data);
}

/* ---- the accelerator's packages -------------------------------------------------------------- */

typedef struct {
  uint64_t work, tensors; /* 0: as they are */
  int64_t spoilt;         /* a command whose bytes are junk; -1: none */
} accel_change;

static bytes accel_bytes(const accel_change *c) {
  static const char *const texts[] = {accel_product, accel_copy};
  accel_unit_data u = {0};
  uint32_t row[ACCEL_PARTS_MAX];
  wk_package *p = wk_package_new(&(wk_package_meta){.model = "accel_test"});
  wk_stream *s[2]; /* parts have the names of their regions */
  for (int i = 0; i < 2; i++) {
    assert_null(wk_asm(texts[i], strlen(texts[i]), "test.s", NULL, NULL, &s[i]));
    accel_add_part(&u, s[i]);
  }
  if (c->work) u.parts.data[1].work_bytes = c->work;
  if (c->tensors) u.parts.data[0].tensor_bytes = c->tensors;
  if (c->spoilt >= 0) memset(u.commands.data + 64 * c->spoilt, 0xff, 64);
  accel_put_unit(&u, p, row);
  accel_put_chain(&u, p, row);
  bytes b = bytes_of(p);
  accel_unit_free(&u);
  for (int i = 0; i < 2; i++) wk_stream_free(s[i]);
  return b;
}

static const accel_change unchanged = {.spoilt = -1};

/* ---- native code ----------------------------------------------------------------------------- */

static void native_code_is_refused(void **state) {
  static ocl_plan plan;
  const wick_load_options none = {.flags = WICK_LOAD_NO_NATIVE_CODE};
  const wick_load_options shown = {.flags = WICK_LOAD_NO_NATIVE_CODE | WICK_LOAD_DESCRIBE};
  wick_error_detail why;
  wick_model *model;
  (void)state;
  ocl_fill(&plan);
  bytes tiny = bytes_of(tiny_package("")), cl = bytes_of(ocl_package(&plan)),
        accel = accel_bytes(&unchanged);
  expect_status(&tiny, none, WICK_REFUSED, "unit 0, target 'cpu', brings native code, which this "
                "program does not run");
  expect_status(&tiny, shown, WICK_REFUSED, "brings native code");
  expect_status(&cl, none, WICK_REFUSED, "unit 0, target 'opencl', brings native code");
  expect_status(&accel, none, WICK_OK, NULL);
  const bytes *all[] = {&tiny, &cl, &accel};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(load(all[i], (wick_load_options){.flags = WICK_LOAD_DESCRIBE}, &model, &why),
                     WICK_OK);
    assert_int_equal(wick_model_describe(model)->has_native_code, i < 2);
    wick_model_free(model);
  }
  free(tiny.data), free(cl.data), free(accel.data);
}

/* Code of another target is code, too: it is what CODE is for. */
static void foreign_code_is_refused(void **state) {
  bytes b = bytes_of(tiny_package(""));
  wick_pkg_section *section = (wick_pkg_section *)(b.data + sizeof(wick_pkg_header));
  wick_pkg_unit *unit = (wick_pkg_unit *)(b.data + section[WICK_SECTION_UNITS - 1].offset);
  (void)state;
  unit->target = 0; /* "" */
  expect_status(&b, (wick_load_options){.flags = WICK_LOAD_UNCHECKED | WICK_LOAD_NO_NATIVE_CODE},
                WICK_REFUSED, "unit 0, target '', brings native code");
  free(b.data);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void run_accel(wick_model *model) {
  static _Alignas(64) uint8_t x[1024], y[1024];
  wick_session *s;
  assert_int_equal(wick_session_create(model, 0, 1, &s), WICK_OK);
  assert_int_equal(wick_session_run(s, (const void *[]){x}, (void *[]){y}), WICK_OK);
  wick_session_free(s);
}

static long peak_megabytes(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_maxrss >> 10;
}

/* What a package asks for is held against what there is, before anything is allocated; what it asks
 * for and does not use is not taken. */
static void memory_is_limited(void **state) {
  const uint64_t much = UINT64_C(6) << 30, more = (UINT64_C(1) << 40) - 64;
  const uint64_t there = wick_machine_memory();
  wick_error_detail why;
  wick_model *model;
  (void)state;
  const struct {
    accel_change change;
    uint64_t limit;
    bool fits;
  } cases[] = {{{.work = much, .spoilt = -1}, 1 << 30, false},
               {{.tensors = much, .spoilt = -1}, 1 << 30, false},
               {{.work = 1 << 20, .spoilt = -1}, (1 << 20) - 1, false},
               {{.work = 1 << 20, .spoilt = -1}, 1 << 20, true},
               {{.work = 1 << 20, .tensors = 1 << 19, .spoilt = -1}, (3 << 19) - 1, false},
               {{.work = 1 << 20, .tensors = 1 << 19, .spoilt = -1}, 3 << 19, true},
               {{.work = more, .spoilt = -1}, 0, more <= there},
               {{.tensors = more, .spoilt = -1}, 0, more <= there},
               {{.work = more, .spoilt = -1}, UINT64_MAX, more <= there},
               {{.work = much, .spoilt = -1}, 0, much <= there},
               {{.tensors = much, .spoilt = -1}, 0, much <= there}};
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    bytes b = accel_bytes(&cases[i].change);
    const wick_load_options o = {.memory_limit = cases[i].limit};
    wick_status status = load(&b, o, &model, &why);
    if (status != (cases[i].fits ? WICK_OK : WICK_NO_MEMORY))
      fail_msg("case %zu: %s: %s", i, wick_status_text(status), why.text);
    if (status == WICK_OK) {
      run_accel(model);
      wick_model_free(model);
    } else if (!strstr(why.text, "are the most that there may be")) {
      fail_msg("case %zu: %s", i, why.text);
    }
    free(b.data);
  }
  assert_true(peak_megabytes() < PEAK);
}

static void sessions_are_limited(void **state) {
  bytes b = bytes_of(tiny_package(""));
  wick_pkg_section *section = (wick_pkg_section *)(b.data + sizeof(wick_pkg_header));
  wick_pkg_part *part = (wick_pkg_part *)(b.data + section[WICK_SECTION_PARTS - 1].offset);
  wick_error_detail why;
  wick_model *model;
  wick_session *s;
  (void)state;
  part->scratch_bytes = 1 << 20;
  part->arena_bytes = 1 << 20;
  const wick_load_options o = {.flags = WICK_LOAD_UNCHECKED, .memory_limit = 4 << 20};
  assert_int_equal(load(&b, o, &model, &why), WICK_OK);
  for (uint32_t threads = 1; threads <= 4; threads++) {
    const wick_session_options so = {.size = sizeof so, .threads = threads, .detail = &why};
    wick_status status = wick_session_create_with(model, 0, &so, &s);
    assert_int_equal(status, threads < 4 ? WICK_OK : WICK_NO_MEMORY);
    if (status == WICK_OK) wick_session_free(s);
    else assert_string_equal(why.text, "the package asks for 5242880 bytes of memory; 4194304 are "
                                       "the most that there may be");
  }
  wick_model_free(model);
  part->arena_bytes = UINT64_C(1) << 46; /* beyond every machine */
  assert_int_equal(load(&b, (wick_load_options){.flags = WICK_LOAD_UNCHECKED}, &model, &why),
                   WICK_OK);
  assert_int_equal(wick_session_create(model, 0, 1, &s), WICK_NO_MEMORY);
  wick_model_free(model);
  free(b.data);
}

/* Bytes are copied where a verifier looks at them, or where they are not aligned. */
static void copies_are_limited(void **state) {
  bytes b = bytes_of(tiny_package(""));
  uint8_t *shifted = aligned_alloc(64, (b.size + 127) / 64 * 64);
  (void)state;
  memcpy(shifted + 1, b.data, b.size);
  const bytes c = {shifted + 1, b.size};
  expect_status(&b, (wick_load_options){.verifier = agree, .memory_limit = b.size - 1},
                WICK_NO_MEMORY, "the package asks for");
  expect_status(&b, (wick_load_options){.verifier = agree, .memory_limit = b.size}, WICK_OK, NULL);
  expect_status(&c, (wick_load_options){.memory_limit = b.size - 1}, WICK_NO_MEMORY,
                "the package asks for");
  free(shifted);
  free(b.data);
}

/* ---- everything is verified ------------------------------------------------------------------ */

static void sections_of_targets_are_verified(void **state) {
  static ocl_plan plan;
  const wick_load_options verify = {.flags = WICK_LOAD_VERIFY};
  const wick_load_options shown = {.flags = WICK_LOAD_DESCRIBE};
  (void)state;
  bytes good = accel_bytes(&unchanged), bad = accel_bytes(&(accel_change){.spoilt = 3});
  expect_status(&good, verify, WICK_OK, NULL);
  expect_status(&bad, shown, WICK_OK, NULL);
  expect_status(&bad, verify, WICK_CORRUPT, "section commands: command 3");
  free(good.data), free(bad.data);
  ocl_fill(&plan);
  good = bytes_of(ocl_package(&plan));
  plan.buffers[B_T].offset = 1 << 20;
  bad = bytes_of(ocl_package(&plan));
  expect_status(&good, verify, WICK_OK, NULL);
  expect_status(&bad, shown, WICK_OK, NULL);
  expect_status(&bad, verify, WICK_CORRUPT, "section 'buffers', row 3");
  free(good.data), free(bad.data);
}

static void seal(bytes *b, uint32_t kind) {
  wick_pkg_header *h = (wick_pkg_header *)b->data;
  wick_pkg_section *section = (wick_pkg_section *)(b->data + sizeof *h);
  wick_pkg_section *s = &section[kind - 1];
  s->crc = wick_crc32c(0, b->data + s->offset, s->size);
  h->crc = 0;
  h->crc = wick_crc32c(0, h, sizeof *h + h->section_count * sizeof *section);
}

static void verified_models_do_not_run(void **state) {
  bytes b = bytes_of(tiny_package("no-such-feature"));
  wick_pkg_section *section = (wick_pkg_section *)(b.data + sizeof(wick_pkg_header));
  wick_pkg_unit *unit = (wick_pkg_unit *)(b.data + section[WICK_SECTION_UNITS - 1].offset);
  wick_error_detail why;
  wick_model *model;
  wick_session *s;
  (void)state;
  assert_int_equal(load(&b, (wick_load_options){.flags = WICK_LOAD_VERIFY}, &model, &why),
                   WICK_OK); /* another machine's */
  assert_int_equal(wick_session_create(model, 0, 1, &s), WICK_BAD_MACHINE);
  wick_model_free(model);
  unit->target = unit->features; /* whose sections nobody knows */
  const wick_load_options verify = {.flags = WICK_LOAD_VERIFY | WICK_LOAD_UNCHECKED};
  expect_status(&b, verify, WICK_CORRUPT, "checksum of section"); /* everything is verified */
  seal(&b, WICK_SECTION_UNITS);
  expect_status(&b, verify, WICK_NO_DEVICE, "needs target 'no-such-feature'");
  free(b.data);
}

int main(void) {
  assert_int_equal(wick_device_register(wk_sim_device()), WICK_OK);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_verified_is_used), cmocka_unit_test(verifiers_refuse),
      cmocka_unit_test(gaps_are_zeros), cmocka_unit_test(native_code_is_refused),
      cmocka_unit_test(foreign_code_is_refused), cmocka_unit_test(memory_is_limited),
      cmocka_unit_test(sessions_are_limited), cmocka_unit_test(copies_are_limited),
      cmocka_unit_test(sections_of_targets_are_verified),
      cmocka_unit_test(verified_models_do_not_run)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
