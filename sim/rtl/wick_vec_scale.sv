// SPDX-License-Identifier: Apache-2.0
// Second half of the lanes: what was collected becomes a byte.
//
//   stage 3  product = x * factor (+ hold), or x;  x is acc, or what the tables gave
//   stage 4  quotient and whether it is rounded up:
//            rescale    saturate_i32((product + 2^(shift-1)) >> shift), then 16 bits more
//            shr_round  sum of two products, of 34 bits, by shift bits, saturated to i32
//   stage 5  + zero, clamped to [lo, hi]
//
// All parameters are those of the cycle in which a stage works. The second operand of MAP stays in
// hold: its difference from stage 2 on, or for add its product with mb from stage 3 on.
// data_o belongs to valid_o (stage 5); it is to be stored at the end of that cycle.
module wick_vec_scale #(
  parameter int unsigned N = 16
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              clear_i,
  input  logic [wick_vec_pkg::CfgW-1:0]     cfg_i,
  input  logic [wick_vec_pkg::CtlLaneW-1:0] ctl2_i,
  input  logic [wick_vec_pkg::CtlLaneW-1:0] ctl3_i,
  input  logic [10*N-1:0]   diff_i,
  input  logic [40*N-1:0]   acc_i,
  input  logic [24*N-1:0]   exp_i,
  input  logic [24:0]       ma_i,    // signed
  input  logic [24:0]       mb_i,    // signed
  input  logic [23:0]       mult_i,  // of an entry or of the divider
  input  logic [5:0]        shift_i,
  input  logic [15:0]       zero_i,
  input  logic [15:0]       lo_i,
  input  logic [15:0]       hi_i,
  output logic [32*N-1:0]   hold_o,
  output logic              valid_o,
  output logic [8*N-1:0]    data_o
);
`ifdef WICK_WIDE
  localparam int unsigned W = 64;  // simulators are faster with whole words
`else
  localparam int unsigned W = 57;
`endif
  logic [32*N-1:0] hold_q;
  logic [W*N-1:0]  product_q;
  logic [32*N-1:0] quotient_q;
  logic [N-1:0]    up_q;
  logic [8*N-1:0]  data;
  logic valid4_q, valid5_q, multiply_hold, hold_en, product_en, from_table, adds, rescale;
  logic [24:0] factor;
  logic [63:0] half;

  function automatic logic [W-1:0] multiply(input logic [31:0] x, input logic [24:0] y,
                                            input logic [31:0] more);
    logic signed [W-1:0] wide_x, wide_y, wide_more;
    wide_x = {{W-32{x[31]}}, x};
    wide_y = {{W-25{y[24]}}, y};
    wide_more = {{W-32{more[31]}}, more};
    multiply = wide_x * wide_y + wide_more;
  endfunction

  // {rounded up, quotient}
  function automatic logic [32:0] rescaled(input logic [W-1:0] p, input logic [5:0] shift,
                                           input logic [63:0] half_unit);
    logic signed [63:0] v;
    logic signed [31:0] r;
    v = {{64-W+1{p[W-1]}}, p[W-2:0]};
    v = (v + $signed(half_unit)) >>> shift;
    r = v[31:0];
    if (v[63:31] != '0 && v[63:31] != '1) r = {v[63], {31{~v[63]}}};
    rescaled = {r[15] & (r[16] | (r[14:0] != '0)), {16{r[31]}}, r[31:16]};
  endfunction

  function automatic logic [32:0] rounded(input logic [33:0] a, input logic [5:0] shift,
                                          input logic [33:0] half_unit);
    logic signed [33:0] v;
    logic [33:0] part;
    logic signed [31:0] r;
    logic up;
    v = a;
    part = a & (half_unit | (half_unit - 34'd1));
    v = v >>> shift;
    r = v[31:0];
    up = part > half_unit || (part == half_unit && v[0]);
    if (half_unit == '0) up = 1'b0;  // a shift by 0
    if (shift > 6'd34) up = a[33];   // all is below the last place
    if (v[33:31] != '0 && v[33:31] != '1) begin
      r = {v[33], {31{~v[33]}}};
      up = 1'b0;
    end
    rounded = {up, r};
  endfunction

  function automatic logic [7:0] clamped(input logic [31:0] v, input logic up,
                                         input logic [15:0] zero, input logic [15:0] lo,
                                         input logic [15:0] hi);
    logic signed [33:0] y, low, high;
    low = {{18{lo[15]}}, lo};
    high = {{18{hi[15]}}, hi};
    y = {{2{v[31]}}, v} + {{18{zero[15]}}, zero} + {33'b0, up};
    if (y < low) y = low;
    if (y > high) y = high;
    clamped = y[7:0];
  endfunction

  // Stage 3.
  assign multiply_hold = ctl3_i[wick_vec_pkg::CtlHold] & cfg_i[wick_vec_pkg::CfgAdd];
  assign product_en = ctl3_i[wick_vec_pkg::CtlLast] & ~cfg_i[wick_vec_pkg::CfgNorm];
  assign hold_en = ctl2_i[wick_vec_pkg::CtlHold] & ~cfg_i[wick_vec_pkg::CfgAdd];
  assign from_table = cfg_i[wick_vec_pkg::CfgTable];
  assign adds = cfg_i[wick_vec_pkg::CfgAdd];
  assign factor = multiply_hold ? mb_i :
      !cfg_i[wick_vec_pkg::CfgScale] ? 25'd1 :
      cfg_i[wick_vec_pkg::CfgEntry] ? {1'b0, mult_i} : ma_i;

  always_ff @(posedge clk_i) begin
    if (multiply_hold) begin
      for (int unsigned i = 0; i < N; i++)
        hold_q[32*i+:32] <= 32'(multiply(acc_i[40*i+:32], factor, '0));
    end else if (hold_en) begin
      for (int unsigned i = 0; i < N; i++)
        hold_q[32*i+:32] <= {{22{diff_i[10*i+9]}}, diff_i[10*i+:10]};
    end
    if (product_en) begin
      for (int unsigned i = 0; i < N; i++)
        product_q[W*i+:W] <= multiply(from_table ? {8'b0, exp_i[24*i+:24]} : acc_i[40*i+:32],
                                      factor, adds ? hold_q[32*i+:32] : '0);
    end
  end

  // Stage 4. Half of a unit of the last place that stays, for both roundings.
  assign half = (64'd1 << shift_i) >> 1;
  assign rescale = cfg_i[wick_vec_pkg::CfgRescale];

  always_ff @(posedge clk_i) begin
    if (valid4_q) begin
      for (int unsigned i = 0; i < N; i++)
        {up_q[i], quotient_q[32*i+:32]} <= rescale ?
            rescaled(product_q[W*i+:W], shift_i, half) :
            rounded(product_q[W*i+:34], shift_i, half[33:0]);
    end
  end

  // Stage 5.
  always_comb begin
    data = '0;
    if (valid5_q) begin
      for (int unsigned i = 0; i < N; i++)
        data[8*i+:8] = clamped(quotient_q[32*i+:32], up_q[i], zero_i, lo_i, hi_i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid4_q <= 1'b0;
      valid5_q <= 1'b0;
    end else begin
      valid4_q <= product_en & ~clear_i;
      valid5_q <= valid4_q & ~clear_i;
    end
  end

  assign hold_o = hold_q;
  assign valid_o = valid5_q;
  assign data_o = data;
endmodule
