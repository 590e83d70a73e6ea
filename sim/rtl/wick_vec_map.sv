// SPDX-License-Identifier: Apache-2.0
// Slots of MAP: for every word of the result one that reads the second operand (where the function
// has two), then one that reads the first. A second operand that stays the same along a line (b0 =
// 0) is read once a line. load_i takes the fields from cmd_i; from the next cycle on a slot is
// offered until finished_o; ready_i: it is done in this cycle.
module wick_vec_map (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         load_i,
  input  logic [511:0] cmd_i,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [wick_vec_pkg::CtlW-1:0] ctl_o,
  output logic [5:0]   bytes_o,
  output logic         finished_o
);
  logic        run_q, finished_q, two_q, once_q, splat_q, table_q, max_q, held_q;
  logic [5:0]  n_q;
  logic [11:0] n0_q, n1_q, n2_q, i0_q, i1_q, i2_q;
  logic [2:0]  fn;
  logic        reads_b, last0, last1, last2;
  logic [1:0]  level;

  assign fn = cmd_i[wick_pkg::MapFnLsb+:3];
  assign reads_b = two_q & ~held_q;
  assign last0 = i0_q == n0_q - 12'd1;
  assign last1 = i1_q == n1_q - 12'd1;
  assign last2 = i2_q == n2_q - 12'd1;
  assign level = ~last0 ? 2'd0 : ~last1 ? 2'd1 : 2'd2;

  always_comb begin
    ctl_o = '0;
    bytes_o = '0;
    if (valid_o) begin
      ctl_o[wick_vec_pkg::CtlRead] = 1'b1;
      ctl_o[wick_vec_pkg::CtlData] = 1'b1;
      ctl_o[wick_vec_pkg::CtlFirst] = 1'b1;
      ctl_o[wick_vec_pkg::CtlHold] = reads_b;
      ctl_o[wick_vec_pkg::CtlWalkB] = reads_b;
      ctl_o[wick_vec_pkg::CtlTable] = table_q;
      ctl_o[wick_vec_pkg::CtlMax] = max_q;
      ctl_o[wick_vec_pkg::CtlLast] = ~reads_b;
      ctl_o[wick_vec_pkg::CtlStepA+:3] = {level, ~reads_b};
      ctl_o[wick_vec_pkg::CtlStepB+:3] = {level, ~reads_b & two_q};
      ctl_o[wick_vec_pkg::CtlStepY+:3] = {level, ~reads_b};
      bytes_o = reads_b & splat_q ? 6'd1 : n_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      finished_q <= 1'b0;
    end else if (clear_i) begin
      run_q <= 1'b0;
      finished_q <= 1'b0;
    end else if (load_i) begin
      run_q <= 1'b1;
      finished_q <= 1'b0;
    end else if (ready_i && !reads_b && level == 2'd2 && last2) begin
      run_q <= 1'b0;
      finished_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      two_q <= fn == 3'(wick_pkg::MapAdd) || fn == 3'(wick_pkg::MapMul) ||
          fn == 3'(wick_pkg::MapMax) || fn == 3'(wick_pkg::MapMin);
      once_q <= cmd_i[wick_pkg::MapB0Lsb+:16] == '0;
      splat_q <= cmd_i[wick_pkg::MapSplatLsb];
      table_q <= fn == 3'(wick_pkg::MapTable);
      max_q <= fn == 3'(wick_pkg::MapMax);
      held_q <= 1'b0;
      n_q <= cmd_i[wick_pkg::MapNLsb+:6];
      n0_q <= cmd_i[wick_pkg::MapN0Lsb+:12];
      n1_q <= cmd_i[wick_pkg::MapN1Lsb+:12];
      n2_q <= cmd_i[wick_pkg::MapN2Lsb+:12];
      i0_q <= '0;
      i1_q <= '0;
      i2_q <= '0;
    end else if (ready_i) begin
      held_q <= reads_b | (once_q & ~last0);
      if (!reads_b) begin
        i0_q <= last0 ? '0 : i0_q + 12'd1;
        if (last0) i1_q <= last1 ? '0 : i1_q + 12'd1;
        if (last0 && last1) i2_q <= i2_q + 12'd1;
      end
    end
  end

  assign valid_o = run_q;
  assign finished_o = finished_q;

`ifdef VERILATOR
  logic unused;
  assign unused = ^cmd_i;
`endif
endmodule
