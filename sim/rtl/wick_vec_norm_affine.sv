// SPDX-License-Identifier: Apache-2.0
// Results of normalisation, N/8 at a time. en_i: rdata_i holds the entries {g, b} of eighth part_i
// of the word whose numbers q are on diff_i; last_i: the word ends with them. 6 cycles later:
//
//   x = ((length * q - sum) * r + 2^s / 2) >> s
//   y = clamp(shr_round(saturate_i32(((x * g + 2^(shift-1)) >> shift) + b), 16) + zero)
//
// and with last_i the word is on data_o, with valid_o. Stages: difference; * r; >> s; * g;
// >> shift; + b; clamp. Parameters are those of the cycle in which a stage works.
module wick_vec_norm_affine #(
  parameter int unsigned N = 16
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,
  input  logic            en_i,
  input  logic            last_i,
  input  logic [2:0]      part_i,
  input  logic [10*N-1:0] diff_i,
  input  logic [8*N-1:0]  rdata_i,
  input  logic [15:0]     length_i,
  input  logic [23:0]     sum_i,   // signed
  input  logic [30:0]     root_i,  // r
  input  logic [4:0]      root_shift_i,
  input  logic [5:0]      shift_i,
  input  logic [15:0]     zero_i,
  input  logic [15:0]     lo_i,
  input  logic [15:0]     hi_i,
  output logic            valid_o,
  output logic [8*N-1:0]  data_o
);
  localparam int unsigned L = N / 8;

  // What travels: stage k is that of k cycles ago.
  logic [6:1]   en_q;
  logic [4*6-1:0] place_q;  // {last, part} of stages 1 to 6
  logic [25*L-1:0] g1_q, g2_q, g3_q, diff_q, diff_d;
  logic [32*L-1:0] b1_q, b2_q, b3_q, b4_q, b5_q, x_q;
  logic [64*L-1:0] first_q, second_q, down_q;
  logic [17*L-1:0] rounded_q;  // {up, the upper half}
  logic [10*L-1:0] part;
  logic [8*N-1:0]  word_q, word_d;
  logic [63:0]     half, root_half;

  // {rounded up, upper half} of saturate(down + b)
  function automatic logic [16:0] fraction(input logic [63:0] down, input logic [31:0] b);
    logic [63:0] sum;
    logic [31:0] r;
    sum = down + {{32{b[31]}}, b};
    r = sum[31:0];
    if (sum[63:31] != '0 && sum[63:31] != '1) r = {sum[63], {31{~sum[63]}}};
    fraction = {r[15] & (r[16] | (r[14:0] != '0)), r[31:16]};
  endfunction

  function automatic logic [7:0] clamped(input logic [16:0] v, input logic [15:0] zero,
                                         input logic [15:0] lo, input logic [15:0] hi);
    logic signed [17:0] y, low, high;
    low = {{2{lo[15]}}, lo};
    high = {{2{hi[15]}}, hi};
    y = {{2{v[15]}}, v[15:0]} + {{2{zero[15]}}, zero} + {17'b0, v[16]};
    if (y < low) y = low;
    if (y > high) y = high;
    clamped = y[7:0];
  endfunction

  assign half = (64'd1 << shift_i) >> 1;
  assign root_half = (64'd1 << root_shift_i) >> 1;

  always_comb begin
    part = '0;
    diff_d = '0;
    if (en_i) begin
      part = diff_i[10*L*part_i+:10*L];
      for (int unsigned i = 0; i < L; i++)
        diff_d[25*i+:25] = 25'($signed({9'b0, length_i}) * 25'($signed(part[10*i+:10]))) -
            {sum_i[23], sum_i};
    end
  end

  always_comb begin
    word_d = word_q;
    if (en_q[6]) begin
      for (int unsigned i = 0; i < L; i++)
        word_d[8*(L*place_q[20+:3]+i)+:8] = clamped(rounded_q[17*i+:17], zero_i, lo_i, hi_i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) en_q <= '0;
    else en_q <= clear_i ? '0 : {en_q[5:1], en_i};
  end

  always_ff @(posedge clk_i) begin
    if (en_i || en_q != '0) place_q <= {place_q[19:0], last_i, part_i};
    if (en_i) begin
      for (int unsigned i = 0; i < L; i++) begin
        b1_q[32*i+:32] <= rdata_i[64*i+:32];
        g1_q[25*i+:25] <= rdata_i[64*i+32+:25];
      end
      diff_q <= diff_d;
    end
    if (en_q[1]) begin
      {b2_q, g2_q} <= {b1_q, g1_q};
      for (int unsigned i = 0; i < L; i++)
        first_q[64*i+:64] <= 64'($signed(diff_q[25*i+:25])) * {33'b0, root_i};
    end
    if (en_q[2]) begin
      {b3_q, g3_q} <= {b2_q, g2_q};
      for (int unsigned i = 0; i < L; i++)
        x_q[32*i+:32] <= 32'($signed(first_q[64*i+:64] + root_half) >>> root_shift_i);
    end
    if (en_q[3]) begin
      b4_q <= b3_q;
      for (int unsigned i = 0; i < L; i++)
        second_q[64*i+:64] <= 64'($signed(x_q[32*i+:32])) * 64'($signed(g3_q[25*i+:25]));
    end
    if (en_q[4]) begin
      b5_q <= b4_q;
      for (int unsigned i = 0; i < L; i++)
        down_q[64*i+:64] <= $signed(second_q[64*i+:64] + half) >>> shift_i;
    end
    if (en_q[5]) begin
      for (int unsigned i = 0; i < L; i++)
        rounded_q[17*i+:17] <= fraction(down_q[64*i+:64], b5_q[32*i+:32]);
    end
    if (en_q[6]) word_q <= word_d;
  end

  assign valid_o = en_q[6] & place_q[23];
  assign data_o = valid_o ? word_d : '0;
endmodule
