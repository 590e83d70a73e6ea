// SPDX-License-Identifier: Apache-2.0
// Vector engine: MAP, POOL, ROW, TRN and TAB, one command at a time.
//
// A command is taken on cmd_valid_i & cmd_ready_o (its waits are satisfied); done_o pulses in the
// cycle after its last write is granted, and the next one may be taken in that very cycle. After an
// error (error_o pulses once, with code and the command's index) nothing happens until clear_i.
//
// Everything happens in slots, one a cycle: a slot reads, writes, or leaves the port idle, and is
// done when the port grants it. First come those of the parameter record, then those of the unit
// that the command belongs to; when Depth results are on their way through the lanes, or no other
// slots are left, a result is written. The order of slots depends on the command alone. Duration,
// alone:
//
//   1 + slots + max(0, Latency - results)    Latency = 6 cycles from the last slot of a result to
//                                            its write; results of TRN and TAB: do not count
//   record    max(1, 32/N) slots, one more for entry 0 (POOL mean, ROW mean and softmax)
//   MAP       n2 * n1 * (2 * n0 + (two operands? b0 = 0 ? 1 : n0 : 0)), results n2 * n1 * n0
//   POOL      ny * nx * (ky * kx + (valid_mean? 2 : 1)), results ny * nx
//   ROW       wick_vec_row, wick_vec_norm_slots
//   TRN, TAB  ny * nx * (rows + n + 1); count * 256 / N
module wick_vec #(
  parameter int unsigned N = 16,
  parameter int unsigned Tables = 8,
  parameter int unsigned ScratchpadBytes = 262144
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           clear_i,
  // Commands.
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
  // Scratchpad.
  output logic           req_o,
  output logic           we_o,
  output logic [19:0]    addr_o,
  output logic [N-1:0]   be_o,
  output logic [8*N-1:0] wdata_o,
  input  logic           gnt_i,
  input  logic [8*N-1:0] rdata_i,
  output logic           ev_slot_o // a slot of the unit is done
);
  localparam int unsigned Depth = 6;
  localparam int unsigned CtlW = wick_vec_pkg::CtlW;
  localparam int unsigned CfgW = wick_vec_pkg::CfgW;

  // The command that runs.
  logic            busy_q, halt_q, start, run, halt, fault, finished, done;
  logic [CfgW-1:0] cfg_q, cfg;
  logic [3:0]      table_q, table_sel;
  logic [5:0]      n_q, n;
  logic [19:0]     index_q, par;
  logic [79:0]     walk_a, walk_b, walk_y;
  logic [7:0]      decode_code, error_code_q;
  logic            decode_error, error_q, row_bad, range_error;

  // Slots of the record and of the unit, results, and the slot of this cycle.
  logic            unit_valid, par_valid, par_entry, out_valid, out_turn, out_empty, out_pop;
  logic [CtlW-1:0] ctl;
  logic [5:0]      unit_bytes, result_bytes, par_bytes, out_bytes, bytes;
  logic [21:0]     unit_addr, result_addr, par_addr, out_addr, addr;
  logic [8*N-1:0]  unit_wdata, out_wdata, data;
  logic            reads, writes, in_range, taken, unit_taken, data_valid, divided;
  logic            got_record_q, got_entry_q, got_tile_q;
  logic            tab_write;
  logic [3:0]      tab_table;
  logic [7-$clog2(N):0] tab_word;

  // ---- the command -----------------------------------------------------------------------------

  assign done = busy_q & finished & out_empty;
  assign cmd_ready_o = (~busy_q | done) & ~halt_q;
  assign start = cmd_valid_i & cmd_ready_o & ~clear_i;
  assign run = start & ~decode_error;
  assign halt = range_error | (busy_q & row_bad);
  assign fault = halt | (start & decode_error);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      halt_q <= 1'b0;
      error_q <= 1'b0;
    end else begin
      busy_q <= (run | (busy_q & ~done & ~halt)) & ~clear_i;
      halt_q <= (halt_q | fault) & ~clear_i;
      error_q <= fault & ~clear_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) begin
      cfg_q <= cfg;
      table_q <= table_sel;
      n_q <= n;
      index_q <= cmd_index_i;
      error_code_q <= decode_code;
    end
    if (halt) error_code_q <= range_error ? 8'(wick_pkg::ErrRange) : 8'(wick_pkg::ErrField);
  end

  assign {done_o, active_o} = {done, busy_q};
  assign error_o = error_q;
  assign error_code_o = error_code_q;
  assign error_index_o = index_q;

  wick_vec_decode #(
    .N(N),
    .Tables(Tables)
  ) u_decode (
    .valid_i(start),
    .cmd_i,
    .walk_a_o(walk_a), .walk_b_o(walk_b), .walk_y_o(walk_y),
    .par_o(par), .table_o(table_sel), .bytes_o(n),
    .cfg_o(cfg),
    .error_o(decode_error), .code_o(decode_code)
  );

  // ---- the slot of this cycle ------------------------------------------------------------------

  // Record first; then a result if it is its turn; then the unit.
  always_comb begin
    reads = 1'b0;
    writes = 1'b0;
    addr = '0;
    bytes = '0;
    if (busy_q) begin
      if (par_valid) begin
        reads = 1'b1;
        addr = par_addr;
        bytes = par_bytes;
      end else if (out_turn) begin
        writes = out_valid;
        addr = out_addr;
        bytes = out_bytes;
      end else begin
        reads = ctl[wick_vec_pkg::CtlRead];
        writes = ctl[wick_vec_pkg::CtlWrite];
        addr = unit_addr;
        bytes = unit_bytes;
      end
    end
  end

  assign in_range = addr + {16'b0, bytes} <= 22'(ScratchpadBytes);
  assign range_error = (reads | writes) & ~in_range;
  assign req_o = (reads | writes) & in_range & ~clear_i;
  assign we_o = writes;
  assign addr_o = addr[19:0];
  assign wdata_o = ctl[wick_vec_pkg::CtlWrite] ? unit_wdata : out_wdata;
  assign taken = req_o & gnt_i;
  assign unit_taken = busy_q & unit_valid & ~par_valid & ~out_turn &
      (taken | ~(ctl[wick_vec_pkg::CtlRead] | ctl[wick_vec_pkg::CtlWrite]));
  assign ev_slot_o = unit_taken;
  assign out_pop = taken & out_turn & ~par_valid;
  assign stall_memory_o = 1'b0;
  assign stall_bank_o = req_o & ~gnt_i;

  always_comb begin
    be_o = '0;
    if (req_o) begin
      for (int unsigned i = 0; i < N; i++) be_o[i] = 6'(i) < bytes;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      got_record_q <= 1'b0;
      got_entry_q <= 1'b0;
      got_tile_q <= 1'b0;
    end else begin
      got_record_q <= taken & par_valid & ~par_entry;
      got_entry_q <= taken & (par_valid ? par_entry : ctl[wick_vec_pkg::CtlEntry] & ~out_turn);
      got_tile_q <= unit_taken & reads &
          (cfg_q[wick_vec_pkg::CfgTrn] | cfg_q[wick_vec_pkg::CfgTab]);
    end
  end

  // ---- where slots come from -------------------------------------------------------------------

  wick_vec_units #(
    .N(N)
  ) u_units (
    .clk_i, .rst_ni, .clear_i, .load_i(run), .cmd_i,
    .decoded_i(cfg), .cfg_i(cfg_q),
    .walk_a_i(walk_a), .walk_b_i(walk_b), .walk_y_i(walk_y),
    .valid_o(unit_valid), .taken_i(unit_taken),
    .ctl_o(ctl), .bytes_o(unit_bytes), .addr_o(unit_addr),
    .n_i(n_q), .result_addr_o(result_addr), .result_bytes_o(result_bytes),
    .wdata_o(unit_wdata),
    .finished_o(finished),
    .got_i(got_tile_q), .rdata_i,
    .tab_write_o(tab_write), .tab_table_o(tab_table), .tab_word_o(tab_word),
    .divided_i(divided)
  );

  // ---- where data go ---------------------------------------------------------------------------

  wick_vec_lanes #(
    .N(N),
    .Tables(Tables)
  ) u_lanes (
    .clk_i, .rst_ni, .clear_i,
    .cfg_i(cfg_q), .table_i(table_q),
    .slot_i(unit_taken), .ctl_i(ctl[wick_vec_pkg::CtlLaneW-1:0]), .bytes_i(bytes),
    .rdata_i,
    .start_i(run), .cmd_i, .par_i(par),
    .record_i(cfg[wick_vec_pkg::CfgRecord]), .entry0_i(cfg[wick_vec_pkg::CfgEntry0]),
    .par_valid_o(par_valid), .par_taken_i(par_valid & taken), .par_entry_o(par_entry),
    .par_addr_o(par_addr), .par_bytes_o(par_bytes),
    .got_record_i(got_record_q), .got_entry_i(got_entry_q),
    .divided_o(divided), .bad_o(row_bad),
    .tab_write_i(tab_write), .tab_table_i(tab_table), .tab_word_i(tab_word),
    .valid_o(data_valid), .data_o(data)
  );

  wick_vec_out #(
    .N(N),
    .Depth(Depth)
  ) u_out (
    .clk_i, .rst_ni, .clear_i,
    .push_i(unit_taken & ctl[wick_vec_pkg::CtlLast]),
    .addr_i(result_addr),
    .bytes_i(result_bytes),
    .data_valid_i(data_valid), .data_i(data), .drain_i(finished),
    .turn_o(out_turn), .valid_o(out_valid), .pop_i(out_pop),
    .addr_o(out_addr), .bytes_o(out_bytes), .data_o(out_wdata), .empty_o(out_empty)
  );

`ifdef VERILATOR
  logic         held_q;
  logic [N+20:0] request_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q <= 1'b0;
    end else begin
      held_q <= stall_bank_o & ~clear_i;
      if (held_q && !clear_i && !halt_q)
        assert (req_o && {we_o, addr_o, be_o} == request_q) else $error("a request that changes");
    end
  end
  always_ff @(posedge clk_i) request_q <= {we_o, addr_o, be_o};
`endif
endmodule
