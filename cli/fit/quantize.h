/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick quantize`.
 *
 *   cmd_quantize.c     options, the order of things
 *   quantize_report.c  the summary and --report */
#ifndef WICK_CLI_FIT_QUANTIZE_H
#define WICK_CLI_FIT_QUANTIZE_H

#include "compiler/calibrate/quantize.h"

void wk_quantize_summary(FILE *f, const wk_quantize_job *j);
void wk_quantize_json(wk_out *out, const wk_quantize_job *j);
extern const char *const wk_quantize_schemes[], *const wk_quantize_methods[];

#endif
