// SPDX-License-Identifier: Apache-2.0
// Stage D of the execute engine: what becomes of the sums of a command, and its retirement.
//
//   valid_i, ready_o, ctrl_i   takes a command when its first position goes into the array. Up to
//             three are here: one that is computed, one whose record is fetched or waits for
//             its sums, one that is drained.
//   summed_i  the sums of the oldest command that is not yet summed are written
//   done_o    the oldest command retired: a draining one in the cycle after its last write was
//             granted, another when it is summed and all before it have retired
//   taken_o, hold_i   a command begins to drain (or retires without); none does while hold_i is set
//
// A pixel a cycle: 0 read its sums, 1 add the bias, 2-5 wick_requant, 6-9 wick_drain_residual, 10
// write. The residual is read in 5. All stages move together, when what 10 and 5 want from the port
// is granted, 10 first. A bank of accumulators that the array reads leaves a bubble. Records go
// before pixels at the port.
module wick_drain #(
  parameter int unsigned N = 16,
  parameter int unsigned AccEntries = 1024,
  parameter int unsigned ScratchpadBytes = 262144,
  localparam int unsigned EntryW = $clog2(AccEntries)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,
  input  logic                 halt_i,

  input  logic                 valid_i,
  output logic                 ready_o,
  /* verilator lint_off UNUSEDSIGNAL */ // looks at its part of the record
  input  wick_exec_pkg::ctrl_t ctrl_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                 summed_i,
  output logic                 done_o,
  output logic                 taken_o,
  input  logic                 hold_i,
  output logic                 empty_o,
  // accumulators
  output logic                 acc_req_o,
  output logic [EntryW-1:0]    acc_entry_o,
  input  logic                 acc_gnt_i,
  input  logic [32*N-1:0]      acc_data_i,
  // scratchpad
  output logic                 req_o,
  output logic                 we_o,
  output logic [19:0]          addr_o,
  output logic [N-1:0]         be_o,
  output logic [8*N-1:0]       wdata_o,
  input  logic                 gnt_i,
  input  logic [8*N-1:0]       rdata_i,

  output logic                 range_o,
  output logic [19:0]          index_o
);
  localparam int unsigned RecW = 8 * (32 + 8 * N);

  // ---- waiting commands ------------------------------------------------------------------------
  /* verilator lint_off UNUSEDSIGNAL */ // as above
  wick_exec_pkg::ctrl_t wait_q, head_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic wait_valid_q, head_ready, head_done, take, pipe_empty, walk_valid, fill, rec_range;
  logic rec_req, rec_gnt;
  logic [19:0] rec_addr;
  logic [N-1:0] rec_be;
  logic [2:0] summed_q;
  logic [1:0] in_use_q; // records of commands that are drained
  logic [2*RecW-1:0] rec;
  logic last_written, last_written_sel, walk_free;

  wick_drain_params #(.N(N), .ScratchpadBytes(ScratchpadBytes)) u_params (
    .clk_i, .rst_ni, .clear_i, .halt_i,
    .valid_i(wait_valid_q), .ready_o(head_ready), .load_i(wait_q.drain), .par_i(wait_q.par),
    .n_i(wait_q.n), .done_o(head_done), .take_i(take), .free_i(!in_use_q[fill]), .fill_o(fill),
    .rec_o(rec), .req_o(rec_req), .addr_o(rec_addr), .be_o(rec_be), .gnt_i(rec_gnt), .rdata_i,
    .range_o(rec_range)
  );

  assign ready_o = !wait_valid_q || head_ready;
  assign take = head_done && (summed_i || summed_q != '0) && walk_free && !hold_i && !halt_i &&
                (head_q.drain || pipe_empty);
  assign taken_o = take;
  assign empty_o = !wait_valid_q && head_ready && walk_free && pipe_empty && !done_o;

  logic done_q, walk_sel;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wait_valid_q <= 1'b0;
      summed_q <= '0;
      in_use_q <= '0;
      done_q <= 1'b0;
    end else if (clear_i) begin
      wait_valid_q <= 1'b0;
      summed_q <= '0;
      in_use_q <= '0;
      done_q <= 1'b0;
    end else begin
      if (ready_o) wait_valid_q <= valid_i;
      summed_q <= summed_q + {2'b0, summed_i} - {2'b0, take};
      if (last_written) in_use_q[last_written_sel] <= 1'b0;
      if (take && head_q.drain) in_use_q[fill] <= 1'b1;
      done_q <= last_written || (take && !head_q.drain);
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) wait_q <= ctrl_i;
    if (wait_valid_q && head_ready) head_q <= wait_q;
  end
  assign done_o = done_q;

  // ---- stage 0: the walk over pixels -----------------------------------------------------------
  logic [19:0] out0, res0;
  logic last0, residual0, issue, walk_range, walk_req, en;
  logic [19:0] walk_index;
  logic [11:0] n_q; // of the two records

  wick_drain_walk #(.AccEntries(AccEntries), .ScratchpadBytes(ScratchpadBytes)) u_walk (
    .clk_i, .rst_ni, .clear_i,
    .take_i(take && head_q.drain), .ctrl_i(head_q), .sel_i(fill), .free_o(walk_free),
    .valid_o(walk_valid), .range_o(walk_range), .step_i(issue), .entry_o(acc_entry_o),
    .out_o(out0), .res_o(res0), .last_o(last0), .residual_o(residual0), .sel_o(walk_sel),
    .index_o(walk_index)
  );
  assign walk_req = walk_valid && en && !halt_i && !walk_range;
  assign acc_req_o = walk_req;
  assign issue = walk_req && acc_gnt_i;
  always_ff @(posedge clk_i) begin
    if (take && !fill) n_q[5:0] <= head_q.n;
    if (take && fill) n_q[11:6] <= head_q.n;
  end

  assign range_o = (walk_valid && walk_range && !halt_i) || rec_range;
  assign index_o = walk_valid && walk_range ? walk_index : head_q.index;

  // ---- what travels with a pixel ---------------------------------------------------------------
  logic [10:1] valid_q, sel_q, last_q;
  logic [6:1] residual_t_q;
  logic [20*10-1:0] out_q;
  logic [20*5-1:0] res_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (clear_i) valid_q <= '0;
    else if (en) valid_q <= {valid_q[9:1], issue};
  end
  always_ff @(posedge clk_i) begin
    if (en && (issue || !pipe_empty)) begin
      sel_q <= {sel_q[9:1], walk_sel};
      last_q <= {last_q[9:1], last0};
      residual_t_q <= {residual_t_q[5:1], residual0};
      out_q <= {out_q[20*9-1:0], out0};
      res_q <= {res_q[20*4-1:0], res0};
    end
  end
  assign pipe_empty = valid_q == '0;

  // ---- the port --------------------------------------------------------------------------------
  logic want_write, want_read, read_turn, pixel_gnt, written_q;
  assign want_write = valid_q[10] && !written_q && !halt_i;
  assign want_read = valid_q[5] && residual_t_q[5] && !halt_i;
  assign read_turn = want_read && !want_write;
  assign req_o = rec_req || want_write || want_read;
  assign rec_gnt = rec_req && gnt_i;
  assign pixel_gnt = !rec_req && gnt_i;
  assign we_o = !rec_req && want_write;
  assign en = want_write ? pixel_gnt && !want_read : !want_read || pixel_gnt;
  assign last_written_sel = sel_q[10];
  assign last_written = want_write && pixel_gnt && last_q[10];

  logic port_sel;
  logic [5:0] port_n;
  assign port_sel = want_write ? sel_q[10] : sel_q[5];
  assign port_n = port_sel ? n_q[11:6] : n_q[5:0];
  assign addr_o = rec_req ? rec_addr : want_write ? out_q[20*9 +: 20] : res_q[20*4 +: 20];
  assign be_o = rec_req ? rec_be : N'((33'd1 << port_n) - 33'd1);

  // Data come in the cycle after the request, whether the stages move then or not.
  logic sums_come_q, sums_held_q, res_come_q, res_held_q;
  logic [32*N-1:0] sums_hold_q;
  logic [8*N-1:0] res_hold_q, residual;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      written_q <= 1'b0;
      {sums_come_q, sums_held_q, res_come_q, res_held_q} <= '0;
    end else if (clear_i) begin
      written_q <= 1'b0;
      {sums_come_q, sums_held_q, res_come_q, res_held_q} <= '0;
    end else begin
      written_q <= !en && (written_q || (want_write && pixel_gnt));
      sums_come_q <= issue;
      sums_held_q <= !en && (sums_held_q || sums_come_q);
      res_come_q <= read_turn && pixel_gnt;
      res_held_q <= !en && (res_held_q || res_come_q);
    end
  end
  always_ff @(posedge clk_i) begin
    if (sums_come_q && !en) sums_hold_q <= acc_data_i;
    if (res_come_q && !en) res_hold_q <= rdata_i;
  end
  assign residual = res_held_q ? res_hold_q : rdata_i;

  // ---- stages 1 to 10 --------------------------------------------------------------------------
  logic [RecW-1:0] rec2;
  /* verilator lint_off UNUSEDSIGNAL */ // the record has gaps
  logic [255:0] rec6;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [32*N-1:0] biased_q;
  logic [24*N-1:0] mult;
  logic [6*N-1:0] shift;
  logic [16*N-1:0] y;
  logic y_valid, z_valid;

  always_comb begin
    rec2 = '0;
    rec6 = '0;
    mult = '0;
    shift = '0;
    if (valid_q[2]) begin
      rec2 = sel_q[2] ? rec[RecW +: RecW] : rec[0 +: RecW];
      for (int unsigned i = 0; i < N; i++) begin
        mult[24*i +: 24] = rec2[256 + 64*i + 32 +: 24];
        shift[6*i +: 6] = rec2[256 + 64*i + 56 +: 6];
      end
    end
    if (valid_q[6]) rec6 = sel_q[6] ? rec[RecW +: 256] : rec[0 +: 256];
  end
  always_ff @(posedge clk_i) begin
    if (en && valid_q[1]) begin
      for (int unsigned i = 0; i < N; i++) begin
        biased_q[32*i +: 32] <= (sums_held_q ? sums_hold_q[32*i +: 32] : acc_data_i[32*i +: 32]) +
            (sel_q[1] ? rec[RecW + 256 + 64*i +: 32] : rec[256 + 64*i +: 32]);
      end
    end
  end
  wick_requant #(.N(N)) u_requant (
    .clk_i, .rst_ni, .clear_i, .en_i(en), .valid_i(valid_q[2]), .a_i(biased_q), .mult_i(mult),
    .shift_i(shift), .zero_i(rec2[0 +: 16]), .lo_i(rec2[16 +: 16]), .hi_i(rec2[32 +: 16]),
    .valid_o(y_valid), .y_o(y)
  );
  wick_drain_residual #(.N(N)) u_residual (
    .clk_i, .rst_ni, .clear_i, .en_i(en), .valid_i(y_valid), .add_i(residual_t_q[6]), .y_i(y),
    .r_i(residual), .r_u8_i(rec6[17*8]), .ma_i(rec6[64 +: 24]), .mb_i(rec6[96 +: 24]),
    .shift_i(rec6[128 +: 6]), .za_i(rec6[144 +: 16]), .zb_i(rec6[160 +: 16]),
    .zy_i(rec6[176 +: 16]), .lo_i(rec6[192 +: 16]), .hi_i(rec6[208 +: 16]),
    .valid_o(z_valid), .z_o(wdata_o)
  );

`ifdef VERILATOR
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
    end else assert (z_valid == valid_q[10] && y_valid == valid_q[6]);
  end
`endif
endmodule
