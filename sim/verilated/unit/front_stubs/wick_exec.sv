// SPDX-License-Identifier: Apache-2.0
// Stands in for the execute engine in the test of the front end: touches no memory. A command lasts
// as many cycles as the low bits of CONV's `in` say; MARK works; a DWC with n = 0 fails.
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
module wick_exec #(
  parameter int unsigned N = 16,
  parameter int unsigned AccEntries = 1024,
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
  output logic           in_req_o,
  output logic           in_we_o,
  output logic [19:0]    in_addr_o,
  output logic [N-1:0]   in_be_o,
  output logic [8*N-1:0] in_wdata_o,
  input  logic           in_gnt_i,
  input  logic [8*N-1:0] in_rdata_i,
  output logic           drain_req_o,
  output logic           drain_we_o,
  output logic [19:0]    drain_addr_o,
  output logic [N-1:0]   drain_be_o,
  output logic [8*N-1:0] drain_wdata_o,
  input  logic           drain_gnt_i,
  input  logic [8*N-1:0] drain_rdata_i,
  output logic           wt_req_o,
  output logic           wt_we_o,
  output logic [19:0]    wt_addr_o,
  output logic [N-1:0]   wt_be_o,
  output logic [8*N-1:0] wt_wdata_o,
  input  logic           wt_gnt_i,
  input  logic [8*N-1:0] wt_rdata_i,
  output logic           mark_valid_o,
  output logic [15:0]    mark_row_o,
  input  logic           mark_ready_i,
  output logic           ev_mac_o,
  output logic [11:0]    ev_macs_o,
  output logic [1:0]     ev_acc_read_o,
  output logic [1:0]     ev_acc_write_o,
  output logic           busy_o
);
  localparam logic [2:0] Idle = 3'd0, Work = 3'd1, Done = 3'd2, Fail = 3'd3, Dead = 3'd4;
  logic [2:0]  state_q;
  logic        mark_q, bad_q;
  logic [15:0] row_q;
  logic [4:0]  left_q;
  logic [19:0] index_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= Idle;
    else if (clear_i) state_q <= Idle;
    else begin
      case (state_q)
        Idle: if (cmd_valid_i) state_q <= Work;
        Work: begin
          if (mark_q && mark_ready_i) state_q <= Done;
          if (!mark_q && left_q == '0) state_q <= bad_q ? Fail : Done;
        end
        Done:    state_q <= Idle;
        Fail:    state_q <= Dead;
        default: ;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle && cmd_valid_i) begin
      mark_q  <= cmd_i[4:0] == 5'(wick_pkg::OpMark);
      row_q   <= cmd_i[wick_pkg::MarkRowLsb+:16];
      left_q  <= cmd_i[wick_pkg::ConvInLsb+:5];
      index_q <= cmd_index_i;
      bad_q   <= cmd_i[4:0] == 5'(wick_pkg::OpDwc) && cmd_i[wick_pkg::DwcNLsb+:6] == '0;
    end else if (state_q == Work) begin
      left_q <= left_q - 5'd1;
    end
  end
  assign cmd_ready_o   = state_q == Idle;
  assign active_o      = state_q != Idle;
  assign done_o        = state_q == Done;
  assign error_o       = state_q == Fail;
  assign error_code_o  = 8'(wick_pkg::ErrRange);
  assign error_index_o = index_q;
  assign mark_valid_o  = state_q == Work && mark_q;
  assign mark_row_o    = row_q;

  assign stall_memory_o = mark_valid_o && !mark_ready_i;
  assign stall_bank_o   = 1'b0;
  assign {in_req_o, in_we_o, in_addr_o, in_be_o, in_wdata_o} = '0;
  assign {drain_req_o, drain_we_o, drain_addr_o, drain_be_o, drain_wdata_o} = '0;
  assign {wt_req_o, wt_we_o, wt_addr_o, wt_be_o, wt_wdata_o} = '0;
  assign {ev_mac_o, ev_macs_o, ev_acc_read_o, ev_acc_write_o, busy_o} = '0;
endmodule
