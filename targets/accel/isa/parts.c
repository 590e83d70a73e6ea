/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/parts.h"

_Static_assert(WK_CONV_in == WK_DWC_in && WK_CONV_dx == WK_DWC_dx && WK_CONV_in == WK_POOL_in &&
                   WK_CONV_dx == WK_POOL_dx,
               "a window's fields have the same places in every command");

wk_window wk_window_of(const wk_isa_command *c) {
  const int64_t *v = c->v;
  wk_assert(c->opcode == WK_CMD_CONV || c->opcode == WK_CMD_DWC || c->opcode == WK_CMD_POOL);
  return (wk_window){
      .in = v[WK_CONV_in], .in_y = v[WK_CONV_in_y], .in_x = v[WK_CONV_in_x],
      .k_y = v[WK_CONV_k_y], .k_x = v[WK_CONV_k_x],
      .ny = (int)v[WK_CONV_ny], .nx = (int)v[WK_CONV_nx],
      .ky = (int)v[WK_CONV_ky], .kx = (int)v[WK_CONV_kx],
      .pad_t = (int)v[WK_CONV_pad_t], .pad_l = (int)v[WK_CONV_pad_l],
      .h = (int)v[WK_CONV_h], .w = (int)v[WK_CONV_w],
      .sy = (int)v[WK_CONV_sy], .sx = (int)v[WK_CONV_sx],
      .dy = (int)v[WK_CONV_dy], .dx = (int)v[WK_CONV_dx]};
}

#define EPILOGUE(C, rows, columns, column_step)                                                    \
  (wk_epilogue) {                                                                                  \
    .accumulate = WK_V(c, C, accumulate) != 0, .drain = WK_V(c, C, drain) != 0,                    \
    .residual = WK_V(c, C, residual) != 0, .ny = (int)(rows), .nx = (int)(columns),                \
    .n = (int)WK_V(c, C, n), .acc = WK_V(c, C, acc), .out = WK_V(c, C, out),                     \
    .out_y = WK_V(c, C, out_y), .out_x = (column_step), .par = WK_V(c, C, par),                  \
    .res = WK_V(c, C, res)                                                                        \
  }

wk_epilogue wk_epilogue_of(const wk_isa_command *c) {
  if (c->opcode == WK_CMD_CONV)
    return EPILOGUE(CONV, WK_V(c, CONV, ny), WK_V(c, CONV, nx), WK_V(c, CONV, out_x));
  if (c->opcode == WK_CMD_DWC)
    return EPILOGUE(DWC, WK_V(c, DWC, ny), WK_V(c, DWC, nx), WK_V(c, DWC, out_x));
  wk_assert(c->opcode == WK_CMD_MM);
  return EPILOGUE(MM, WK_V(c, MM, ny), 1, 0);
}
