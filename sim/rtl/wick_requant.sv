// SPDX-License-Identifier: Apache-2.0
// Rescales N sums, as compiler/expr/quant.h and docs/isa.md define it:
//   y = clamp(rescale(a; mult, shift) + zero; lo, hi)
//   rescale(a; m, s) = shr_round(saturate_i32((a * m + 2^(s-1)) >> s), 16)
//
// A pipeline of four stages that all move when en_i is set: what enters with valid_i leaves four
// cycles of en_i later with valid_o. Parameters enter with the sums. 0 <= mult < 2^24, 1 <= shift
// <= 62.
module wick_requant #(
  parameter int unsigned N = 16
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,
  input  logic            en_i,
  input  logic            valid_i,
  input  logic [32*N-1:0] a_i,
  input  logic [24*N-1:0] mult_i,
  input  logic [6*N-1:0]  shift_i,
  input  logic [15:0]     zero_i,  // signed, as lo and hi
  input  logic [15:0]     lo_i,
  input  logic [15:0]     hi_i,
  output logic            valid_o,
  output logic [16*N-1:0] y_o
);
  logic [4:1] valid_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (clear_i) valid_q <= '0;
    else if (en_i) valid_q <= {valid_q[3:1], valid_i};
  end
  assign valid_o = valid_q[4];

`ifdef WICK_WIDE
  localparam int unsigned W = 64; // simulators are faster with whole words
`else
  localparam int unsigned W = 57;
`endif
  // Products with the halves of the multiplier, their sum, shifted and saturated, result.
  logic [W*N-1:0] low_q, high_q, product_q;
  logic [32*N-1:0] scaled_q;
  logic [16*N-1:0] y_q;
  logic [6*N-1:0] shift1_q, shift2_q;
  logic [47:0] range1_q, range2_q, range3_q; // zero, lo, hi

  function automatic logic [31:0] scale(input logic signed [W-1:0] product,
                                        input logic [5:0] shift);
    logic signed [W-1:0] half;
    half = product >>> (shift - 6'd1);
    half = (half + W'(1)) >>> 1;
    if (half[W-1:31] == '0 || half[W-1:31] == '1) scale = half[31:0];
    else scale = half[W-1] ? 32'h8000_0000 : 32'h7fff_ffff;
  endfunction

  function automatic logic [15:0] finish(input logic [31:0] scaled, input logic [47:0] range);
    logic signed [18:0] y;
    logic up;
    up = scaled[15] && (scaled[14:0] != '0 || scaled[16]);
    y = 19'(signed'(scaled[31:16])) + {18'b0, up} + 19'(signed'(range[15:0]));
    if (y < 19'(signed'(range[31:16]))) finish = range[31:16];
    else if (y > 19'(signed'(range[47:32]))) finish = range[47:32];
    else finish = y[15:0];
  endfunction

  always_ff @(posedge clk_i) begin
    if (en_i && valid_i) begin
      shift1_q <= shift_i;
      range1_q <= {hi_i, lo_i, zero_i};
      for (int unsigned i = 0; i < N; i++) begin
        low_q[W*i +: W] <= W'(signed'(a_i[32*i +: 32])) * W'({1'b0, mult_i[24*i +: 12]});
        high_q[W*i +: W] <= W'(signed'(a_i[32*i +: 32])) * W'({1'b0, mult_i[24*i+12 +: 12]});
      end
    end
    if (en_i && valid_q[1]) begin
      shift2_q <= shift1_q;
      range2_q <= range1_q;
      for (int unsigned i = 0; i < N; i++) begin
        product_q[W*i +: W] <= low_q[W*i +: W] + {high_q[W*i +: W-12], 12'b0};
      end
    end
    if (en_i && valid_q[2]) begin
      range3_q <= range2_q;
      for (int unsigned i = 0; i < N; i++) begin
        scaled_q[32*i +: 32] <= scale(product_q[W*i +: W], shift2_q[6*i +: 6]);
      end
    end
    if (en_i && valid_q[3]) begin
      for (int unsigned i = 0; i < N; i++) begin
        y_q[16*i +: 16] <= finish(scaled_q[32*i +: 32], range3_q);
      end
    end
  end
  assign y_o = y_q;
endmodule
