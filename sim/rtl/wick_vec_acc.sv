// SPDX-License-Identifier: Apache-2.0
// First half of the lanes: a byte becomes a number, numbers are collected. The control word ctl1_i
// belongs to the data on rdata_i; ctl2_i is the same a cycle later, ctl3_i two cycles later.
//
//   stage 1  diff = byte - zero point, or maximum of the row - byte
//   stage 2  acc = acc or a start, plus / max / min diff;  acc = diff * hold;  or lanes are folded
//   stage 3  acc = acc + exponential (of softmax; no slot is in stage 2 then)
//
// Lanes that a slot does not have do not change what is collected.
module wick_vec_acc #(
  parameter int unsigned N = 16
) (
  input  logic              clk_i,
  input  logic [wick_vec_pkg::CfgW-1:0]     cfg_i,
  input  logic [wick_vec_pkg::CtlLaneW-1:0] ctl1_i,
  input  logic [wick_vec_pkg::CtlLaneW-1:0] ctl2_i,
  input  logic [wick_vec_pkg::CtlLaneW-1:0] ctl3_i,
  input  logic [5:0]        bytes2_i,
  input  logic [5:0]        bytes3_i,
  input  logic [8*N-1:0]    rdata_i,
  input  logic [8:0]        za_i,
  input  logic [8:0]        zb_i,
  input  logic [32*N-1:0]   hold_i,
  input  logic [24*N-1:0]   exp_i,
  output logic [10*N-1:0]   diff_o,  // stage 2
  output logic [40*N-1:0]   acc_o    // stage 3
);
  localparam int unsigned LogN = $clog2(N);

  logic [10*N-1:0] diff_q, diff_d;
  logic [40*N-1:0] acc_q, acc_d;
  logic [8:0]  peak0_q, peak1_q, peak;
  logic        diff_en, acc_en, u8;
  logic [7:0]  byte_v;
  logic [9:0]  value_v, zero_v;
  logic [39:0] ident_v, base_v, with_v;
  logic        is_max, starts, sums, active_v, above_v;
  logic [5:0]  bytes;

  // Stage 1.
  assign peak = ctl1_i[wick_vec_pkg::CtlOdd] ? peak1_q : peak0_q;
  assign diff_en = ctl1_i[wick_vec_pkg::CtlData];
  assign u8 = cfg_i[ctl1_i[wick_vec_pkg::CtlHold] ? wick_vec_pkg::CfgHoldU8 : wick_vec_pkg::CfgU8];

  always_comb begin
    diff_d = '0;
    byte_v = '0;
    value_v = '0;
    zero_v = '0;
    if (diff_en) begin
      if (ctl1_i[wick_vec_pkg::CtlBelow]) zero_v = {peak[8], peak};
      else if (!cfg_i[wick_vec_pkg::CfgCentre]) zero_v = '0;
      else if (ctl1_i[wick_vec_pkg::CtlHold]) zero_v = {zb_i[8], zb_i};
      else zero_v = {za_i[8], za_i};
      for (int unsigned i = 0; i < N; i++) begin
        byte_v = rdata_i[8*i+:8];
        if (ctl1_i[wick_vec_pkg::CtlHold] && cfg_i[wick_vec_pkg::CfgSplat]) byte_v = rdata_i[7:0];
        value_v = {{2{~u8 & byte_v[7]}}, byte_v};
        diff_d[10*i+:10] = ctl1_i[wick_vec_pkg::CtlBelow] ? zero_v - value_v : value_v - zero_v;
      end
    end
  end

  // Stages 2 and 3.
  assign sums = ctl3_i[wick_vec_pkg::CtlSum];
  assign starts = sums ? ctl3_i[wick_vec_pkg::CtlFirst] : ctl2_i[wick_vec_pkg::CtlFirst];
  assign bytes = sums ? bytes3_i : bytes2_i;
  assign acc_en = sums | (|ctl2_i[wick_vec_pkg::CtlFold+:5]) |
      (~ctl2_i[wick_vec_pkg::CtlTable] & ~cfg_i[wick_vec_pkg::CfgNorm] &
       (~ctl2_i[wick_vec_pkg::CtlHold] | cfg_i[wick_vec_pkg::CfgAdd]) &
       (ctl2_i[wick_vec_pkg::CtlData] | ctl2_i[wick_vec_pkg::CtlFirst]));

  // The start of a maximum is the least value of the type.
  assign is_max = ctl2_i[wick_vec_pkg::CtlMax];
  assign ident_v = is_max & ~cfg_i[wick_vec_pkg::CfgU8] ? -40'd128 : 40'd0;

  always_comb begin
    acc_d = '0;
    base_v = '0;
    with_v = '0;
    active_v = 1'b0;
    above_v = 1'b0;
    if (acc_en) begin
      for (int unsigned i = 0; i < N; i++) begin
        base_v = acc_q[40*i+:40];
        active_v = (6'(i) < bytes && (sums || ctl2_i[wick_vec_pkg::CtlData])) ||
            ctl2_i[wick_vec_pkg::CtlHold];
        with_v = sums ? {16'b0, exp_i[24*i+:24]} : {{30{diff_q[10*i+9]}}, diff_q[10*i+:10]};
        if (starts) base_v = ident_v;
        if (cfg_i[wick_vec_pkg::CfgBaseHold]) base_v = {{8{hold_i[32*i+31]}}, hold_i[32*i+:32]};
        for (int unsigned k = 0; k < LogN; k++) begin
          if (ctl2_i[wick_vec_pkg::CtlFold+k]) begin
            active_v = i < (N >> (k + 1));
            with_v = acc_q[40*((i+(N>>(k+1)))%N)+:40];
          end
        end
        above_v = $signed(with_v[9:0]) > $signed(base_v[9:0]);
        if (!active_v) acc_d[40*i+:40] = base_v;
        else if (cfg_i[wick_vec_pkg::CfgMul]) acc_d[40*i+:40] =
            40'($signed(diff_q[10*i+:10]) * $signed(hold_i[32*i+:10]));
        else if (is_max) acc_d[40*i+:40] = above_v ? with_v : base_v;
        else if (cfg_i[wick_vec_pkg::CfgMin]) acc_d[40*i+:40] = above_v ? base_v : with_v;
        else acc_d[40*i+:40] = base_v + with_v;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (diff_en) diff_q <= diff_d;
    if (acc_en) acc_q <= acc_d;
    if (ctl3_i[wick_vec_pkg::CtlPeak]) begin
      if (ctl3_i[wick_vec_pkg::CtlOdd]) peak1_q <= acc_q[8:0];
      else peak0_q <= acc_q[8:0];
    end
  end

  assign diff_o = diff_q;
  assign acc_o = acc_q;
endmodule
