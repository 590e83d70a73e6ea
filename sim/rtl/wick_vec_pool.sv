// SPDX-License-Identifier: Apache-2.0
// Slots of POOL: one for every tap (it reads nothing where the tap is padding), then for valid_mean
// one that reads the entry for the number of taps that were none. The last one of a pixel completes
// its result. load_i takes the fields from cmd_i; from the next cycle on a slot is offered until
// finished_o; ready_i: it is done in this cycle. addr_o: where the slot reads.
module wick_vec_pool (
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
  output logic         finished_o
);
  logic        run_q, finished_q;
  // Fields.
  logic        by_count_q, max_q;
  logic [19:0] in_y_q, k_y_q, par_q;
  logic [15:0] in_x_q, k_x_q;
  logic [8:0]  ny_q, nx_q;
  logic [5:0]  ky_q, kx_q, pad_l_q, n_q;
  logic [9:0]  h_q, w_q;
  logic [3:0]  sy_q, sx_q;
  logic [4:0]  dy_q, dx_q;
  // Where it stands: counters; addresses of the first tap of the row of pixels, of the pixel, of
  // the row of taps, and of the tap; input row and column of the first pixel's tap, and of the tap.
  logic [8:0]  oy_q, ox_q;
  logic [5:0]  iy_q, ix_q;
  logic        entry_q, first_q;
  logic [11:0] taps_q;
  logic signed [31:0] line_q, pixel_q, row_q, tap_q, line_d, pixel_d, row_d;
  logic signed [14:0] y0_q, x0_q, y_q, x_q, y0_d, x0_d;
  logic last_kx, last_ky, last_ox, last_oy, last_tap, last, valid_tap;
  logic [21:0] entry_addr;

  assign last_kx = ix_q == kx_q - 6'd1;
  assign last_ky = iy_q == ky_q - 6'd1;
  assign last_ox = ox_q == nx_q - 9'd1;
  assign last_oy = oy_q == ny_q - 9'd1;
  assign last_tap = last_kx & last_ky;
  assign last = by_count_q ? entry_q : last_tap;
  assign valid_tap = (h_q == '0 || (!y_q[14] && y_q[13:0] < {4'b0, h_q})) &&
      (w_q == '0 || (!x_q[14] && x_q[13:0] < {4'b0, w_q}));
  assign entry_addr = {2'b0, par_q} + 22'd24 + {7'b0, taps_q, 3'b0};

  always_comb begin
    ctl_o = '0;
    bytes_o = '0;
    addr_o = '0;
    if (valid_o) begin
      ctl_o[wick_vec_pkg::CtlRead] = entry_q ? taps_q != '0 : valid_tap;
      ctl_o[wick_vec_pkg::CtlEntry] = entry_q;
      ctl_o[wick_vec_pkg::CtlData] = ~entry_q & valid_tap;
      ctl_o[wick_vec_pkg::CtlFirst] = ~entry_q & first_q;
      ctl_o[wick_vec_pkg::CtlMax] = max_q;
      ctl_o[wick_vec_pkg::CtlLast] = last;
      ctl_o[wick_vec_pkg::CtlStepY+:3] = {1'b0, last_ox, last};
      bytes_o = entry_q ? 6'd8 : n_q;
      // Far outside is outside, also in 22 bits.
      addr_o = entry_q ? entry_addr : tap_q[31:21] != '0 ? 22'h300000 : tap_q[21:0];
    end
  end

  // The next row of taps, the next pixel, the next row of pixels.
  always_comb begin
    row_d = row_q;
    pixel_d = pixel_q;
    line_d = line_q;
    y0_d = y0_q;
    x0_d = x0_q;
    if (ready_i) begin
      row_d = row_q + $signed({12'b0, k_y_q});
      line_d = line_q + $signed({12'b0, in_y_q});
      pixel_d = last_ox ? line_d : pixel_q + $signed({16'b0, in_x_q});
      y0_d = last_ox ? y0_q + $signed({11'b0, sy_q}) : y0_q;
      x0_d = last_ox ? -$signed({9'b0, pad_l_q}) : x0_q + $signed({11'b0, sx_q});
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      finished_q <= 1'b0;
    end else if (clear_i) begin
      run_q <= 1'b0;
      finished_q <= 1'b0;
    end else if (load_i) begin
      run_q <= 1'b1;
      finished_q <= 1'b0;
    end else if (ready_i && last && last_ox && last_oy) begin
      run_q <= 1'b0;
      finished_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      by_count_q <= cmd_i[wick_pkg::PoolFnLsb+:2] == 2'(wick_pkg::PoolValidMean);
      max_q <= cmd_i[wick_pkg::PoolFnLsb+:2] == 2'(wick_pkg::PoolMax);
      in_y_q <= cmd_i[wick_pkg::PoolInYLsb+:20];
      in_x_q <= cmd_i[wick_pkg::PoolInXLsb+:16];
      k_y_q <= cmd_i[wick_pkg::PoolKYLsb+:20];
      k_x_q <= cmd_i[wick_pkg::PoolKXLsb+:16];
      ny_q <= cmd_i[wick_pkg::PoolNyLsb+:9];
      nx_q <= cmd_i[wick_pkg::PoolNxLsb+:9];
      ky_q <= cmd_i[wick_pkg::PoolKyLsb+:6];
      kx_q <= cmd_i[wick_pkg::PoolKxLsb+:6];
      pad_l_q <= cmd_i[wick_pkg::PoolPadLLsb+:6];
      h_q <= cmd_i[wick_pkg::PoolHLsb+:10];
      w_q <= cmd_i[wick_pkg::PoolWLsb+:10];
      sy_q <= cmd_i[wick_pkg::PoolSyLsb+:4];
      sx_q <= cmd_i[wick_pkg::PoolSxLsb+:4];
      dy_q <= cmd_i[wick_pkg::PoolDyLsb+:5];
      dx_q <= cmd_i[wick_pkg::PoolDxLsb+:5];
      par_q <= cmd_i[wick_pkg::PoolParLsb+:20];
      n_q <= cmd_i[wick_pkg::PoolNLsb+:6];
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      oy_q <= '0;
      ox_q <= '0;
      iy_q <= '0;
      ix_q <= '0;
      entry_q <= 1'b0;
      first_q <= 1'b1;
      taps_q <= '0;
      line_q <= 32'($signed(cmd_i[wick_pkg::PoolInLsb+:21]));
      pixel_q <= 32'($signed(cmd_i[wick_pkg::PoolInLsb+:21]));
      row_q <= 32'($signed(cmd_i[wick_pkg::PoolInLsb+:21]));
      tap_q <= 32'($signed(cmd_i[wick_pkg::PoolInLsb+:21]));
      y0_q <= -$signed({9'b0, cmd_i[wick_pkg::PoolPadTLsb+:6]});
      y_q <= -$signed({9'b0, cmd_i[wick_pkg::PoolPadTLsb+:6]});
      x0_q <= -$signed({9'b0, cmd_i[wick_pkg::PoolPadLLsb+:6]});
      x_q <= -$signed({9'b0, cmd_i[wick_pkg::PoolPadLLsb+:6]});
    end else if (ready_i && last) begin
      ox_q <= last_ox ? '0 : ox_q + 9'd1;
      if (last_ox) oy_q <= oy_q + 9'd1;
      iy_q <= '0;
      ix_q <= '0;
      entry_q <= 1'b0;
      first_q <= 1'b1;
      taps_q <= '0;
      if (last_ox) line_q <= line_d;
      pixel_q <= pixel_d;
      row_q <= pixel_d;
      tap_q <= pixel_d;
      y0_q <= y0_d;
      y_q <= y0_d;
      x0_q <= x0_d;
      x_q <= x0_d;
    end else if (ready_i) begin
      entry_q <= last_tap;
      first_q <= 1'b0;
      if (valid_tap) taps_q <= taps_q + 12'd1;
      ix_q <= last_kx ? '0 : ix_q + 6'd1;
      tap_q <= last_kx ? row_d : tap_q + $signed({16'b0, k_x_q});
      x_q <= last_kx ? x0_q : x_q + $signed({10'b0, dx_q});
      if (last_kx) begin
        iy_q <= iy_q + 6'd1;
        row_q <= row_d;
        y_q <= y_q + $signed({10'b0, dy_q});
      end
    end
  end

  assign valid_o = run_q;
  assign finished_o = finished_q;

`ifdef VERILATOR
  logic unused;
  assign unused = ^cmd_i;
`endif
endmodule
