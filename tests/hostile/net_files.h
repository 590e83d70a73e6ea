/* SPDX-License-Identifier: Apache-2.0
 * The nets of tests/caffe2, as seeds: the files of each stay beside a mutant of one of them. */
#ifndef WICK_TEST_NET_FILES_H
#define WICK_TEST_NET_FILES_H

#include "compiler/onnx/onnx.h"

typedef struct {
  const char *predict;
  wk_import_options files; /* init_net and value_info; either may be NULL */
} net_files;

/* Sorted by name; read once. */
size_t net_count(void);
const net_files *net_get(size_t i);

#endif
