// SPDX-License-Identifier: Apache-2.0
// The inverse root of a row of normalisation (compiler/expr/quant.h), with one multiplier:
//
//   v = (length * squares - sum^2) * 2^16 + epsilon
//   s = 30 - h, h the largest number with v * 4^h < 2^62; w = (v * 4^h) >> 30
//   r = 2^45 / sqrt(w), from a line, then three times Newton
//
// start_i takes sum and squares. sum_o, root_o and shift_o (r and s) hold from 31 cycles after it
// until the next one. Products take two cycles: operands into registers, then the product.
// bad_o pulses when v is not in 1 .. 2^62 - 1.
module wick_vec_norm_root (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,
  input  logic        start_i,
  input  logic [15:0] length_i,
  input  logic [23:0] sum_i,  // signed
  input  logic [31:0] squares_i,
  input  logic [63:0] epsilon_i,
  output logic        bad_o,
  output logic [23:0] sum_o,
  output logic [30:0] root_o,
  output logic [4:0]  shift_o
);
  localparam logic [4:0] Last = 5'd29;

  logic        busy_q;
  logic [4:0]  step_q, s_q, s_d;
  logic [31:0] a_q, b_q, r_q, w_q, a_d, b_d, r_d;
  logic [63:0] product_q, v_q, v_d;
  logic [23:0] sum_q, size;
  logic        low, product_en;

  assign size = sum_q[23] ? -sum_q : sum_q;
  assign low = ~v_q[61];  // w < 2^31, that is u < 2^15

  // v: first length * squares, then minus the square of the sum, then the rest of it; then it moves
  // up by 32, 16, 8, 4, 2 as long as it stays below 2^62.
  always_comb begin
    v_d = v_q;
    s_d = s_q;
    case (step_q)
      5'd0: s_d = 5'd30;
      5'd1: v_d = product_q;
      5'd2: v_d = v_q - product_q;
      5'd3: v_d = (v_q << 16) + epsilon_i;
      5'd4: if (v_q[61:30] == '0) {v_d, s_d} = {v_q << 32, s_q - 5'd16};
      5'd5: if (v_q[61:46] == '0) {v_d, s_d} = {v_q << 16, s_q - 5'd8};
      5'd6: if (v_q[61:54] == '0) {v_d, s_d} = {v_q << 8, s_q - 5'd4};
      5'd7: if (v_q[61:58] == '0) {v_d, s_d} = {v_q << 4, s_q - 5'd2};
      5'd8: if (v_q[61:60] == '0) {v_d, s_d} = {v_q << 2, s_q - 5'd1};
      default: ;
    endcase
  end

  // Operands, and r. Newton: p = (w * ((r * r) >> 29)) >> 32, r = (r * (3 * 2^29 - p)) >> 30.
  always_comb begin
    a_d = a_q;
    b_d = b_q;
    r_d = r_q;
    case (step_q)
      5'd0: {a_d, b_d} = {8'b0, size, 8'b0, size};
      5'd9: {a_d, b_d} = {16'b0, v_q[61:46], low ? 32'd18768 : 32'd6635};
      5'd11: begin
        r_d = (low ? 32'd1357316096 : 32'd959774720) - product_q[31:0];  // 20711, 14645 * 2^16
        {a_d, b_d} = {r_d, r_d};
      end
      5'd13, 5'd19, 5'd25: {a_d, b_d} = {w_q, product_q[60:29]};
      5'd15, 5'd21, 5'd27: {a_d, b_d} = {r_q, 32'd1610612736 - product_q[63:32]};
      5'd17, 5'd23, 5'd29: begin
        r_d = product_q[61:30];
        {a_d, b_d} = {r_d, r_d};
      end
      default: ;
    endcase
  end

  always_comb begin
    case (step_q)
      5'd0, 5'd1, 5'd10, 5'd12, 5'd14, 5'd16, 5'd18, 5'd20, 5'd22, 5'd24, 5'd26, 5'd28:
        product_en = busy_q;
      default: product_en = 1'b0;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
    end else begin
      busy_q <= (start_i | (busy_q & step_q != Last)) & ~clear_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      step_q <= '0;
      sum_q <= sum_i;
      a_q <= {16'b0, length_i};
      b_q <= squares_i;
    end else if (busy_q) begin
      step_q <= step_q + 5'd1;
      a_q <= a_d;
      b_q <= b_d;
      r_q <= r_d;
      v_q <= v_d;
      s_q <= s_d;
      if (step_q == 5'd9) w_q <= v_q[61:30];
    end
    if (product_en) product_q <= a_q * b_q;
  end

  assign bad_o = busy_q && step_q == 5'd4 &&
      (v_q == '0 || v_q[63:62] != '0 || epsilon_i[63:62] != '0);
  assign sum_o = sum_q;
  assign root_o = r_q[30:0];
  assign shift_o = s_q;
endmodule
