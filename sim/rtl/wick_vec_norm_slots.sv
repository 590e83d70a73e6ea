// SPDX-License-Identifier: Apache-2.0
// Slots of ROW layernorm and rmsnorm, for row r:
//
//   Stat(r)  words: numbers and their squares are summed; then the inverse root starts
//   Wait     slots without access, until Root slots have passed since Stat(r), at least one
//   Stat(r + 1), if there is such a row: its inverse root is computed during Out(r)
//   Out(r)   for every word a slot that reads it and, in eighths, those that read its entries; the
//            last of them completes the result
//
// Slots of a command (wick_vec), with G = 9 * (kc - 1) + 1 + ceil(8 * k_tail / N):
//
//   ny * (kc + G) + Root + (ny - 1) * max(1, Root - G), results ny * kc
//   Root = 34; Latency = 8, of which the writes of up to 6 results are no part
//
// load_i takes the fields from cmd_i; from the next cycle on slots are offered until finished_o;
// ready_i: the one offered is done in this cycle. addr_o is that of entries; result_bytes_o belongs
// to the word of the slot.
module wick_vec_norm_slots #(
  parameter int unsigned N = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         load_i,
  input  logic [511:0] cmd_i,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [wick_vec_pkg::CtlW-1:0] ctl_o,
  output logic [5:0]   bytes_o,
  output logic [21:0]  addr_o,
  output logic [5:0]   result_bytes_o,
  output logic         finished_o
);
  localparam int unsigned LogN = $clog2(N);
  localparam logic [5:0] Root = 6'd34;
  localparam logic [2:0] Idle = 3'd0, Stat = 3'd1, Wait = 3'd2, Data = 3'd3, Gamma = 3'd4;

  logic [2:0]  state_q, state_d, part_q, part_d, last_part_q;
  logic        finished_q, finished_d, take_q, take_d, last_word, last_part, last_row, waited;
  logic [5:0]  tail_q, tail_bytes_q, since_q, since_d;
  logic [11:0] ny_q, kc_q, c_q, c_d, stat_row_q, stat_row_d, out_row_q, out_row_d;
  logic [21:0] entry_q, entry_d;
  logic [19:0] par_q;
  logic [8:0]  tail_last;

  assign tail_last = {cmd_i[wick_pkg::RowKTailLsb+:6], 3'b0} - 9'd1;  // last byte of its entries
  assign last_word = c_q == kc_q - 12'd1;
  assign last_part = part_q == (last_word ? last_part_q : 3'd7);
  assign last_row = out_row_q == ny_q - 12'd1;
  assign waited = since_q >= Root - 6'd1;
  assign valid_o = state_q != Idle;
  assign result_bytes_o = last_word ? tail_q : 6'(N);
  assign addr_o = entry_q;

  always_comb begin
    ctl_o = '0;
    bytes_o = '0;
    if (valid_o) begin
      ctl_o[wick_vec_pkg::CtlRead] = state_q != Wait;
      ctl_o[wick_vec_pkg::CtlData] = state_q == Stat || state_q == Data;
      ctl_o[wick_vec_pkg::CtlStat] = state_q == Stat;
      ctl_o[wick_vec_pkg::CtlFirst] = state_q == Stat && c_q == '0;
      ctl_o[wick_vec_pkg::CtlTotal] = state_q == Stat && last_word;
      ctl_o[wick_vec_pkg::CtlTake] = take_q && state_q != Wait;
      ctl_o[wick_vec_pkg::CtlGamma] = state_q == Gamma;
      ctl_o[wick_vec_pkg::CtlPart+:3] = part_q;
      ctl_o[wick_vec_pkg::CtlLast] = state_q == Gamma && last_part;
      // Walker B reads for the sums, A for the results: they may be in different rows.
      ctl_o[wick_vec_pkg::CtlWalkB] = state_q == Stat;
      ctl_o[wick_vec_pkg::CtlStepB+:3] = {1'b0, last_word, state_q == Stat};
      ctl_o[wick_vec_pkg::CtlStepA+:3] = {1'b0, last_word, state_q == Data};
      ctl_o[wick_vec_pkg::CtlStepY+:3] = {1'b0, last_word, state_q == Gamma && last_part};
      bytes_o = state_q != Gamma ? result_bytes_o :
          last_word && last_part ? tail_bytes_q : 6'(N);
    end
  end

  always_comb begin
    state_d = state_q;
    finished_d = finished_q;
    take_d = take_q;
    part_d = part_q;
    since_d = since_q;
    c_d = c_q;
    stat_row_d = stat_row_q;
    out_row_d = out_row_q;
    entry_d = entry_q;
    if (ready_i) begin
      if (since_q != 6'd63) since_d = since_q + 6'd1;
      if (state_q != Wait) take_d = 1'b0;
      case (state_q)
        Stat: begin
          c_d = c_q + 12'd1;
          if (last_word) begin
            c_d = '0;
            since_d = '0;
            stat_row_d = stat_row_q + 12'd1;
            state_d = stat_row_q == '0 ? Wait : Data;
          end
        end
        Wait: if (waited) begin
          take_d = 1'b1;
          state_d = stat_row_q == ny_q ? Data : Stat;
        end
        Data: state_d = Gamma;
        Gamma: begin
          part_d = part_q + 3'd1;
          entry_d = entry_q + 22'(N);
          if (last_part) begin
            part_d = '0;
            c_d = c_q + 12'd1;
            state_d = Data;
            if (last_word) begin
              c_d = '0;
              entry_d = {2'b0, par_q} + 22'd32;
              out_row_d = out_row_q + 12'd1;
              state_d = last_row ? Idle : Wait;
              finished_d = last_row;
            end
          end
        end
        default: ;
      endcase
    end
    if (load_i) begin
      state_d = Stat;
      finished_d = 1'b0;
      take_d = 1'b0;
      part_d = '0;
      c_d = '0;
      stat_row_d = '0;
      out_row_d = '0;
      entry_d = {2'b0, cmd_i[wick_pkg::RowParLsb+:20]} + 22'd32;
    end
    if (clear_i) begin
      state_d = Idle;
      finished_d = 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      finished_q <= 1'b0;
    end else begin
      state_q <= state_d;
      finished_q <= finished_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_i || ready_i) begin
      take_q <= take_d;
      part_q <= part_d;
      since_q <= since_d;
      c_q <= c_d;
      stat_row_q <= stat_row_d;
      out_row_q <= out_row_d;
      entry_q <= entry_d;
    end
    if (load_i) begin
      ny_q <= cmd_i[wick_pkg::RowNyLsb+:12];
      kc_q <= cmd_i[wick_pkg::RowKcLsb+:12];
      tail_q <= cmd_i[wick_pkg::RowKTailLsb+:6];
      par_q <= cmd_i[wick_pkg::RowParLsb+:20];
      last_part_q <= 3'(tail_last >> LogN);
      tail_bytes_q <= 6'(tail_last[LogN-1:0]) + 6'd1;
    end
  end

  assign finished_o = finished_q;

`ifdef VERILATOR
  logic unused;
  assign unused = ^cmd_i;
`endif
endmodule
