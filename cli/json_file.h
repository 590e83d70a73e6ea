/* SPDX-License-Identifier: Apache-2.0
 * json_file: JSON values as files. */
#ifndef WICK_CLI_JSON_FILE_H
#define WICK_CLI_JSON_FILE_H

#include <jansson.h>

#include "compiler/support/support.h"

/* Writes the value (stolen) and a newline, in ASCII; flags: of jansson. After an error the file is
 * what it was. */
wk_status wk_json_write(json_t *value, const char *path, size_t flags) WK_MUST_CHECK;

#endif
