/* SPDX-License-Identifier: Apache-2.0
 * Tables of buffers: what is read as which number, what is said in whole sentences, and all that is
 * told and written of a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/memory/plan.h"

#define HEAD "id,lower,upper,size\n"

/* ---- numbers and errors ---------------------------------------------------------------------- */

/* What is read, as it is written again; or what is said. */
static const struct {
  const char *text, *again, *says;
} tables[] = {
    {HEAD, "id,lower,upper,size,offset\n", NULL},
    {"id,lower,upper,size", "id,lower,upper,size,offset\n", NULL},
    {HEAD "a,0,1,2\nb,3,4,5", "id,lower,upper,size,offset\na,0,1,2,0\nb,3,4,5,0\n", NULL},
    {"\xEF\xBB\xBF" HEAD "a,0,1,2\n", "id,lower,upper,size,offset\na,0,1,2,0\n", NULL},
    {"\n \t\nid , lower,\tupper,size\r\n\r\n a b ,\t0 , 1,2\r\n", "id,lower,upper,size,offset\n"
     "a b,0,1,2,0\n", NULL},
    {"size,more,upper,lower,id\n2,x y,1,0,a\n", "id,lower,upper,size,offset\na,0,1,2,0\n", NULL},
    {"id,lower,upper,size,alignment\na,0,1,2,1\nb,0,1,2,64\n",
     "id,lower,upper,size,alignment,offset\na,0,1,2,1,0\nb,0,1,2,64,0\n", NULL},
    {"id,lower,upper,size,offset\na,0,1,2,7\n", "id,lower,upper,size,offset\na,0,1,2,7\n", NULL},
    {HEAD "a,-1,-1,0\nb,-0,007,0\n", "id,lower,upper,size,offset\na,-1,-1,0,0\nb,0,7,0,0\n", NULL},
    {HEAD "a,-9223372036854775808,9223372036854775807,9223372036854775807\n",
     "id,lower,upper,size,offset\n"
     "a,-9223372036854775808,9223372036854775807,9223372036854775807,0\n", NULL},
    {HEAD "a,0,9223372036854775808,1\n", NULL, "t:2: upper '9223372036854775808' is too large"},
    {HEAD "a,0,9223372036854775810,1\n", NULL, "t:2: upper '9223372036854775810' is too large"},
    {HEAD "a,0,92233720368547758070,1\n", NULL, "t:2: upper '92233720368547758070' is too large"},
    {HEAD "a,-9223372036854775809,1,1\n", NULL, "t:2: lower '-9223372036854775809' is too large"},
    {HEAD "a,0,18446744073709551617,1\n", NULL, "t:2: upper '18446744073709551617' is too large"},
    {HEAD "a,0,1,-1\n", NULL, "t:2: size -1 is below 0"},
    {HEAD "a,0,1,+1\n", NULL, "t:2: size '+1' is not a whole number"},
    {HEAD "a,0,1,1 2\n", NULL, "t:2: size '1 2' is not a whole number"},
    {HEAD "a,0,1,--1\n", NULL, "t:2: size '--1' is not a whole number"},
    {HEAD "a,0,1,-\n", NULL, "t:2: size '-' is not a whole number"},
    {HEAD "a,0,1,/\n", NULL, "t:2: size '/' is not a whole number"},
    {HEAD "a,0,1,:\n", NULL, "t:2: size ':' is not a whole number"},
    {HEAD "a,0,1,12345678901234567890x\n", NULL,
     "t:2: size '12345678901234567890...' is not a whole number"},
    {HEAD "a,0,1,1234567890123456789x\n", NULL,
     "t:2: size '1234567890123456789x' is not a whole number"},
    {HEAD "a,0,1,x\x01\x1f~\x7f\xc3\n", NULL, "t:2: size 'x?\?~?\?' is not a whole number"},
    {"id,lower,upper,size,alignment\na,0,1,2,0\n", NULL, "t:2: alignment 0 is below 1"},
    {"id,lower,upper,size,offset\na,0,1,2,-1\n", NULL, "t:2: offset -1 is below 0"},
    {HEAD "a,2,2,1\nb,2,1,1\n", NULL, "t:3: upper 1 is below lower 2"},
    {HEAD "a,0,1,2\n\nb,0,1,2\na,0,1,2\n", NULL, "t:5: the id 'a' is that of line 2"},
    {HEAD " ,0,1,2\n", NULL, "t:2: the id is empty"},
    {HEAD "a,0,1\n", NULL, "t:2: 3 fields, the header has 4"},
    {HEAD "a,0,1,2,\n", NULL, "t:2: 5 fields, the header has 4"},
    {"id,lower,upper\n", NULL, "t:1: no column 'size' in the header"},
    {"lower,upper,size\n", NULL, "t:1: no column 'id' in the header"},
    {"id,upper,size\n", NULL, "t:1: no column 'lower' in the header"},
    {"id,lower,size\n", NULL, "t:1: no column 'upper' in the header"},
    {"id,lower,upper,sizes\n", NULL, "t:1: no column 'size' in the header"},
    {"id,lower,upper,size,offset,offset\n", NULL, "t:1: column 'offset' is named twice"},
    {"id,id,lower,upper,size\n", NULL, "t:1: column 'id' is named twice"},
    {" \n\n", NULL, "t:1: no header line: id,lower,upper,size is needed"},
};

static void texts(void **state) {
  (void)state;
  int differ = 0;
  for (size_t i = 0; i < WK_COUNTOF(tables); i++) {
    wk_plan_table t;
    wk_str b = {0};
    const char *want = tables[i].says ? tables[i].says : tables[i].again;
    wk_status s = wk_plan_table_parse("t", tables[i].text, strlen(tables[i].text), &t);
    if (s) wk_str_printf(&b, "%s: %s", s->place, s->message);
    else wk_plan_table_format(&t, &b);
    if (!s != !tables[i].says || strcmp(b.s, want)) {
      differ++;
      print_message("row %zu: '%s', not '%s'\n", i, b.s, want);
    }
    if (s) assert_int_equal(s->code, WK_INPUT);
    wk_status_free(s);
    wk_str_free(&b);
    wk_plan_table_free(&t);
  }
  assert_int_equal(differ, 0);
}

/* Lines behind the header, of which none has more than its end. */
static void lines(void **state) {
  (void)state;
  enum { LIMIT = 1 << 20 };
  char *text = wk_xmalloc(sizeof HEAD + LIMIT);
  memcpy(text, HEAD, sizeof HEAD);
  memset(text + sizeof HEAD - 1, '\n', LIMIT);
  for (size_t n = LIMIT - 1; n <= LIMIT; n++) {
    wk_plan_table t;
    wk_status s = wk_plan_table_parse("t", text, sizeof HEAD - 1 + n, &t);
    if (n < LIMIT) {
      assert_null(s);
      assert_int_equal(t.n, 0);
    } else {
      assert_non_null(s);
      assert_int_equal(s->code, WK_RESOURCE);
      assert_string_equal(s->message, "1048576 lines are too many");
    }
    wk_status_free(s);
    wk_plan_table_free(&t);
  }
  free(text);
}

/* ---- whole files ----------------------------------------------------------------------------- */

static const struct {
  const char *text;
  int64_t capacity;
  const char *summary, *written, *says; /* written, says: NULL: nothing */
} files[] = {
    {HEAD, 0,
     "buffers   0\nbound     0 (0 B)\npeak      0 (0 B)\nratio     1.0000\nnodes     0\n"
     "optimal   yes\n",
     "id,lower,upper,size,offset\n", NULL},
    {HEAD "a,0,3,4\nb,3,9,4\nc,0,9,2048\n", 0,
     "buffers   3\nbound     2052 (2.0 KiB)\npeak      2052 (2.0 KiB)\nratio     1.0000\n"
     "nodes     0\noptimal   yes\n",
     "id,lower,upper,size,offset\na,0,3,4,2048\nb,3,9,4,2048\nc,0,9,2048,0\n", NULL},
    {HEAD "a,0,3,1\n", 1,
     "buffers   1\nbound     1 (1 B)\npeak      1 (1 B)\ncapacity  1 (1 B)\nratio     1.0000\n"
     "nodes     0\noptimal   yes\n",
     "id,lower,upper,size,offset\na,0,3,1,0\n", NULL},
    {"id,lower,upper,size,alignment\na,0,2,4,4\nb,0,2,6,6\n", 0,
     "buffers   2\nbound     10 (10 B)\npeak      12 (12 B)\nratio     1.2000\nnodes     4\n"
     "optimal   yes\n",
     "id,lower,upper,size,alignment,offset\na,0,2,4,4,8\nb,0,2,6,6,0\n", NULL},
    {HEAD "a,0,3,8\nb,2,9,8\n", 15,
     "buffers   2\nbound     16 (16 B)\npeak      16 (16 B)\ncapacity  15 (15 B)\n"
     "ratio     1.0000\nnodes     0\noptimal   yes\n",
     NULL, "the buffers do not fit in 15 bytes: at least 16 are needed"},
};

static void whole_files(void **state) {
  (void)state;
  char folder[] = "/tmp/wick-plan-XXXXXX", in[64], out[64];
  int differ = 0;
  assert_non_null(mkdtemp(folder));
  snprintf(in, sizeof in, "%s/in.csv", folder);
  snprintf(out, sizeof out, "%s/out.csv", folder);
  for (size_t i = 0; i < WK_COUNTOF(files); i++) {
    wk_str summary = {0};
    wk_file f;
    assert_null(wk_write_file(in, files[i].text, strlen(files[i].text)));
    wk_status s = wk_plan_file(in, files[i].capacity, &summary, out);
    if (strcmp(summary.s, files[i].summary)) differ++, print_message("%zu:\n%s", i, summary.s);
    if (files[i].says) {
      assert_non_null(s);
      assert_string_equal(s->message, files[i].says);
      assert_string_equal(s->place, in);
      assert_int_not_equal(access(out, F_OK), 0);
    } else {
      if (s) fail_msg("%s", s->message);
      assert_null(wk_file_map(out, &f));
      if (f.size != strlen(files[i].written) || memcmp(f.data, files[i].written, f.size))
        differ++, print_message("%zu:\n%.*s", i, (int)f.size, (const char *)f.data);
      wk_file_unmap(&f);
      unlink(out);
    }
    wk_status_free(s);
    wk_str_free(&summary);
  }
  unlink(in);
  rmdir(folder);
  assert_int_equal(differ, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(lines),
                                     cmocka_unit_test(whole_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
