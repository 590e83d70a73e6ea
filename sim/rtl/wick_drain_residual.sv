// SPDX-License-Identifier: Apache-2.0
// Adds a second operand to N values, docs/isa.md:
//   z = clamp(shr_round((y - za) * ma + (r - zb) * mb, shift) + zy; lo2, hi2)
// or hands them on when add_i is not set. The sum is exact, it does not wrap.
//
// A pipeline of four stages that all move when en_i is set: what enters with valid_i leaves four
// cycles of en_i later with valid_o. Parameters (a parameter record's bytes 8 to 27, and its flag)
// enter with the values.
module wick_drain_residual #(
  parameter int unsigned N = 16
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,
  input  logic            en_i,
  input  logic            valid_i,
  input  logic            add_i,
  input  logic [16*N-1:0] y_i,
  input  logic [8*N-1:0]  r_i,
  input  logic            r_u8_i,
  input  logic [23:0]     ma_i,
  input  logic [23:0]     mb_i,
  input  logic [5:0]      shift_i,
  input  logic [15:0]     za_i,
  input  logic [15:0]     zb_i,
  input  logic [15:0]     zy_i,
  input  logic [15:0]     lo_i,
  input  logic [15:0]     hi_i,
  output logic            valid_o,
  output logic [8*N-1:0]  z_o
);
`ifdef WICK_WIDE
  localparam int unsigned W = 64; // simulators are faster with whole words
`else
  localparam int unsigned W = 42;
`endif
  logic [4:1] valid_q;
  logic [3:1] add_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (clear_i) valid_q <= '0;
    else if (en_i) valid_q <= {valid_q[3:1], valid_i};
  end
  assign valid_o = valid_q[4];

  // Differences, products, shifted sum, result.
  logic [17*N-1:0] da_q, db_q;
  logic [W*N-1:0] pa_q, pb_q, shifted_q;
  logic [8*N-1:0] y1_q, y2_q, y3_q, z_q; // of values that are handed on
  logic [23:0] ma_q, mb_q;
  logic [5:0] shift1_q, shift2_q;
  logic [47:0] range1_q, range2_q, range3_q; // hi, lo, zy

  // below: the bits that are shifted out after the first of them
  function automatic logic signed [W-1:0] shr_round(input logic signed [W-1:0] v,
                                                    input logic [5:0] shift,
                                                    input logic [W-1:0] below);
    logic signed [W-1:0] twice, down; // twice the result rounded down, and that
    twice = v >>> (shift - 6'd1);
    down = twice >>> 1;
    shr_round = v;
    if (shift != '0) begin
      shr_round = twice[0] && ((v & below) != '0 || twice[1]) ? down + W'(1) : down;
    end
  endfunction

  function automatic logic [7:0] finish(input logic signed [W-1:0] shifted,
                                        input logic [47:0] range);
    logic signed [W-1:0] z;
    z = shifted + W'(signed'(range[15:0]));
    if (z < W'(signed'(range[31:16]))) finish = range[23:16];
    else if (z > W'(signed'(range[47:32]))) finish = range[39:32];
    else finish = z[7:0];
  endfunction

  logic [W-1:0] below;
  assign below = shift2_q == '0 ? '0 : ~({W{1'b1}} << (shift2_q - 6'd1));

  always_ff @(posedge clk_i) begin
    if (en_i && valid_i) begin
      add_q[1] <= add_i;
      if (add_i) begin
        ma_q <= ma_i;
        mb_q <= mb_i;
        shift1_q <= shift_i;
        range1_q <= {hi_i, lo_i, zy_i};
        for (int unsigned i = 0; i < N; i++) begin
          da_q[17*i +: 17] <= 17'(signed'(y_i[16*i +: 16])) - 17'(signed'(za_i));
          db_q[17*i +: 17] <= 17'(signed'({!r_u8_i && r_i[8*i+7], r_i[8*i +: 8]})) -
                              17'(signed'(zb_i));
        end
      end else begin
        for (int unsigned i = 0; i < N; i++) y1_q[8*i +: 8] <= y_i[16*i +: 8];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (en_i && valid_q[1]) begin
      add_q[2] <= add_q[1];
      y2_q <= y1_q;
      if (add_q[1]) begin
        shift2_q <= shift1_q;
        range2_q <= range1_q;
        for (int unsigned i = 0; i < N; i++) begin
          pa_q[W*i +: W] <= W'(signed'(da_q[17*i +: 17])) * W'(signed'(ma_q));
          pb_q[W*i +: W] <= W'(signed'(db_q[17*i +: 17])) * W'(signed'(mb_q));
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (en_i && valid_q[2]) begin
      add_q[3] <= add_q[2];
      y3_q <= y2_q;
      if (add_q[2]) begin
        range3_q <= range2_q;
        for (int unsigned i = 0; i < N; i++) begin
          shifted_q[W*i +: W] <=
              shr_round(pa_q[W*i +: W] + pb_q[W*i +: W], shift2_q, below);
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (en_i && valid_q[3]) begin
      z_q <= y3_q;
      if (add_q[3]) begin
        for (int unsigned i = 0; i < N; i++) begin
          z_q[8*i +: 8] <= finish(shifted_q[W*i +: W], range3_q);
        end
      end
    end
  end
  assign z_o = z_q;
endmodule
