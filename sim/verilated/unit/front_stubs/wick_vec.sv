// SPDX-License-Identifier: Apache-2.0
// Stands in for the vector engine in the test of the front end: every command retires in two
// cycles.
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
module wick_vec #(
  parameter int unsigned N = 16,
  parameter int unsigned Tables = 8,
  parameter int unsigned ScratchpadBytes = 262144
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           clear_i,
  input  logic           cmd_valid_i,
  output logic           cmd_ready_o,
  input  logic [511:0]   cmd_i,
  input  logic [19:0]    cmd_index_i,
  output logic           done_o,
  output logic           active_o,
  output logic           stall_memory_o,
  output logic           stall_bank_o,
  output logic           error_o,
  output logic [7:0]     error_code_o,
  output logic [19:0]    error_index_o,
  output logic           req_o,
  output logic           we_o,
  output logic [19:0]    addr_o,
  output logic [N-1:0]   be_o,
  output logic [8*N-1:0] wdata_o,
  input  logic           gnt_i,
  input  logic [8*N-1:0] rdata_i,
  output logic           ev_slot_o
);
  logic busy_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= cmd_valid_i && !busy_q && !clear_i;
  end
  assign cmd_ready_o = !busy_q;
  assign active_o    = busy_q;
  assign done_o      = busy_q;
  assign {stall_memory_o, stall_bank_o, error_o, error_code_o, error_index_o} = '0;
  assign {req_o, we_o, addr_o, be_o, wdata_o} = '0;
  assign ev_slot_o = 1'b0;
endmodule
