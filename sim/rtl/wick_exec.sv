// SPDX-License-Identifier: Apache-2.0
// The execute engine: CONV, DWC, MM and MARK.
//
// Three stages that each hold a command, so that neighbours overlap: W (wick_weights) fetches
// weights, M (wick_mac_issue, wick_mac, wick_acc) computes, D (wick_drain) requantises and writes.
// Between W and M one command waits (pend). Commands retire in order.
//
//   cmd_*     a command starts with valid and ready; what it waits for has retired. ready depends
//             on the kind of command: a MARK needs only that no other MARK is here.
//   done_o    a command has retired (a pulse)
//   mark_*    the counters are to be copied in the cycle of valid and ready
//   in_*, drain_*, wt_*   scratchpad ports: req and payload stay until gnt; data a cycle later
//   error_*   a pulse; from then on nothing is asked for until clear_i
// ev_* are events of the present cycle. busy_o and ev_mac_o: the array multiplies.
//
// Timing of a command alone, from its start in cycle 0: its first weights are asked for in cycle 1,
// the array's first word goes out when the first tile has been granted, sums are written five
// cycles after the word, retirement is two cycles later, or with drain the first pixel is read
// then.
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

  output logic           mark_valid_o,
  output logic [15:0]    mark_row_o,
  input  logic           mark_ready_i,

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

  output logic           busy_o,
  output logic           ev_mac_o,
  output logic [11:0]    ev_macs_o,
  output logic [1:0]     ev_acc_read_o,
  output logic [1:0]     ev_acc_write_o
);
  localparam int unsigned OperandW = wick_exec_pkg::OperandW;
  localparam int unsigned SumW = wick_exec_pkg::SumW;
  localparam int unsigned EntryW = $clog2(AccEntries);

  // ---- acceptance ------------------------------------------------------------------------------
  wick_exec_pkg::ctrl_t ctrl, pend_q;
  logic bad, is_mark, start, start_mark, halt, pend_valid_q, bad_q, mark_ready;
  logic wt_ready, mac_free, drain_ready, mac_load;
  logic [19:0] bad_index_q;

  wick_exec_decode #(.N(N)) u_decode (
    .cmd_i, .index_i(cmd_index_i), .en_i(start), .ctrl_o(ctrl), .bad_o(bad)
  );

  assign is_mark = cmd_i[wick_pkg::HdrOpcodeLsb +: wick_pkg::HdrOpcodeW] == wick_pkg::OpMark;
  assign cmd_ready_o = !halt && !bad_q && (is_mark ? mark_ready : wt_ready && !pend_valid_q);
  assign start = cmd_valid_i && cmd_ready_o && !is_mark;
  assign start_mark = cmd_valid_i && cmd_ready_o && is_mark;
  assign mac_load = pend_valid_q && mac_free && drain_ready && !halt;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pend_valid_q <= 1'b0;
      bad_q <= 1'b0;
    end else if (clear_i) begin
      pend_valid_q <= 1'b0;
      bad_q <= 1'b0;
    end else begin
      if (start) pend_valid_q <= !bad;
      else if (mac_load) pend_valid_q <= 1'b0;
      bad_q <= start && bad;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      pend_q <= ctrl;
      bad_index_q <= cmd_index_i;
    end
  end

  // ---- W ---------------------------------------------------------------------------------------
  logic tile_valid, tile_take, wt_range;
  logic [N*N*OperandW-1:0] tile;
  logic [19:0] wt_index;
  wick_weights #(.N(N), .ScratchpadBytes(ScratchpadBytes)) u_weights (
    .clk_i, .rst_ni, .clear_i, .halt_i(halt),
    .valid_i(start && !bad), .ready_o(wt_ready), .ctrl_i(ctrl),
    .take_i(tile_take), .tile_valid_o(tile_valid), .tile_o(tile),
    .req_o(wt_req_o), .addr_o(wt_addr_o), .be_o(wt_be_o), .gnt_i(wt_gnt_i), .rdata_i(wt_rdata_i),
    .range_o(wt_range), .index_o(wt_index)
  );
  assign wt_we_o = 1'b0;
  assign wt_wdata_o = '0;

  // ---- M ---------------------------------------------------------------------------------------
  logic mac_valid, go, in_range, mac_empty, pre_valid, sum_valid, summed;
  logic [19:0] in_index;
  logic word_valid, word_u8, word_dwc, word_clear_window, word_swap, word_emit;
  logic [N-1:0] word_mask;
  logic [7:0] word_zero;
  logic [11:0] word_macs, macs_q;
  wick_exec_pkg::tag_t word_tag, pre_tag, sum_tag;
  logic [N*SumW-1:0] sums;
  logic acc_req, acc_gnt;
  logic [EntryW-1:0] acc_entry;
  logic [32*N-1:0] acc_data;

  wick_mac_issue #(.N(N), .AccEntries(AccEntries), .ScratchpadBytes(ScratchpadBytes)) u_issue (
    .clk_i, .rst_ni, .clear_i, .halt_i(halt), .load_i(mac_load), .free_o(mac_free),
    .ctrl_i(pend_q), .tile_valid_i(tile_valid), .take_o(tile_take), .valid_o(mac_valid),
    .go_o(go), .req_o(in_req_o), .addr_o(in_addr_o), .be_o(in_be_o), .gnt_i(in_gnt_i),
    .word_valid_o(word_valid), .word_mask_o(word_mask), .word_u8_o(word_u8),
    .word_zero_o(word_zero), .word_dwc_o(word_dwc), .word_clear_window_o(word_clear_window),
    .word_swap_o(word_swap), .word_emit_o(word_emit), .word_tag_o(word_tag),
    .word_macs_o(word_macs), .range_o(in_range), .index_o(in_index)
  );
  assign in_we_o = 1'b0;
  assign in_wdata_o = '0;

  wick_mac #(.N(N)) u_mac (
    .clk_i, .rst_ni, .clear_i, .word_valid_i(word_valid), .word_i(in_rdata_i),
    .mask_i(word_mask), .u8_i(word_u8), .zero_i(word_zero), .dwc_i(word_dwc),
    .clear_window_i(word_clear_window), .swap_i(word_swap), .tile_i(tile), .emit_i(word_emit),
    .tag_i(word_tag), .busy_o(busy_o), .empty_o(mac_empty), .pre_valid_o(pre_valid),
    .pre_tag_o(pre_tag), .valid_o(sum_valid), .tag_o(sum_tag), .sums_o(sums)
  );

  wick_acc #(.N(N), .Entries(AccEntries)) u_acc (
    .clk_i, .rst_ni, .clear_i, .pre_valid_i(pre_valid), .pre_tag_i(pre_tag),
    .valid_i(sum_valid), .tag_i(sum_tag), .sums_i(sums), .last_o(summed),
    .drain_req_i(acc_req), .drain_entry_i(acc_entry), .drain_gnt_o(acc_gnt),
    .drain_data_o(acc_data), .ev_read_o(ev_acc_read_o), .ev_write_o(ev_acc_write_o)
  );
  always_ff @(posedge clk_i) if (word_valid) macs_q <= word_macs;
  assign ev_mac_o = busy_o;
  assign ev_macs_o = busy_o ? macs_q : '0;

  // ---- D ---------------------------------------------------------------------------------------
  logic drain_done, drain_taken, drain_hold, drain_empty, drain_range;
  logic [19:0] drain_index;
  wick_drain #(.N(N), .AccEntries(AccEntries), .ScratchpadBytes(ScratchpadBytes)) u_drain (
    .clk_i, .rst_ni, .clear_i, .halt_i(halt), .valid_i(mac_load), .ready_o(drain_ready),
    .ctrl_i(pend_q), .summed_i(summed), .done_o(drain_done), .taken_o(drain_taken),
    .hold_i(drain_hold), .empty_o(drain_empty), .acc_req_o(acc_req), .acc_entry_o(acc_entry),
    .acc_gnt_i(acc_gnt), .acc_data_i(acc_data), .req_o(drain_req_o), .we_o(drain_we_o),
    .addr_o(drain_addr_o), .be_o(drain_be_o), .wdata_o(drain_wdata_o), .gnt_i(drain_gnt_i),
    .rdata_i(drain_rdata_i), .range_o(drain_range), .index_o(drain_index)
  );

  // ---- MARK ------------------------------------------------------------------------------------
  logic mark_done, mark_active, mark_wait;
  wick_exec_mark u_mark (
    .clk_i, .rst_ni, .clear_i, .halt_i(halt),
    .start_i(start_mark), .ready_o(mark_ready),
    .row_i(cmd_i[wick_pkg::MarkRowLsb +: wick_pkg::MarkRowW]),
    .accepted_i(start && !bad), .summed_i(summed), .taken_i(drain_taken), .retired_i(drain_done),
    .hold_o(drain_hold), .done_o(mark_done), .active_o(mark_active), .wait_o(mark_wait),
    .mark_valid_o, .mark_row_o, .mark_ready_i
  );
  assign done_o = drain_done || mark_done;

  // ---- state and errors ------------------------------------------------------------------------
  assign active_o = !wt_ready || pend_valid_q || mac_valid || word_valid || !mac_empty ||
                    !drain_empty || mark_active;
  assign stall_bank_o = (in_req_o && !in_gnt_i) ||
                        (!go && ((wt_req_o && !wt_gnt_i) || (drain_req_o && !drain_gnt_i)));
  assign stall_memory_o = mark_wait && !mac_valid && !pend_valid_q && drain_empty;

  // The oldest command counts: stages in the order D, M, W.
  logic fault, range, halt_q, error_q;
  logic [7:0] code_q;
  logic [19:0] index_q;
  assign halt = halt_q;
  assign range = drain_range || in_range || wt_range;
  assign fault = !halt_q && (range || bad_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      halt_q <= 1'b0;
      error_q <= 1'b0;
    end else if (clear_i) begin
      halt_q <= 1'b0;
      error_q <= 1'b0;
    end else begin
      if (fault) halt_q <= 1'b1;
      error_q <= fault;
    end
  end
  always_ff @(posedge clk_i) begin
    if (fault) begin
      code_q <= range ? wick_pkg::ErrRange : wick_pkg::ErrField;
      index_q <= drain_range ? drain_index : in_range ? in_index :
                 wt_range ? wt_index : bad_index_q;
    end
  end
  assign error_o = error_q;
  assign error_code_o = code_q;
  assign error_index_o = index_q;
endmodule
