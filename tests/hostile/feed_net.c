/* SPDX-License-Identifier: Apache-2.0
 * Nets of Caffe2 and models as text, through the front door. One file of a net is fed, the others
 * are those of the seed. */
#include <unistd.h>

#include "compiler/caffe2/caffe2.h"
#include "tests/hostile/hostile.h"
#include "tests/hostile/net_files.h"

static void feed_import(feed_run *r, const char *path, wk_import_options o) {
  static const wk_bind bind = {.symbol = "N", .value = 2}; /* the symbol of the seeds */
  wk_import_report report;
  wk_module *m = NULL;
  o.is_hashed = true;
  wk_status s = wk_net_import(path, &o, &report, &m);
  if (s && s->code == WK_USAGE && !o.init_net) {
    wk_status_free(s);
    wk_import_report_free(&report);
    o.binds = &bind;
    o.n_binds = 1;
    s = wk_net_import(path, &o, &report, &m);
  }
  if (s && s->code == WK_UNSUPPORTED && report.unsupported.n == 0)
    wk_str_printf(&r->complaint, "refused without a reason: %s", s->message);
  wk_import_report_free(&report);
  if (feed_status(r, s, "import")) feed_module(r, m);
}

static void feed_inspection(feed_run *r, const char *path, const wk_import_options *o) {
  wk_onnx_info info;
  if (feed_status(r, wk_net_inspect(path, o, &info), "inspection")) wk_onnx_info_free(&info);
}

static const net_files *files_of(const feed_run *r) { return net_get(r->seed % net_count()); }

void feed_net(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  const net_files *f = files_of(r);
  feed_with_file(input, path, &fd);
  feed_import(r, path, f->files);
  feed_inspection(r, path, &f->files);
  close(fd);
}

void feed_init_net(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  wk_import_options o = files_of(r)->files;
  feed_with_file(input, path, &fd);
  o.init_net = path;
  feed_import(r, files_of(r)->predict, o);
  close(fd);
}

void feed_value_info(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  wk_import_options o = files_of(r)->files;
  feed_with_file(input, path, &fd);
  o.value_info = path;
  feed_import(r, files_of(r)->predict, o);
  close(fd);
}

void feed_model_text(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  feed_with_file(input, path, &fd);
  feed_import(r, path, (wk_import_options){0});
  feed_inspection(r, path, NULL);
  close(fd);
}
