// SPDX-License-Identifier: Apache-2.0
// Walks the positions of a window command: five nested loops, from the outermost
//   blocks (c), outer rows (oy), outer columns (ox), inner rows (iy), inner columns (ix).
// A convolution has taps outside and pixels inside, a pooling the other way round. Outputs say
// where the present position lies: its address, whether it is padding, and the ends of loops.
//
//   start_i  goes to the first position; start_*_i are looked at only then
//   step_i   goes to the next one; after the last position the outputs mean nothing
// Both take effect in the next cycle, start_i wins. Counts, strides and sizes must be those of the
// command from the cycle after start_i until its last step. Outputs come from registers, but for a
// few gates.
//
// trim_i: positions of padding at the beginning of an inner row are left out, up to two of them.
// Such a command has inner_dx_i = 1 and inner_col_i = TrimStride.
module wick_window #(
  parameter int unsigned InnerRowW = 12,
  parameter int unsigned InnerColW = 10,
  parameter int unsigned OuterRowW = 6,
  parameter int unsigned OuterColW = 6,
  parameter int unsigned BlockW = 9,
  parameter int unsigned StrideW = 20,
  parameter int unsigned AddrW = 32,  // signed; wide enough for every address of every command
  parameter int unsigned CoordW = 16, // signed
  parameter int unsigned TrimStride = 16 // bytes between the columns of a command that trims
) (
  input  logic                     clk_i,
  input  logic                     start_i,
  input  logic signed [AddrW-1:0]  start_addr_i,
  input  logic signed [CoordW-1:0] start_y_i,
  input  logic signed [CoordW-1:0] start_x_i,
  input  logic                     start_trim_i, // of the command that starts: trim_i and w_i > 0
  input  logic                     step_i,
  // bytes from one to the next
  input  logic [StrideW-1:0]       inner_row_i,
  input  logic [StrideW-1:0]       inner_col_i,
  input  logic [StrideW-1:0]       outer_row_i,
  input  logic [StrideW-1:0]       outer_col_i,
  input  logic [StrideW-1:0]       block_i,
  // the same in rows and columns of the input
  input  logic [CoordW-1:0]        inner_dy_i,
  input  logic [CoordW-1:0]        inner_dx_i,
  input  logic [CoordW-1:0]        outer_dy_i,
  input  logic [CoordW-1:0]        outer_dx_i,
  // how many
  input  logic [InnerRowW-1:0]     inner_rows_i,
  input  logic [InnerColW-1:0]     inner_cols_i,
  input  logic [OuterRowW-1:0]     outer_rows_i,
  input  logic [OuterColW-1:0]     outer_cols_i,
  input  logic [1:0]               outer_col_step_i, // columns that a step of ox takes
  input  logic [BlockW-1:0]        blocks_i,
  input  logic [CoordW-1:0]        h_i,      // 0: no row is padding
  input  logic [CoordW-1:0]        w_i,      // 0: no column is padding
  input  logic                     trim_i,

  output logic signed [AddrW-1:0]  addr_o,
  output logic                     pad_o,
  output logic [InnerColW-1:0]     ix_o,
  output logic [OuterColW-1:0]     ox_o,
  output logic                     row_first_o,   // first position of an inner row
  output logic                     inner_first_o, // first position of the inner loops
  output logic                     inner_last_o,
  output logic                     block_last_o,
  output logic                     first_o,       // inner loops for the first time
  output logic                     last_o
);
  typedef logic signed [AddrW-1:0] addr_t;
  typedef logic signed [CoordW-1:0] coord_t;

  // Where the present inner row, inner loops, outer row and block began, without what was trimmed.
  addr_t addr_q, row_q, tile_q, line_q, block_q;
  coord_t y_q, x_q, tile_y_q, tile_x_q, start_x_q, start_y_q;
  logic [InnerRowW-1:0] iy_q;
  logic [InnerColW-1:0] ix_q;
  logic [OuterRowW-1:0] oy_q;
  logic [OuterColW-1:0] ox_q;
  logic [BlockW-1:0] c_q;
  logic row_first_q, inner_first_q, first_q;

  function automatic logic [1:0] lead(input logic enable, input coord_t x);
    lead = !enable || !x[CoordW-1] ? 2'd0 : &x ? 2'd1 : 2'd2;
  endfunction

  logic ix_last, iy_last, ox_last, oy_last, c_last;
  assign ix_last = ix_q == inner_cols_i - InnerColW'(1);
  assign iy_last = iy_q == inner_rows_i - InnerRowW'(1);
  assign ox_last = {1'b0, ox_q} + (OuterColW + 1)'(outer_col_step_i) >= {1'b0, outer_cols_i};
  assign oy_last = oy_q == outer_rows_i - OuterRowW'(1);
  assign c_last = c_q == blocks_i - BlockW'(1);

  // What comes after the inner loops, and after a row of them.
  addr_t tile_d, row_d, base;
  coord_t tile_y_d, tile_x_d, base_x;
  logic enable;
  logic [1:0] skip;

  always_comb begin
    tile_d = line_q + AddrW'({1'b0, outer_row_i});
    tile_y_d = tile_y_q + CoordW'(outer_dy_i);
    tile_x_d = start_x_q;
    if (!ox_last) begin
      tile_d = tile_q + AddrW'({1'b0, outer_col_i});
      tile_y_d = tile_y_q;
      tile_x_d = tile_x_q + CoordW'(outer_dx_i);
    end else if (oy_last) begin
      tile_d = block_q + AddrW'({1'b0, block_i});
      tile_y_d = start_y_q;
    end
    row_d = row_q + AddrW'({1'b0, inner_row_i});
    base = start_i ? start_addr_i : iy_last ? tile_d : row_d;
    base_x = start_i ? start_x_i : iy_last ? tile_x_d : tile_x_q;
    enable = start_i ? start_trim_i : trim_i && w_i != '0;
    skip = lead(enable, base_x);
  end

  addr_t skipped;
  assign skipped = skip[1] ? base + AddrW'(2 * TrimStride) :
                   skip[0] ? base + AddrW'(TrimStride) : base;

  always_ff @(posedge clk_i) begin
    if (start_i || (step_i && ix_last)) begin
      addr_q <= skipped;
      row_q <= base;
      x_q <= base_x + CoordW'({1'b0, skip});
      ix_q <= InnerColW'(skip);
      row_first_q <= 1'b1;
      if (start_i || iy_last) begin
        tile_q <= base;
        tile_x_q <= base_x;
        iy_q <= '0;
        inner_first_q <= 1'b1;
        if (start_i) begin
          line_q <= base;
          block_q <= base;
          start_x_q <= start_x_i;
          start_y_q <= start_y_i;
          y_q <= start_y_i;
          tile_y_q <= start_y_i;
          ox_q <= '0;
          oy_q <= '0;
          c_q <= '0;
          first_q <= 1'b1;
        end else begin
          y_q <= tile_y_d;
          tile_y_q <= tile_y_d;
          first_q <= 1'b0;
          ox_q <= ox_last ? '0 : ox_q + OuterColW'(outer_col_step_i);
          if (ox_last) begin
            line_q <= base;
            oy_q <= oy_last ? '0 : oy_q + OuterRowW'(1);
            if (oy_last) begin
              block_q <= base;
              c_q <= c_q + BlockW'(1);
            end
          end
        end
      end else begin
        y_q <= y_q + CoordW'(inner_dy_i);
        iy_q <= iy_q + InnerRowW'(1);
        inner_first_q <= 1'b0;
      end
    end else if (step_i) begin
      addr_q <= addr_q + AddrW'({1'b0, inner_col_i});
      x_q <= x_q + CoordW'(inner_dx_i);
      ix_q <= ix_q + InnerColW'(1);
      row_first_q <= 1'b0;
      inner_first_q <= 1'b0;
    end
  end

  assign addr_o = addr_q;
  // A negative coordinate is a large one.
  assign pad_o = (h_i != '0 && unsigned'(y_q) >= h_i) || (w_i != '0 && unsigned'(x_q) >= w_i);
  assign ix_o = ix_q;
  assign ox_o = ox_q;
  assign row_first_o = row_first_q;
  assign inner_first_o = inner_first_q;
  assign inner_last_o = ix_last && iy_last;
  assign block_last_o = c_last;
  assign first_o = first_q;
  assign last_o = ix_last && iy_last && ox_last && oy_last && c_last;
endmodule
