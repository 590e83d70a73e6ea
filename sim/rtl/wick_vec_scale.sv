// SPDX-License-Identifier: Apache-2.0
// Second half of the lanes: what was collected becomes a byte.
//
//   stage 3  product = x * factor (+ hold), or x;  x is acc, or what the tables gave
//   stage 4  quotient and whether it is rounded up:
//            rescale    saturate_i32((product + 2^(shift-1)) >> shift), then 16 bits more
//            shr_round  product as i32, then shift bits
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
  logic [32*N-1:0] hold_q, hold_d;
  logic [57*N-1:0] product_q, product_d;
  logic [32*N-1:0] quotient_q, quotient_d;
  logic [N-1:0]    up_q, up_d;
  logic [8*N-1:0]  data_d;
  logic valid4_q, valid5_q, multiply_hold, hold_en, product_en;
  logic signed [24:0] factor;
  logic signed [31:0] x_v, whole_v;
  logic signed [56:0] old_v, product_v;
  logic signed [63:0] wide_v;
  logic [63:0] half;
  logic [31:0] mask, half32, sum_v, part_v;
  logic signed [33:0] y_v, zero, lo, hi;

  // Stage 3.
  assign multiply_hold = ctl3_i[wick_vec_pkg::CtlHold] & cfg_i[wick_vec_pkg::CfgAdd];
  assign product_en = ctl3_i[wick_vec_pkg::CtlLast];
  assign hold_en = multiply_hold | (ctl2_i[wick_vec_pkg::CtlHold] & ~cfg_i[wick_vec_pkg::CfgAdd]);
  assign factor = multiply_hold ? mb_i :
      !cfg_i[wick_vec_pkg::CfgScale] ? 25'd1 :
      cfg_i[wick_vec_pkg::CfgEntry] ? {1'b0, mult_i} : ma_i;

  always_comb begin
    product_d = product_q;
    hold_d = hold_q;
    x_v = '0;
    old_v = '0;
    product_v = '0;
    if (product_en || hold_en) begin
      for (int unsigned i = 0; i < N; i++) begin
        x_v = cfg_i[wick_vec_pkg::CfgTable] ? {8'b0, exp_i[24*i+:24]} : acc_i[40*i+:32];
        old_v = cfg_i[wick_vec_pkg::CfgAdd] && !multiply_hold ?
            {{25{hold_q[32*i+31]}}, hold_q[32*i+:32]} : '0;
        product_v = x_v * factor + old_v;
        product_d[57*i+:57] = product_v;
        hold_d[32*i+:32] = multiply_hold ? product_v[31:0] :
            {{22{diff_i[10*i+9]}}, diff_i[10*i+:10]};
      end
    end
  end

  // Stage 4. Half of a unit of the last place that stays, for both roundings.
  assign half = (64'd1 << shift_i) >> 1;
  assign half32 = half[31:0];
  assign mask = half32 == '0 ? '0 : half32 | (half32 - 32'd1);

  always_comb begin
    quotient_d = quotient_q;
    up_d = up_q;
    wide_v = '0;
    sum_v = '0;
    whole_v = '0;
    part_v = '0;
    if (valid4_q) begin
      for (int unsigned i = 0; i < N; i++) begin
        if (cfg_i[wick_vec_pkg::CfgRescale]) begin
          wide_v = {{7{product_q[57*i+56]}}, product_q[57*i+:57]};
          wide_v = wide_v + $signed(half);
        end else begin
          wide_v = {{32{product_q[57*i+31]}}, product_q[57*i+:32]};
        end
        sum_v = product_q[57*i+:32];
        wide_v = wide_v >>> shift_i;
        if (cfg_i[wick_vec_pkg::CfgRescale]) begin
          whole_v = wide_v[31:0];
          if (wide_v[63:31] != '0 && wide_v[63:31] != '1) whole_v = {wide_v[63], {31{~wide_v[63]}}};
          up_d[i] = whole_v[15] & (whole_v[16] | (whole_v[14:0] != '0));
          quotient_d[32*i+:32] = whole_v >>> 16;
        end else begin
          part_v = sum_v & mask;
          up_d[i] = part_v > half32 || (part_v == half32 && wide_v[0] && half32 != '0);
          if (shift_i[5]) up_d[i] = sum_v[31];
          quotient_d[32*i+:32] = wide_v[31:0];
        end
      end
    end
  end
  // Stage 5.
  assign zero = {{18{zero_i[15]}}, zero_i};
  assign lo = {{18{lo_i[15]}}, lo_i};
  assign hi = {{18{hi_i[15]}}, hi_i};

  always_comb begin
    data_d = '0;
    y_v = '0;
    if (valid5_q) begin
      for (int unsigned i = 0; i < N; i++) begin
        y_v = {{2{quotient_q[32*i+31]}}, quotient_q[32*i+:32]};
        y_v = y_v + zero + $signed({33'b0, up_q[i]});
        if (y_v < lo) y_v = lo;
        if (y_v > hi) y_v = hi;
        data_d[8*i+:8] = y_v[7:0];
      end
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

  always_ff @(posedge clk_i) begin
    if (hold_en) hold_q <= hold_d;
    if (product_en) product_q <= product_d;
    if (valid4_q) begin
      quotient_q <= quotient_d;
      up_q <= up_d;
    end
  end

  assign hold_o = hold_q;
  assign valid_o = valid5_q;
  assign data_o = data_d;
endmodule
