/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/support/support.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/open_files.h"

static int open_before;

/* A fresh folder per test, emptied and removed by its teardown, which also sees to it that no file
 * stays open. */
static int make_folder(void **state) {
  char name[] = "/tmp/wick-support-XXXXXX";
  open_before = open_files();
  if (!mkdtemp(name)) return -1;
  *state = strdup(name);
  return 0;
}

static int entries(const char *folder) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
  closedir(d);
  return n;
}

static int remove_folder(void **state) {
  char *command;
  assert_int_equal(open_files(), open_before);
  if (asprintf(&command, "rm -rf '%s'", (char *)*state) < 0) return -1;
  int rc = system(command);
  free(command);
  free(*state);
  return rc;
}

static char *join(const char *folder, const char *name) {
  static char path[16][128];
  static int next;
  char *p = path[next++ & 15];
  assert_true(strlen(folder) + strlen(name) + 2 <= sizeof path[0]);
  stpcpy(stpcpy(stpcpy(p, folder), "/"), name);
  return p;
}

static void assert_ok(wk_status s) {
  if (s) wk_status_print(stderr, s);
  assert_null(s);
}

static void assert_code(wk_status s, wk_code code, const char *needle) {
  assert_non_null(s);
  assert_int_equal(s->code, code);
  if (!strstr(s->message, needle)) fail_msg("'%s' lacks '%s'", s->message, needle);
  wk_status_free(s);
}

static void status_holds_place_and_notes(void **state) {
  (void)state;
  wk_status s = wk_error(WK_INPUT, "bad\ndim %d\x1b[31m", 7);
  s = wk_status_place(s, "model.onnx");
  s = wk_status_place(s, "ignored");
  s = wk_status_note(s, "while lowering %s", "Conv_3");
  s = wk_status_item(s, "one\x80");
  s = wk_status_item(s, "two\n");
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  wk_status_print(f, s);
  fclose(f);
  assert_string_equal(text,
                      "model.onnx: bad dim 7?[31m (while lowering Conv_3)\n  one?\n  two \n");
  free(text);
  assert_int_equal(s->code, WK_INPUT);
  assert_non_null(strstr(s->file, "test_support.c"));
  wk_status_free(s);
  wk_status_free(NULL);
  assert_null(wk_status_note(NULL, "x"));
  assert_null(wk_status_item(NULL, "x"));
  assert_null(wk_status_place(NULL, "x"));
}

static void text_is_cleaned(void **state) {
  (void)state;
  static const struct {
    const char *from, *to;
  } rows[] = {{"plain", "plain"},
              {"a\tb\nc\x1b[31m\x7f", "a b c?[31m?"},
              {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82", NULL},
              {"\xc3", "?"},                         /* cut off */
              {"\xc3(\x80", "?(?"},                 /* no continuation, nothing before it */
              {"\xc0\xaf \xe0\x80\xaf", "?? ???"},  /* longer than needed */
              {"\xed\xa0\x80", "???"},              /* a surrogate */
              {"\xf4\x90\x80\x80\xff", "?????"},    /* beyond Unicode */
              {"\xc2\x9b" "31m", "??31m"}};         /* the control sequence introducer */
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    char *s = wk_xstrdup(rows[i].from);
    wk_text_clean(s);
    assert_string_equal(s, rows[i].to ? rows[i].to : rows[i].from);
    free(s);
  }
}

static void arena_aligns_and_zeroes(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  for (int round = 0; round < 3; round++) {
    wk_rng r = {(uint64_t)round};
    size_t total = 0;
    for (int i = 0; i < 2000; i++) {
      size_t n = (size_t)wk_rng_range(&r, 0, i % 100 ? 200 : 50000);
      size_t align = (size_t)1 << wk_rng_range(&r, 0, 12);
      uint8_t *p = wk_arena_alloc_aligned(a, n, align);
      assert_int_equal((uintptr_t)p % (align < 16 ? 16 : align), 0);
      for (size_t k = 0; k < n; k++) assert_int_equal(p[k], 0);
      memset(p, 0xaa, n);
      total += n;
    }
    assert_int_equal(wk_arena_bytes(a), total);
    wk_arena_reset(a);
    assert_int_equal(wk_arena_bytes(a), 0);
  }
  wk_arena_free(a);
  wk_arena_free(NULL);
}

static void arena_survives_giant_then_reset(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  memset(wk_arena_alloc(a, 10 << 20), 1, 10 << 20);
  wk_arena_reset(a);
  char *p = wk_arena_alloc(a, 100);
  for (int i = 0; i < 100; i++) assert_int_equal(p[i], 0);
  wk_arena_free(a);
}

static void arena_copies_text(void **state) {
  (void)state;
  wk_arena *a = wk_arena_new();
  assert_string_equal(wk_arena_strdup(a, "abc"), "abc");
  assert_string_equal(wk_arena_strndup(a, "abcdef", 2), "ab");
  assert_string_equal(wk_arena_strndup(a, "ab", 9), "ab");
  char *long_text = wk_arena_printf(a, "%05000d|%s", 7, "end");
  assert_int_equal(strlen(long_text), 5004);
  int v[3] = {1, 2, 3};
  assert_memory_equal(wk_arena_memdup(a, v, sizeof v), v, sizeof v);
  wk_arena_free(a);
}

static void vec_grows(void **state) {
  (void)state;
  WK_VEC(uint32_t) v = {0};
  for (uint32_t i = 0; i < 1000; i++) wk_vec_push(&v, i * 3);
  assert_int_equal(v.n, 1000);
  for (uint32_t i = 0; i < 1000; i++) assert_int_equal(v.data[i], i * 3);
  wk_vec_free(&v);
  assert_null(v.data);
}

static void huge_allocation_is_a_status(void **state) {
  (void)state;
  void *p;
  assert_code(wk_try_malloc(SIZE_MAX, &p), WK_RESOURCE, "out of memory");
  assert_code(wk_try_malloc(SIZE_MAX / 4, &p), WK_RESOURCE, "out of memory");
  assert_ok(wk_try_malloc(1000, &p));
  assert_int_equal((uintptr_t)p % 64, 0);
  for (int i = 0; i < 1000; i++) assert_int_equal(((char *)p)[i], 0);
  free(p);
  assert_ok(wk_try_malloc(0, &p));
  assert_non_null(p);
  free(p);
}

static void str_builds(void **state) {
  (void)state;
  wk_str b = {0};
  wk_str_add(&b, "");
  assert_string_equal(b.s, "");
  for (int i = 0; i < 100; i++) wk_str_printf(&b, "%d,", i);
  assert_int_equal(b.n, strlen(b.s));
  assert_int_equal(b.n, 290);
  wk_str_printf(&b, "%0300d", 1);
  assert_int_equal(b.n, 590);
  wk_str_free(&b);
  wk_str_quote(&b, "a\"b\\c\nd\te\x01\xc3\xa9");
  assert_string_equal(b.s, "\"a\\\"b\\\\c\\nd\\te\\x01\\xc3\\xa9\"");
  wk_str_free(&b);
}

static void assert_f32(float v, const char *want) {
  wk_str b = {0};
  wk_str_f32(&b, v);
  assert_string_equal(b.s, want);
  wk_str_free(&b);
}

static void floats_read_well(void **state) {
  (void)state;
  assert_f32(0.0f, "0.0");
  assert_f32(-0.0f, "-0.0");
  assert_f32(224.0f, "224.0");
  assert_f32(-1.0f, "-1.0");
  assert_f32(0.1f, "0.1");
  assert_f32(1e-5f, "1e-05");
  assert_f32(1.5f, "1.5");
  assert_f32(INFINITY, "inf");
  assert_f32(-INFINITY, "-inf");
  assert_f32(NAN, "nan");
  assert_f32(-NAN, "nan");
  assert_f32(3.4028234663852886e38f, "3.4028235e+38");
  assert_f32(16777216.0f, "16777216.0");
  wk_str b = {0};
  wk_str_f64(&b, 0.1);
  wk_str_add(&b, " ");
  wk_str_f64(&b, 5e-324);
  wk_str_add(&b, " ");
  wk_str_f64(&b, 1.0 / 3.0);
  assert_string_equal(b.s, "0.1 5e-324 0.3333333333333333");
  wk_str_free(&b);
}

static void floats_round_trip(void **state) {
  (void)state;
  wk_rng r = {42};
  wk_str b = {0};
  for (int i = 0; i < 100000; i++) {
    uint64_t bits = wk_rng_next(&r);
    uint32_t low = (uint32_t)bits;
    float f, f2;
    double d, d2;
    memcpy(&f, &low, 4);
    memcpy(&d, &bits, 8);
    b.n = 0;
    wk_str_f32(&b, f);
    assert_non_null(strpbrk(b.s, ".en"));
    f2 = strtof(b.s, NULL);
    assert_true(isnan(f) ? isnan(f2) : memcmp(&f, &f2, 4) == 0);
    if (i % 4) continue;
    b.n = 0;
    wk_str_f64(&b, d);
    assert_non_null(strpbrk(b.s, ".en"));
    d2 = strtod(b.s, NULL);
    assert_true(isnan(d) ? isnan(d2) : memcmp(&d, &d2, 8) == 0);
  }
  wk_str_free(&b);
}

/* A locale with a decimal comma, made from the C.utf8 locale's file: its one '.' becomes ','. */
static bool make_comma_locale(const char *dir) {
  wk_file c;
  wk_status s = wk_file_map("/usr/lib/locale/C.utf8/LC_NUMERIC", &c);
  wk_status_free(s);
  if (s) return false;
  uint8_t *bytes = malloc(c.size), *dot;
  memcpy(bytes, c.data, c.size);
  uint32_t at;
  memcpy(&at, bytes + 8, 4);
  dot = at < c.size ? bytes + at : bytes;
  assert_int_equal(*dot, '.');
  *dot = ',';
  assert_int_equal(mkdir(join(dir, "comma"), 0700), 0);
  assert_ok(wk_write_file(join(dir, "comma/LC_NUMERIC"), bytes, c.size));
  wk_file_unmap(&c);
  free(bytes);
  setenv("LOCPATH", dir, 1);
  bool set = setlocale(LC_NUMERIC, "comma") != NULL;
  unsetenv("LOCPATH");
  return set;
}

static void floats_ignore_the_locale(void **state) {
  if (!make_comma_locale(*state)) skip(); /* no glibc locale file to start from */
  char text[8];
  snprintf(text, sizeof text, "%.2f", 1.25);
  assert_string_equal(text, "1,25");
  assert_f32(0.1f, "0.1");
  assert_f32(1.25f, "1.25");
  assert_string_equal(wk_bytes_text(1536).s, "1.5 KiB");
  setlocale(LC_NUMERIC, "C");
}

static void bytes_read_well(void **state) {
  (void)state;
  assert_string_equal(wk_bytes_text(0).s, "0 B");
  assert_string_equal(wk_bytes_text(940).s, "940 B");
  assert_string_equal(wk_bytes_text(1023).s, "1023 B");
  assert_string_equal(wk_bytes_text(1024).s, "1.0 KiB");
  assert_string_equal(wk_bytes_text(1024 * 1024 - 1).s, "1.0 MiB");
  assert_string_equal(wk_bytes_text(12897485).s, "12.3 MiB");
  assert_string_equal(wk_bytes_text(UINT64_MAX).s, "16.0 EiB");
}

static void nearest_finds_typos(void **state) {
  (void)state;
  static const char *const names[] = {"--target", "--threads", "--output", "-o", "Relu", "Conv"};
  size_t n = WK_COUNTOF(names);
  assert_string_equal(wk_nearest("--taget", names, n), "--target");
  assert_string_equal(wk_nearest("--traget", names, n), "--target");
  assert_string_equal(wk_nearest("--thraeds", names, n), "--threads");
  assert_string_equal(wk_nearest("relu", names, n), "Relu");
  assert_string_equal(wk_nearest("CONV", names, n), "Conv");
  assert_string_equal(wk_nearest("Conv", names, n), "Conv");
  assert_null(wk_nearest("zebra-crossing", names, n));
  assert_null(wk_nearest("", names, n));
  assert_null(wk_nearest("x", names, n));
  assert_null(wk_nearest("--target", names, 0));
  char giant[300];
  memset(giant, 'a', sizeof giant - 1);
  giant[sizeof giant - 1] = 0;
  assert_null(wk_nearest(giant, names, n));
}

static void dims_are_checked(void **state) {
  (void)state;
  int64_t p;
  assert_true(wk_dims_product((int64_t[]){2, 3, 4}, 3, &p));
  assert_int_equal(p, 24);
  assert_true(wk_dims_product(NULL, 0, &p));
  assert_int_equal(p, 1);
  assert_true(wk_dims_product((int64_t[]){INT64_MAX, 8, 0}, 3, &p));
  assert_int_equal(p, 0);
  assert_false(wk_dims_product((int64_t[]){INT64_MAX, 2}, 2, &p));
  assert_false(wk_dims_product((int64_t[]){2, -1}, 2, &p));
  assert_false(wk_dims_product((int64_t[]){0, -1}, 2, &p));
}

static void map_holds_many(void **state) {
  (void)state;
  wk_map *m = wk_map_new();
  static char keys[5000][8];
  uint32_t v;
  assert_false(wk_map_get(m, "k0", &v));
  for (uint32_t i = 0; i < 5000; i++) {
    snprintf(keys[i], sizeof keys[i], "k%u", i);
    wk_map_put(m, keys[i], i);
  }
  wk_map_put(m, "k17", 99);
  wk_map_put(m, "", 5);
  for (uint32_t i = 0; i < 5000; i++) {
    assert_true(wk_map_get(m, keys[i], &v));
    assert_int_equal(v, i == 17 ? 99 : i);
  }
  assert_true(wk_map_get(m, "", &v));
  assert_int_equal(v, 5);
  assert_false(wk_map_get(m, "k5000", &v));
  wk_map_free(m);
  wk_map_free(NULL);
}

static uint32_t crc_bitwise(const uint8_t *p, size_t n) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < n; i++) {
    crc ^= p[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

static void crc32c_known_vectors(void **state) {
  (void)state;
  assert_int_equal(wk_crc32c(0, "123456789", 9), 0xe3069283);
  assert_int_equal(wk_crc32c(0, "", 0), 0);
  uint8_t bytes[32] = {0};
  assert_int_equal(wk_crc32c(0, bytes, 32), 0x8a9136aa); /* RFC 3720, B.4 */
  memset(bytes, 0xff, 32);
  assert_int_equal(wk_crc32c(0, bytes, 32), 0x62a8ab43);
}

static void crc32c_matches_its_definition(void **state) {
  (void)state;
  wk_rng r = {3};
  uint8_t data[300];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)wk_rng_next(&r);
  for (size_t n = 0; n < 280; n++) {
    size_t cut = n / 3;
    assert_int_equal(wk_crc32c(0, data + n % 16, n), crc_bitwise(data + n % 16, n));
    assert_int_equal(wk_crc32c(wk_crc32c(0, data, cut), data + cut, n - cut),
                     wk_crc32c(0, data, n));
  }
}

static void rng_is_fixed_and_fair(void **state) {
  (void)state;
  wk_rng r = {0};
  assert_true(wk_rng_next(&r) == UINT64_C(0xe220a8397b1dcdaf)); /* published first output */
  double sum = 0, squares = 0;
  int seen[7] = {0};
  for (int i = 0; i < 100000; i++) {
    double u = wk_rng_unit(&r), z = (double)wk_rng_normal(&r);
    assert_true(u >= 0 && u < 1);
    sum += z;
    squares += z * z;
    int64_t k = wk_rng_range(&r, -3, 3);
    assert_true(k >= -3 && k <= 3);
    seen[k + 3]++;
  }
  assert_true(fabs(sum / 1e5) < 0.02);
  assert_true(fabs(squares / 1e5 - 1) < 0.02);
  for (int i = 0; i < 7; i++) assert_in_range(seen[i], 13500, 15100);
  assert_true(wk_rng_range(&r, 5, 5) == 5);
  (void)wk_rng_range(&r, INT64_MIN, INT64_MAX);
}

static void file_maps(void **state) {
  const char *dir = *state;
  char *path = join(dir, "a");
  wk_file f;
  assert_ok(wk_write_file(path, "hello", 5));
  assert_ok(wk_file_map(path, &f));
  assert_int_equal(f.size, 5);
  assert_memory_equal(f.data, "hello", 5);
  wk_file_unmap(&f);
  assert_ok(wk_write_file(path, "", 0));
  assert_ok(wk_file_map(path, &f));
  assert_int_equal(f.size, 0);
  assert_non_null(f.data);
  wk_file_unmap(&f);
  assert_code(wk_file_map(join(dir, "none"), &f), WK_IO, "No such file");
  assert_code(wk_file_map(dir, &f), WK_IO, "folder");
  char *fifo = join(dir, "fifo");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  assert_code(wk_file_map(fifo, &f), WK_IO, "regular");
}

static void out_commits(void **state) {
  const char *dir = *state;
  char *path = join(dir, "out");
  mode_t mask = umask(022);
  for (int round = 0; round < 2; round++) {
    wk_out *o;
    assert_ok(wk_out_open(path, &o));
    wk_out_write(o, "n=", 2);
    fprintf(wk_out_stdio(o), "%d", 40 + round);
    assert_ok(wk_out_commit(o));
    assert_int_equal(entries(dir), 1);
  }
  umask(mask);
  struct stat st;
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0644);
  wk_file f;
  assert_ok(wk_file_map(path, &f));
  assert_int_equal(f.size, 4);
  assert_memory_equal(f.data, "n=41", 4);
  wk_file_unmap(&f);
}

static void out_abort_leaves_nothing(void **state) {
  const char *dir = *state;
  wk_out *o;
  assert_ok(wk_out_open(join(dir, "out"), &o));
  wk_out_write(o, "abc", 3);
  wk_out_abort(o);
  assert_int_equal(entries(dir), 0);
  assert_ok(wk_write_file(join(dir, "old"), "old", 3));
  assert_ok(wk_out_open(join(dir, "old"), &o));
  wk_out_write(o, "new", 3);
  wk_out_abort(o);
  wk_out_abort(NULL);
  wk_file f;
  assert_ok(wk_file_map(join(dir, "old"), &f));
  assert_memory_equal(f.data, "old", 3);
  wk_file_unmap(&f);
  assert_int_equal(entries(dir), 1);
}

static void out_keeps_symbolic_links(void **state) {
  const char *dir = *state;
  assert_ok(wk_write_file(join(dir, "real"), "old", 3));
  assert_int_equal(symlink("real", join(dir, "link")), 0);
  assert_ok(wk_write_file(join(dir, "link"), "newer", 5));
  struct stat st;
  assert_int_equal(lstat(join(dir, "link"), &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(stat(join(dir, "real"), &st), 0);
  assert_int_equal(st.st_size, 5);
}

static void out_reports_errors(void **state) {
  const char *dir = *state;
  wk_out *o;
  assert_code(wk_out_open(join(dir, "no/such"), &o), WK_IO, "No such file");
  assert_null(o);
  assert_code(wk_out_open(dir, &o), WK_IO, "directory");
  assert_code(wk_out_open("", &o), WK_IO, "No such file");
  assert_code(wk_out_check(join(dir, "no/such")), WK_IO, "No such file");
  assert_ok(wk_out_check(join(dir, "checked")));
  assert_int_equal(access(join(dir, "checked"), F_OK), -1);
  assert_ok(wk_out_check("/dev/full"));
  assert_ok(wk_out_check("-"));
  assert_code(wk_write_file("/dev/full", "x", 1), WK_IO, "No space left");
  assert_ok(wk_out_open("/dev/full", &o)); /* more than the stream's buffer */
  for (int i = 0; i < 100000; i++) fprintf(wk_out_stdio(o), "%d\n", i);
  assert_code(wk_out_commit(o), WK_IO, "No space left");
  assert_ok(wk_write_file("/dev/null", "x", 1));
  struct stat st;
  assert_int_equal(stat("/dev/null", &st), 0);
  assert_true(S_ISCHR(st.st_mode));
  char *closed = join(dir, "closed");
  assert_int_equal(mkdir(closed, 0500), 0);
  if (geteuid() != 0) /* root may write anywhere */
    assert_code(wk_write_file(join(closed, "x"), "x", 1), WK_IO, "denied");
  assert_code(wk_write_file("/proc/wick-test", "x", 1), WK_IO, "cannot write");
  assert_int_equal(entries(dir), 1);
}

static void beneath_opens_inside(void **state) {
  const char *dir = *state;
  assert_int_equal(mkdir(join(dir, "sub"), 0700), 0);
  assert_ok(wk_write_file(join(dir, "sub/w.bin"), "data", 4));
  wk_file f;
  assert_ok(wk_file_map_beneath(dir, NULL, "sub/w.bin", &f));
  assert_int_equal(f.size, 4);
  wk_file_unmap(&f);
  assert_ok(wk_file_map_beneath(dir, NULL, "./sub//w.bin", &f));
  wk_file_unmap(&f);
  assert_code(wk_file_map_beneath(dir, NULL, "sub/none", &f), WK_IO, "No such file");
  assert_code(wk_file_map_beneath(dir, NULL, "sub", &f), WK_IO, "folder");
}

/* What is nearly an escape, what is no file, and where nothing is: named and refused alike. */
static void beneath_says_what_is_there(void **state) {
  const char *dir = *state;
  assert_int_equal(mkdir(join(dir, "..deep"), 0700), 0);
  assert_int_equal(mkdir(join(dir, "..deep/x..y"), 0700), 0);
  assert_int_equal(mkfifo(join(dir, "fifo"), 0600), 0);
  static const struct { const char *path, *text; } files[] = {
      {"..w", "first"}, {"...", "2nd"}, {".w", "hidden"}, {"w..", ""}, {"..deep/..w", "in one"},
      {"..deep/x..y/w", "in two"}, {"..deep/x..y/.w", ""}};
  wk_file f;
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    size_t n = strlen(files[i].text);
    assert_ok(wk_write_file(join(dir, files[i].path), files[i].text, n));
    assert_ok(wk_file_map_beneath(dir, NULL, files[i].path, &f));
    assert_int_equal(f.size, n);
    assert_non_null(f.data);
    assert_memory_equal(f.data, files[i].text, n);
    wk_file_unmap(&f);
    assert_true(!f.data && !f.map && f.size == 0);
  }
  static const struct { const char *path, *says; } rows[] = {
      {"fifo", "regular"}, {"..w/x", "Not a directory"}, {"..deep/..w/x", "Not a directory"},
      {"none/x", "No such file"}, {"..deep/none/x", "No such file"}, {"..deep/x..y", "folder"},
      {"..deep/", "folder"}, {".", "folder"}};
  for (size_t i = 0; i < WK_COUNTOF(rows); i++) {
    f = (wk_file){.data = (const void *)dir, .size = 1};
    assert_code(wk_file_map_beneath(dir, NULL, rows[i].path, &f), WK_IO, rows[i].says);
    assert_true(!f.data && !f.map && f.size == 0);
  }
  static const char *const up[] = {"../..w", "..deep/../..w", "..deep/x..y/..", "./../..w"};
  for (size_t i = 0; i < WK_COUNTOF(up); i++)
    assert_code(wk_file_map_beneath(dir, NULL, up[i], &f), WK_INPUT, "not a path inside");
  assert_code(wk_file_map_beneath(join(dir, "none"), NULL, "w", &f), WK_IO, "cannot open folder");
  assert_code(wk_file_map_beneath(join(dir, "..w"), NULL, "w", &f), WK_IO, "cannot open folder");
  assert_code(wk_file_map_beneath("", NULL, "no file at all", &f), WK_IO,
              "cannot open in .: No such");
}

static void beneath_refuses_escapes(void **state) {
  const char *dir = *state;
  wk_file f;
  assert_int_equal(mkdir(join(dir, "in"), 0700), 0);
  char *in = strdup(join(dir, "in"));
  assert_ok(wk_write_file(join(dir, "secret"), "s", 1));
  assert_ok(wk_write_file(join(in, "w"), "w", 1));
  assert_int_equal(symlink("w", join(in, "inner")), 0);
  assert_int_equal(symlink("../secret", join(in, "outer")), 0);
  assert_int_equal(symlink(".", join(in, "loop")), 0);
  assert_int_equal(symlink("../in/w", join(in, "back")), 0);
  assert_int_equal(symlink(join(in, "w"), join(in, "whole")), 0);
  assert_int_equal(symlink("round", join(in, "round")), 0);
  assert_int_equal(symlink("/dev/null", join(in, "device")), 0);
  assert_int_equal(link(join(dir, "secret"), join(in, "hard")), 0);
  static const char *const bad[] = {"../secret", "/etc/passwd", "x/../../secret", "..", "",
                                    "outer",     "round",       "device",  "hard", "in/.."};
  static const char *const good[] = {"w", "inner", "loop/w", "back", "whole"};
  for (size_t i = 0; i < WK_COUNTOF(bad); i++)
    assert_code(wk_file_map_beneath(in, NULL, bad[i], &f), WK_INPUT, "refused");
  for (size_t i = 0; i < WK_COUNTOF(good); i++) {
    assert_ok(wk_file_map_beneath(in, NULL, good[i], &f));
    assert_true(f.size == 1 && *f.data == 'w');
    wk_file_unmap(&f);
  }
  free(in);
}

/* As caches lay models out: the folder of the model has links to a folder beside it. */
static void beneath_has_two_homes(void **state) {
  const char *dir = *state;
  wk_file f;
  char *shown = strdup(join(dir, "shown")), *blobs = strdup(join(dir, "blobs"));
  assert_int_equal(mkdir(shown, 0700) | mkdir(blobs, 0700) | mkdir(join(dir, "blobsome"), 0700), 0);
  assert_ok(wk_write_file(join(blobs, "b1"), "b", 1));
  assert_ok(wk_write_file(join(dir, "blobsome/b1"), "c", 1));
  assert_int_equal(symlink("../blobs/b1", join(shown, "data")), 0);
  assert_int_equal(symlink("../blobsome/b1", join(shown, "near")), 0);
  assert_code(wk_file_map_beneath(shown, NULL, "data", &f), WK_INPUT, "a link leads out");
  assert_code(wk_file_map_beneath(shown, shown, "data", &f), WK_INPUT, "a link leads out");
  assert_code(wk_file_map_beneath(shown, blobs, "near", &f), WK_INPUT, "a link leads out");
  assert_code(wk_file_map_beneath(shown, blobs, "none", &f), WK_IO, "cannot open");
  static const char *const good[] = {"data", "b1"}; /* a link beside the model, and a file there */
  for (size_t i = 0; i < WK_COUNTOF(good); i++) {
    assert_ok(wk_file_map_beneath(shown, blobs, good[i], &f));
    assert_true(f.size == 1 && *f.data == 'b');
    wk_file_unmap(&f);
  }
  free(shown);
  free(blobs);
}

/* From here on openat2 answers ENOSYS in this process, as on kernels before 5.6. */
static void hide_openat2(void **state) {
  (void)state;
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {WK_COUNTOF(code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    skip(); /* no seccomp here: the next two tests repeat the openat2 path */
  assert_int_equal(syscall(SYS_openat2, 0, 0, 0, 0), -1);
  assert_int_equal(errno, ENOSYS);
}

/* The clock counts on evenly, in seconds. */
static void clock_never_goes_back(void **state) {
  (void)state;
  struct timespec before, after;
  double last = 0;
  for (int i = 0; i < 1 << 20; i++) {
    double now = wk_clock();
    if (now < last) fail_msg("%.9f after %.9f", now, last);
    last = now;
  }
  clock_gettime(CLOCK_MONOTONIC, &before);
  double now = wk_clock();
  clock_gettime(CLOCK_MONOTONIC, &after);
  assert_true(now >= (double)before.tv_sec + (double)before.tv_nsec / 1e9 - 1e-6);
  assert_true(now <= (double)after.tv_sec + (double)after.tv_nsec / 1e9 + 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(status_holds_place_and_notes),
      cmocka_unit_test(text_is_cleaned), cmocka_unit_test(arena_aligns_and_zeroes),
      cmocka_unit_test(arena_survives_giant_then_reset),
      cmocka_unit_test(arena_copies_text),
      cmocka_unit_test(vec_grows),
      cmocka_unit_test(huge_allocation_is_a_status),
      cmocka_unit_test(str_builds),
      cmocka_unit_test(floats_read_well),
      cmocka_unit_test(floats_round_trip),
      cmocka_unit_test_setup_teardown(floats_ignore_the_locale, make_folder, remove_folder),
      cmocka_unit_test(bytes_read_well), cmocka_unit_test(clock_never_goes_back),
      cmocka_unit_test(nearest_finds_typos),
      cmocka_unit_test(dims_are_checked),
      cmocka_unit_test(map_holds_many),
      cmocka_unit_test(crc32c_known_vectors),
      cmocka_unit_test(crc32c_matches_its_definition),
      cmocka_unit_test(rng_is_fixed_and_fair),
      cmocka_unit_test_setup_teardown(file_maps, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(out_commits, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(out_abort_leaves_nothing, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(out_keeps_symbolic_links, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(out_reports_errors, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(beneath_opens_inside, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(beneath_refuses_escapes, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(beneath_has_two_homes, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(beneath_says_what_is_there, make_folder, remove_folder),
      cmocka_unit_test(hide_openat2), /* the fallback must do the same */
      cmocka_unit_test_setup_teardown(beneath_opens_inside, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(beneath_refuses_escapes, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(beneath_has_two_homes, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(beneath_says_what_is_there, make_folder, remove_folder),
  };
  return cmocka_run_group_tests_name("support", tests, NULL, NULL);
}
