/* SPDX-License-Identifier: Apache-2.0
 * accel_package FILE [STREAM.s…]: a package whose parts are these streams (without: those of
 * accel_streams.h), each on what the one before left. For tests/cli. */
#include "tests/accel_package.h"

#include <stdlib.h>

#include "tests/accel_streams.h"

int main(int argc, char **argv) {
  wk_stream *streams[ACCEL_PARTS_MAX] = {0};
  accel_unit_data unit = {0};
  size_t n = 0, size;
  void *data = NULL;
  wk_status s = NULL;
  if (argc < 2 || argc - 2 > ACCEL_PARTS_MAX) return 2;
  for (int i = 2; i < argc && !s; i++) s = wk_stream_load(argv[i], NULL, &streams[n++]);
  if (argc == 2 && !s)
    s = wk_asm(accel_product, strlen(accel_product), "product.s", NULL, NULL, &streams[n++]);
  if (argc == 2 && !s)
    s = wk_asm(accel_copy, strlen(accel_copy), "copy.s", NULL, NULL, &streams[n++]);
  if (!s) s = accel_package_bytes(&unit, streams, n, &data, &size);
  if (!s) s = wk_write_file(argv[1], data, size);
  int code = s ? 1 : 0;
  if (s) wk_status_print(stderr, s);
  wk_status_free(s);
  for (size_t i = 0; i < n; i++) wk_stream_free(streams[i]);
  accel_unit_free(&unit);
  free(data);
  return code;
}
