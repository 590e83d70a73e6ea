/* SPDX-License-Identifier: Apache-2.0
 * What libwick_accel.so exports, the functional model for programs without a compiler. */
#include "sim/device.h"

__attribute__((visibility("default"))) const wick_device *wick_device_plugin(void) {
  return wk_sim_device();
}
