// SPDX-License-Identifier: Apache-2.0
// Slots of TRN and TAB. TRN: `rows` reads of a tile, one cycle until the last row is in, n writes
// of its columns; wdata_o belongs to the slot. TAB: a read for every word of the tables, which
// arrives on rdata_i with got_i and is written to the tables in that cycle.
// load_i takes the fields from cmd_i; from the next cycle on slots are offered until finished_o;
// ready_i: the one offered is done in this cycle.
module wick_vec_trn #(
  parameter int unsigned N = 16
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           clear_i,
  input  logic           load_i,
  input  logic [511:0]   cmd_i,
  output logic           valid_o,
  input  logic           ready_i,
  output logic [wick_vec_pkg::CtlW-1:0] ctl_o,
  output logic [5:0]     bytes_o,
  output logic [8*N-1:0] wdata_o,
  output logic           finished_o,
  input  logic           got_i,  // rdata_i is what a slot of this unit read
  input  logic [8*N-1:0] rdata_i,
  output logic           tab_write_o,
  output logic [3:0]     tab_table_o,
  output logic [7-$clog2(N):0] tab_word_o
);
  localparam int unsigned LogN = $clog2(N);
  localparam int unsigned WordW = 8 - LogN;
  localparam logic [1:0] Idle = 2'd0, Read = 2'd1, Wait = 2'd2, Write = 2'd3;

  logic [1:0]  state_q, state_d;
  logic        finished_q, finished_d, tab_q;
  logic [8*N*N-1:0] tile_q;
  logic [5:0]  rows_q, n_q, i_q, i_d;
  logic [LogN-1:0] take_q;
  logic [11:0] nx_q, ny_q, x_q, y_q, x_d, y_d;
  logic [3+WordW:0] word_q;  // of the tables, to be written next
  logic        last_row, last_column, last_x, last_y;

  // TAB is one tile of count * 256 / N rows; x and y count them.
  assign last_row = tab_q | (i_q == rows_q - 6'd1);
  assign last_column = i_q == n_q - 6'd1;
  assign last_x = x_q == nx_q - 12'd1;
  assign last_y = y_q == ny_q - 12'd1;
  assign valid_o = state_q == Read || state_q == Write;

  always_comb begin
    ctl_o = '0;
    bytes_o = '0;
    wdata_o = '0;
    if (state_q == Read) begin
      ctl_o[wick_vec_pkg::CtlRead] = 1'b1;
      ctl_o[wick_vec_pkg::CtlStepA+:3] = {
        tab_q || !last_row ? 2'd0 : last_x ? 2'd2 : 2'd1, 1'b1};
      bytes_o = tab_q ? 6'(N) : n_q;
    end else if (state_q == Write) begin
      ctl_o[wick_vec_pkg::CtlWrite] = 1'b1;
      ctl_o[wick_vec_pkg::CtlStepY+:3] = {!last_column ? 2'd0 : last_x ? 2'd2 : 2'd1, 1'b1};
      bytes_o = rows_q;
      for (int unsigned r = 0; r < N; r++) begin
        wdata_o[8*r+:8] = tile_q[8*N*r+8*i_q[LogN-1:0]+:8];
      end
    end
  end

  always_comb begin
    state_d = state_q;
    finished_d = finished_q;
    i_d = i_q;
    x_d = x_q;
    y_d = y_q;
    if (state_q == Wait) state_d = Write;
    if (ready_i) begin
      i_d = i_q + 6'd1;
      if (state_q == Read && last_row) begin
        i_d = '0;
        if (!tab_q) state_d = Wait;
      end
      if ((state_q == Write && last_column) || tab_q) begin
        i_d = '0;
        state_d = Read;
        x_d = last_x ? '0 : x_q + 12'd1;
        if (last_x) y_d = y_q + 12'd1;
        if (last_x && last_y) begin
          state_d = Idle;
          finished_d = 1'b1;
        end
      end
    end
    if (load_i) begin
      state_d = Read;
      finished_d = 1'b0;
      i_d = '0;
      x_d = '0;
      y_d = '0;
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
    i_q <= i_d;
    x_q <= x_d;
    y_q <= y_d;
    if (load_i) begin
      tab_q <= cmd_i[wick_pkg::HdrOpcodeLsb+:5] == wick_pkg::OpTab;
      rows_q <= cmd_i[wick_pkg::TrnRowsLsb+:6];
      n_q <= cmd_i[wick_pkg::TrnNLsb+:6];
      nx_q <= cmd_i[wick_pkg::TrnNxLsb+:12];
      ny_q <= cmd_i[wick_pkg::TrnNyLsb+:12];
      take_q <= '0;
      word_q <= {cmd_i[wick_pkg::TabTableLsb+:4], {WordW{1'b0}}};
      if (cmd_i[wick_pkg::HdrOpcodeLsb+:5] == wick_pkg::OpTab) begin
        nx_q <= 12'd256 >> LogN;
        ny_q <= {7'b0, cmd_i[wick_pkg::TabCountLsb+:5]};
      end
    end else if (got_i && tab_q) begin
      word_q <= word_q + 1'b1;
    end else if (got_i) begin
      tile_q[8*N*take_q+:8*N] <= rdata_i;
      take_q <= 6'(take_q) == rows_q - 6'd1 ? '0 : take_q + 1'b1;
    end
  end

  assign finished_o = finished_q;
  assign tab_write_o = got_i & tab_q;
  assign {tab_table_o, tab_word_o} = word_q;

`ifdef VERILATOR
  logic unused;
  assign unused = ^cmd_i;
`endif
endmodule
