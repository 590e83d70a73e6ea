/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/test_case.h"

/* XML has no way to write most control characters, not even escaped. */
static void put_escaped(FILE *f, const char *s) {
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '&') fputs("&amp;", f);
    else if (c == '<') fputs("&lt;", f);
    else if (c == '>') fputs("&gt;", f);
    else if (c == '"') fputs("&quot;", f);
    else if (c == '\n') fputs("&#10;", f);
    else if (c < 0x20 || c == 0x7f) fputc('?', f);
    else fputc(c, f);
  }
}

static void put_case(FILE *f, const wk_test_case *c) {
  static const char *const tags[] = {NULL, "failure", "skipped"};
  fputs("  <testcase classname=\"wick\" name=\"", f);
  put_escaped(f, c->name);
  fprintf(f, "\" time=\"%.3f\"", c->seconds);
  if (!tags[c->verdict]) {
    fputs("/>\n", f);
    return;
  }
  fprintf(f, ">\n    <%s message=\"", tags[c->verdict]);
  put_escaped(f, c->text ? c->text : "");
  fputs("\"/>\n  </testcase>\n", f);
}

void wk_test_junit_write(FILE *f, const wk_test_case *cases, size_t n) {
  size_t count[3] = {0};
  double seconds = 0;
  for (size_t i = 0; i < n; i++) {
    count[cases[i].verdict]++;
    seconds += cases[i].seconds;
  }
  fprintf(f,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<testsuite name=\"wick test\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\" "
          "time=\"%.3f\">\n",
          n, count[WK_TEST_FAILED], count[WK_TEST_SKIPPED], seconds);
  for (size_t i = 0; i < n; i++) put_case(f, &cases[i]);
  fputs("</testsuite>\n", f);
}
