// SPDX-License-Identifier: Apache-2.0
// Data path of ROW layernorm and rmsnorm, behind stages 1 and 2 of the lanes (the numbers, minus za
// for rmsnorm, are on diff_i in stage 2 and stay there until the next word):
//
//   wick_vec_norm_sums    sum and sum of squares of a row
//   wick_vec_norm_root    the inverse of its deviation, with one multiplier
//   wick_vec_norm_affine  results, an eighth of a word for every slot that reads entries
//
// load_i takes the length of rows from cmd_i. Where ctl1_i says Take, what the last sums gave is
// used from the next cycle on. A result is on data_o, with valid_o, 7 cycles after its last slot.
// bad_o pulses when a row's v is not in 1 .. 2^62 - 1.
module wick_vec_norm #(
  parameter int unsigned N = 16
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,
  input  logic            load_i,
  input  logic [511:0]    cmd_i,
  input  logic            centred_i,  // rmsnorm: the sum counts as 0
  input  logic [wick_vec_pkg::CtlLaneW-1:0] ctl1_i,
  input  logic [wick_vec_pkg::CtlLaneW-1:0] ctl2_i,
  input  logic [5:0]      bytes2_i,
  input  logic [10*N-1:0] diff_i,
  input  logic [8*N-1:0]  rdata_i,
  input  logic [63:0]     epsilon_i,
  input  logic [5:0]      shift_i,
  input  logic [15:0]     zero_i,
  input  logic [15:0]     lo_i,
  input  logic [15:0]     hi_i,
  output logic            bad_o,
  output logic            valid_o,
  output logic [8*N-1:0]  data_o
);
  logic [15:0] length_q;
  logic        summed, take;
  logic [23:0] sum, row_sum, sum_q;
  logic [31:0] squares;
  logic [30:0] root, root_q;
  logic [4:0]  shift, shift_q;

  // The row whose results are computed.
  assign take = ctl1_i[wick_vec_pkg::CtlTake];
  always_ff @(posedge clk_i) begin
    if (load_i) begin
      length_q <= 16'((32'(cmd_i[wick_pkg::RowKcLsb+:12]) - 32'd1) * N +
                      32'(cmd_i[wick_pkg::RowKTailLsb+:6]));
    end
    if (take) begin
      sum_q <= row_sum;
      root_q <= root;
      shift_q <= shift;
    end
  end

  wick_vec_norm_sums #(
    .N(N)
  ) u_sums (
    .clk_i, .rst_ni, .clear_i,
    .en_i(ctl2_i[wick_vec_pkg::CtlStat]),
    .first_i(ctl2_i[wick_vec_pkg::CtlFirst]),
    .last_i(ctl2_i[wick_vec_pkg::CtlTotal]),
    .centred_i,
    .bytes_i(bytes2_i),
    .diff_i,
    .done_o(summed),
    .sum_o(sum),
    .squares_o(squares)
  );

  wick_vec_norm_root u_root (
    .clk_i, .rst_ni, .clear_i,
    .start_i(summed),
    .length_i(length_q),
    .sum_i(sum),
    .squares_i(squares),
    .epsilon_i,
    .bad_o,
    .sum_o(row_sum),
    .root_o(root),
    .shift_o(shift)
  );

  wick_vec_norm_affine #(
    .N(N)
  ) u_affine (
    .clk_i, .rst_ni, .clear_i,
    .en_i(ctl1_i[wick_vec_pkg::CtlGamma]),
    .last_i(ctl1_i[wick_vec_pkg::CtlLast]),
    .part_i(ctl1_i[wick_vec_pkg::CtlPart+:3]),
    .diff_i, .rdata_i,
    .length_i(length_q), .sum_i(sum_q), .root_i(root_q), .root_shift_i(shift_q),
    .shift_i, .zero_i, .lo_i, .hi_i,
    .valid_o, .data_o
  );

`ifdef VERILATOR
  logic unused;
  assign unused = ^{cmd_i, ctl1_i, ctl2_i};
`endif
endmodule
