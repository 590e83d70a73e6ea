/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "compiler/train/data.h"

double wk_schedule_rate(wk_schedule kind, double rate, int64_t step, int64_t steps) {
  if (kind == WK_SCHEDULE_COSINE)
    return rate * (1 + cos(acos(-1) * (double)step / (double)steps)) / 2;
  if (kind == WK_SCHEDULE_STEP) {
    int third = (int)(3 * (double)step / (double)steps);
    return rate / (third == 0 ? 1 : third == 1 ? 10 : 100);
  }
  return rate;
}
