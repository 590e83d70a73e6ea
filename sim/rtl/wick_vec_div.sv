// SPDX-License-Identifier: Apache-2.0
// The factor of a row of softmax: with z the number of bits of sum and m = bias_0, s = shift_0,
//
//   Q = floor(m * 2^(z - 7) / sum);  if Q >= 2^24: Q = Q >> 1, adj = 1, otherwise adj = 0
//   mult = Q, shift = s + z - 7 - adj - 16
//
// start_i takes sum, m and s. 6 cycles move the top bit of sum to bit 39, then it is
// floor(m * 2^33 / (sum * 2^(40 - z))): 13 cycles of two bits each, restoring. mult_o and shift_o
// hold from 20 cycles after start_i until the next one; soon_o is high 16 cycles after it, when
// a slot of the next cycle (whose data need the factor three cycles after its own) may start.
// bad_o pulses 20 cycles after start_i: sum is 0, m not in [2^30, 2^31) or shift not in [1, 62].
module wick_vec_div (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,
  input  logic        start_i,
  input  logic [39:0] sum_i,
  input  logic [31:0] m_i,
  input  logic [7:0]  s_i,
  output logic        soon_o,
  output logic        bad_o,
  output logic [23:0] mult_o,
  output logic [5:0]  shift_o
);
  logic        busy_q, last_q, m_bad_q;
  logic [4:0]  step_q;  // 0 .. 5 normalise, 6 .. 18 divide
  logic [39:0] norm_q, norm_d, rest_q, rest_d;
  logic [5:0]  zeros_q, zeros_d;
  logic [25:0] quotient_q, quotient_d;
  logic [9:0]  shift_base_q, shift;
  logic [40:0] twice, once;

  // One step of the divider is two bits.
  always_comb begin
    norm_d = norm_q;
    zeros_d = zeros_q;
    rest_d = rest_q;
    quotient_d = quotient_q;
    twice = '0;
    once = '0;
    if (busy_q && step_q < 5'd6) begin
      case (step_q)
        5'd0: if (norm_q[39-:32] == '0) norm_d = norm_q << 32;
        5'd1: if (norm_q[39-:16] == '0) norm_d = norm_q << 16;
        5'd2: if (norm_q[39-:8] == '0) norm_d = norm_q << 8;
        5'd3: if (norm_q[39-:4] == '0) norm_d = norm_q << 4;
        5'd4: if (norm_q[39-:2] == '0) norm_d = norm_q << 2;
        default: if (!norm_q[39]) norm_d = norm_q << 1;
      endcase
      zeros_d = {zeros_q[4:0], norm_d != norm_q};
    end else if (busy_q) begin
      twice = {rest_q, 1'b0};
      quotient_d[25:1] = quotient_q[24:0];
      quotient_d[0] = twice >= {1'b0, norm_q};
      if (quotient_d[0]) twice = twice - {1'b0, norm_q};
      once = {twice[39:0], 1'b0};
      quotient_d[25:1] = quotient_d[24:0];
      quotient_d[0] = once >= {1'b0, norm_q};
      if (quotient_d[0]) once = once - {1'b0, norm_q};
      rest_d = once[39:0];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      last_q <= 1'b0;
    end else begin
      if (start_i) busy_q <= 1'b1;
      else if (clear_i || step_q == 5'd18) busy_q <= 1'b0;
      last_q <= busy_q && step_q == 5'd18 && !clear_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      step_q <= '0;
      norm_q <= sum_i;
      zeros_q <= '0;
      rest_q <= {2'b0, m_i[30:0], 7'b0};
      m_bad_q <= m_i[31:30] != 2'b01;
      quotient_q <= '0;
      shift_base_q <= {2'b0, s_i} + 10'd17;  // z - 7 - 16 = 40 - zeros - 23
    end else if (busy_q) begin
      step_q <= step_q + 5'd1;
      norm_q <= norm_d;
      zeros_q <= zeros_d;
      rest_q <= rest_d;
      quotient_q <= quotient_d;
    end
  end

  assign shift = shift_base_q - {4'b0, zeros_q} - {9'b0, quotient_q[24]};
  assign soon_o = busy_q && step_q == 5'd15;
  assign bad_o = last_q & (m_bad_q | ~norm_q[39] | shift[9] | (shift[8:0] == '0) |
                           (shift[8:0] > 9'd62));
  assign mult_o = quotient_q[24] ? quotient_q[24:1] : quotient_q[23:0];
  assign shift_o = shift[5:0];
endmodule
