// SPDX-License-Identifier: Apache-2.0
// Stage M of the execute engine: sends the input words of a command to the array, a tile after the
// other, in each every position.
//
//   load_i, ctrl_i   the next command, when free_o; free_o is set in the cycle of a command's last
//                    word, so that the next one follows without a gap
//   tile_valid_i     the weights of the next tile are there. The first word of a tile waits for
//                    it and takes it, take_o.
// A word goes out in the cycle in which its read is granted; padding, and words that no tap uses,
// need no read. The word_* outputs describe it in the cycle after, when its bytes arrive at the
// array.
module wick_mac_issue #(
  parameter int unsigned N = 16,
  parameter int unsigned AccEntries = 1024,
  parameter int unsigned ScratchpadBytes = 262144
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,
  input  logic                 halt_i,
  input  logic                 load_i,
  output logic                 free_o,
  /* verilator lint_off UNUSEDSIGNAL */ // looks at its part of the record
  input  wick_exec_pkg::ctrl_t ctrl_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                 tile_valid_i,
  output logic                 take_o,
  output logic                 valid_o, // holds a command
  output logic                 go_o,    // a word goes out
  // scratchpad
  output logic                 req_o,
  output logic [19:0]          addr_o,
  output logic [N-1:0]         be_o,
  input  logic                 gnt_i,

  output logic                 word_valid_o,
  output logic [N-1:0]         word_mask_o,
  output logic                 word_u8_o,
  output logic [7:0]           word_zero_o,
  output logic                 word_dwc_o,
  output logic                 word_clear_window_o,
  output logic                 word_swap_o,
  output logic                 word_emit_o,
  output wick_exec_pkg::tag_t  word_tag_o,
  output logic [11:0]          word_macs_o, // multiplications that count
  output logic                 range_o,
  output logic [19:0]          index_o
);
  typedef logic signed [31:0] addr_t;

  /* verilator lint_off UNUSEDSIGNAL */ // as above
  wick_exec_pkg::ctrl_t c_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic valid_q;
  addr_t addr;
  logic pad, row_first, inner_first, inner_last, block_last, first, last, go;
  logic [9:0] ix;
  logic [5:0] kx;

  wick_window #(.TrimStride(N)) u_window (
    .clk_i, .start_i(load_i), .start_addr_i(32'(ctrl_i.in)),
    .start_y_i(-{10'b0, ctrl_i.pad_t}), .start_x_i(-{10'b0, ctrl_i.pad_l}),
    .start_trim_i(ctrl_i.three && ctrl_i.w != '0), .step_i(go),
    .inner_row_i(c_q.in_y), .inner_col_i({4'b0, c_q.in_x}), .outer_row_i(c_q.k_y),
    .outer_col_i({3'b0, c_q.k_x}), .block_i(c_q.k_c),
    .inner_dy_i({12'b0, c_q.sy}), .inner_dx_i({12'b0, c_q.sx}), .outer_dy_i({11'b0, c_q.dy}),
    .outer_dx_i({9'b0, c_q.dx}), .inner_rows_i(c_q.ny), .inner_cols_i(c_q.nx),
    .outer_rows_i(c_q.ky), .outer_cols_i(c_q.kx), .outer_col_step_i(c_q.taps), .blocks_i(c_q.kc),
    .h_i({6'b0, c_q.h}), .w_i({6'b0, c_q.w}), .trim_i(c_q.three),
    .addr_o(addr), .pad_o(pad), .ix_o(ix), .ox_o(kx), .row_first_o(row_first),
    .inner_first_o(inner_first), .inner_last_o(inner_last), .block_last_o(block_last),
    .first_o(first), .last_o(last)
  );

  // Three taps: the kernel may end before the third, and then fewer words are used; an output ends
  // with every word from the third on, or with every second.
  logic [5:0] left;
  logic unused, emit;
  logic [1:0] taps;
  assign left = c_q.kx - kx;
  assign taps = left >= {4'b0, c_q.taps} ? c_q.taps : left[1:0];
  assign unused = c_q.three && ({1'b0, ix} + 11'd4 > {1'b0, c_q.nx} + {9'b0, taps} ||
                                (c_q.row_two && taps == 2'd1 && ix[0]));
  assign emit = !c_q.three || (ix >= 10'd2 && !(c_q.row_two && ix[0]));

  logic [5:0] lanes;
  assign lanes = block_last ? c_q.tail : c_q.lanes;

  logic ready, active, skip, entry_range;
  addr_t last_byte;
  logic [17:0] entry_q;
  assign last_byte = addr + 32'({1'b0, lanes}) - 32'sd1;
  assign skip = pad || unused;
  assign active = valid_q && !halt_i;
  assign ready = active && (!inner_first || tile_valid_i);
  assign entry_range = emit && entry_q >= 18'(AccEntries);
  assign range_o = active && (entry_range ||
                              (!skip && (addr < 0 || last_byte >= 32'(ScratchpadBytes))));
  assign index_o = c_q.index;
  assign req_o = ready && !skip && !range_o;
  assign addr_o = addr[19:0];
  assign be_o = N'((33'd1 << lanes) - 33'd1);
  assign go = ready && !range_o && (skip || gnt_i);
  assign go_o = go;
  assign take_o = go && inner_first;
  assign free_o = !valid_q || (go && last);
  assign valid_o = valid_q;

  logic [11:0] macs;
  assign macs = !emit ? '0 : 12'(c_q.n) * (c_q.dwc ? 12'(taps) : 12'(lanes));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (clear_i) valid_q <= 1'b0;
    else if (load_i) valid_q <= 1'b1;
    else if (go && last) valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (load_i) c_q <= ctrl_i;
    if (load_i) entry_q <= {6'b0, ctrl_i.acc};
    else if (go && inner_last) entry_q <= {6'b0, c_q.acc};
    else if (go && emit) entry_q <= entry_q + 18'd1;
  end

  logic word_valid_q, dwc_q, clear_window_q, swap_q, emit_q, u8_q;
  logic [N-1:0] mask_q;
  logic [7:0] zero_q;
  logic [11:0] macs_q;
  wick_exec_pkg::tag_t tag_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) word_valid_q <= 1'b0;
    else word_valid_q <= go && !clear_i;
  end
  always_ff @(posedge clk_i) begin
    if (go) begin
      mask_q <= skip ? '0 : be_o;
      u8_q <= c_q.u8;
      zero_q <= c_q.zero;
      dwc_q <= c_q.dwc;
      clear_window_q <= row_first;
      swap_q <= inner_first;
      emit_q <= emit;
      macs_q <= macs;
      tag_q <= {last, first && !c_q.accumulate, entry_q}; // a tag_t
    end
  end
  assign word_valid_o = word_valid_q;
  assign word_mask_o = mask_q;
  assign word_u8_o = u8_q;
  assign word_zero_o = zero_q;
  assign word_dwc_o = dwc_q;
  assign word_clear_window_o = clear_window_q;
  assign word_swap_o = swap_q;
  assign word_emit_o = emit_q;
  assign word_tag_o = tag_q;
  assign word_macs_o = macs_q;
endmodule
