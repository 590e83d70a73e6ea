// SPDX-License-Identifier: Apache-2.0
// Walks the output pixels of a command that is drained: its accumulator entries in order, and where
// in the scratchpad each goes. take_i (with free_o): a new command from the next cycle on; step_i:
// the next pixel. range_o: the pixel's bytes would lie outside the scratchpad.
module wick_drain_walk #(
  parameter int unsigned AccEntries = 1024,
  parameter int unsigned ScratchpadBytes = 262144,
  localparam int unsigned EntryW = $clog2(AccEntries)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,
  input  logic                 take_i,
  /* verilator lint_off UNUSEDSIGNAL */ // looks at its part of the record
  input  wick_exec_pkg::ctrl_t ctrl_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                 sel_i,
  output logic                 free_o,
  output logic                 valid_o,
  output logic                 range_o,
  input  logic                 step_i,
  output logic [EntryW-1:0]    entry_o,
  output logic [19:0]          out_o,
  output logic [19:0]          res_o,
  output logic                 last_o,
  output logic                 residual_o,
  output logic                 sel_o,
  output logic [19:0]          index_o
);
  typedef logic [31:0] addr_t; // offsets stay below 2^30

  logic valid_q, residual_q, sel_q;
  logic [EntryW-1:0] entry_q;
  logic [19:0] out_q, res_q, out_y_q, index_q;
  logic [7:0] out_x_q;
  logic [11:0] ny_q, y_q;
  logic [8:0] nx_q, x_q;
  logic [5:0] n_q;
  addr_t row_q, offset_q;

  logic x_last, y_last;
  addr_t out, res;
  assign x_last = x_q == nx_q - 9'd1;
  assign y_last = y_q == ny_q - 12'd1;
  assign out = 32'(out_q) + offset_q;
  assign res = 32'(res_q) + offset_q;
  assign range_o = out + 32'(n_q) > 32'(ScratchpadBytes) ||
                   (residual_q && res + 32'(n_q) > 32'(ScratchpadBytes));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (clear_i) valid_q <= 1'b0;
    else if (take_i) valid_q <= 1'b1;
    else if (step_i && last_o) valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (take_i) begin
      residual_q <= ctrl_i.residual;
      sel_q <= sel_i;
      entry_q <= EntryW'(ctrl_i.acc);
      out_q <= ctrl_i.out;
      res_q <= ctrl_i.res;
      out_y_q <= ctrl_i.out_y;
      out_x_q <= ctrl_i.out_x;
      index_q <= ctrl_i.index;
      ny_q <= ctrl_i.ny;
      nx_q <= ctrl_i.out_nx;
      n_q <= ctrl_i.n;
      x_q <= '0;
      y_q <= '0;
      row_q <= '0;
      offset_q <= '0;
    end else if (step_i) begin
      entry_q <= entry_q + EntryW'(1);
      x_q <= x_q + 9'd1;
      offset_q <= offset_q + 32'(out_x_q);
      if (x_last) begin
        x_q <= '0;
        y_q <= y_q + 12'd1;
        row_q <= row_q + 32'(out_y_q);
        offset_q <= row_q + 32'(out_y_q);
      end
    end
  end

  assign free_o = !valid_q;
  assign valid_o = valid_q;
  assign entry_o = entry_q;
  assign out_o = out[19:0];
  assign res_o = res[19:0];
  assign last_o = x_last && y_last;
  assign residual_o = residual_q;
  assign sel_o = sel_q;
  assign index_o = index_q;
endmodule
