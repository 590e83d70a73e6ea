// SPDX-License-Identifier: Apache-2.0
// Stage W of the execute engine: fetches the weights of one tile ahead of the array.
//
//   valid_i, ready_o, ctrl_i   takes a command; its first read may go out in the next cycle.
//                     ready_o comes back in the cycle after the last line of its last tile was
//                     granted.
//   tile_valid_o      all lines of a tile are granted. The array may let the first position of the
//                     tile go, take_i, in the same cycle; in the cycle after take_i tile_valid_o is
//                     0 and the first line of the next tile is asked for.
//   tile_o            the tile, N rows of N operands, complete in the cycle after tile_valid_o and
//                     until the second one after take_i.
// A line takes a cycle when its port is granted. What a tile does not define is 0 in tile_o.
module wick_weights #(
  parameter int unsigned N = 16,
  parameter int unsigned ScratchpadBytes = 262144,
  localparam int unsigned OperandW = wick_exec_pkg::OperandW
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    clear_i,
  input  logic                    halt_i,
  input  logic                    valid_i,
  output logic                    ready_o,
  /* verilator lint_off UNUSEDSIGNAL */ // looks at its part of the record
  input  wick_exec_pkg::ctrl_t    ctrl_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                    take_i,
  output logic                    tile_valid_o,
  output logic [N*N*OperandW-1:0] tile_o,
  // scratchpad
  output logic                    req_o,
  output logic [19:0]             addr_o,
  output logic [N-1:0]            be_o,
  input  logic                    gnt_i,
  input  logic [8*N-1:0]          rdata_i,

  output logic                    range_o,
  output logic [19:0]             index_o
);
  localparam int unsigned Log2N = $clog2(N);
  localparam int unsigned RowW = N * OperandW;
  typedef logic signed [31:0] addr_t;

  // ---- the walk over tiles and lines ----------------------------------------------------------
  logic busy_q, full_q;
  logic [19:0] index_q, wt_c_q, wt_r_q;
  logic by_block_q, column_q, transposed_q, dwc_q, zero_u8_q;
  logic [7:0] w_zero_q;
  logic [5:0] n_q, tail_q, kx_q, ky_q, line_q, tx_q, ty_q;
  logic [1:0] taps_q;
  logic [8:0] kc_q, c_q;
  addr_t tile_q, addr_q;

  logic line_last, tx_last, ty_last, c_last, step;
  logic [5:0] lines, width;

  always_comb begin
    c_last = c_q == kc_q - 9'd1;
    tx_last = {1'b0, tx_q} + 7'(taps_q) >= {1'b0, kx_q};
    ty_last = ty_q == ky_q - 6'd1;
    lines = dwc_q ? 6'(taps_q) : n_q;
    width = 6'(N);
    if (transposed_q) begin
      lines = c_last ? tail_q : 6'(N);
      width = n_q;
    end else if (by_block_q && c_last) begin
      width = tail_q;
    end
    line_last = line_q == lines - 6'd1;
  end

  addr_t last_byte;
  logic active;
  assign last_byte = addr_q + 32'({1'b0, width}) - 32'sd1;
  assign active = busy_q && !full_q && !halt_i;
  assign range_o = active && last_byte >= 32'(ScratchpadBytes);
  assign index_o = index_q;
  assign req_o = active && !range_o;
  assign addr_o = addr_q[19:0];
  assign be_o = N'((33'd1 << width) - 33'd1);
  assign step = req_o && gnt_i;
  assign ready_o = !busy_q;
  assign tile_valid_o = full_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      full_q <= 1'b0;
    end else if (clear_i) begin
      busy_q <= 1'b0;
      full_q <= 1'b0;
    end else begin
      if (valid_i && ready_o) busy_q <= 1'b1;
      else if (step && line_last && tx_last && ty_last && c_last) busy_q <= 1'b0;
      if (step && line_last) full_q <= 1'b1;
      else if (take_i) full_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) begin
      index_q <= ctrl_i.index;
      wt_c_q <= ctrl_i.w_c;
      wt_r_q <= ctrl_i.w_r;
      by_block_q <= ctrl_i.by_block;
      column_q <= ctrl_i.column;
      transposed_q <= ctrl_i.transposed;
      dwc_q <= ctrl_i.dwc;
      zero_u8_q <= ctrl_i.w_u8;
      w_zero_q <= ctrl_i.w_zero;
      n_q <= ctrl_i.n;
      tail_q <= ctrl_i.tail;
      kx_q <= ctrl_i.kx;
      ky_q <= ctrl_i.ky;
      kc_q <= ctrl_i.kc;
      taps_q <= ctrl_i.taps;
      line_q <= '0;
      tx_q <= '0;
      ty_q <= '0;
      c_q <= '0;
      tile_q <= 32'({1'b0, ctrl_i.wt});
      addr_q <= 32'({1'b0, ctrl_i.wt});
    end else if (step) begin
      line_q <= line_q + 6'd1;
      addr_q <= addr_q + 32'({1'b0, wt_r_q});
      if (line_last) begin
        line_q <= '0;
        tile_q <= tile_q + 32'({1'b0, wt_c_q});
        addr_q <= tile_q + 32'({1'b0, wt_c_q});
        tx_q <= tx_last ? '0 : tx_q + 6'(taps_q);
        if (tx_last) ty_q <= ty_last ? '0 : ty_q + 6'd1;
        if (tx_last && ty_last) c_q <= c_q + 9'd1;
      end
    end
  end

  // ---- the line that arrives ------------------------------------------------------------------
  logic write_q, write_first_q, write_column_q, write_u8_q;
  logic [Log2N-1:0] write_line_q;
  logic [7:0] write_zero_q;
  logic [N-1:0] write_mask_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= 1'b0;
    else write_q <= step && !clear_i;
  end

  always_ff @(posedge clk_i) begin
    if (step) begin
      write_first_q <= line_q == '0;
      write_column_q <= column_q;
      write_u8_q <= zero_u8_q;
      write_zero_q <= w_zero_q;
      // A single tap uses the newest word of the window, the third.
      write_line_q <= dwc_q && taps_q == 2'd1 ? Log2N'(2) : line_q[Log2N-1:0];
      write_mask_q <= dwc_q && {1'b0, tx_q} + {1'b0, line_q} >= {1'b0, kx_q} ? '0 :
                      dwc_q ? N'((33'd1 << n_q) - 33'd1) : be_o;
    end
  end

  logic [RowW-1:0] operands;
  always_comb begin
    operands = '0;
    if (write_q) begin
      for (int unsigned i = 0; i < N; i++) begin
        if (write_mask_q[i]) begin
          operands[i*OperandW +: OperandW] =
              OperandW'(signed'({!write_u8_q && rdata_i[8*i+7], rdata_i[8*i +: 8]})) -
              OperandW'(signed'({!write_u8_q && write_zero_q[7], write_zero_q}));
        end
      end
    end
  end

  logic [N*RowW-1:0] tile_data_q;
  always_ff @(posedge clk_i) begin
    if (write_q) begin
      if (write_first_q) begin
        for (int unsigned o = 0; o < N; o++) tile_data_q[o*RowW +: RowW] <= '0;
      end
      if (write_column_q) begin
        for (int unsigned o = 0; o < N; o++) begin
          for (int unsigned i = 0; i < N; i++) begin
            if (write_line_q == Log2N'(i)) begin
              tile_data_q[o*RowW + i*OperandW +: OperandW] <= operands[o*OperandW +: OperandW];
            end
          end
        end
      end else begin
        for (int unsigned o = 0; o < N; o++) begin
          if (write_line_q == Log2N'(o)) tile_data_q[o*RowW +: RowW] <= operands;
        end
      end
    end
  end
  assign tile_o = tile_data_q;
endmodule
