/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/model.h"
const wk_sim_model wk_sim_timing;
