// SPDX-License-Identifier: Apache-2.0
// Writes a row of counters to memory: Counters little-endian 64-bit words at base + row * 1024.
//
// mark_valid_i/mark_ready_o takes a row; snap_o is high in that cycle. Then aw_*, w_* and b_* as in
// wick_store, a burst at a time, one counter (word_index_o, word_i) a cycle. idle_o: the row has
// been answered. error_o is a pulse.
module wick_mark #(
  parameter int unsigned Bus = 16,
  parameter int unsigned Burst = 256,
  parameter int unsigned Counters = 83,
  localparam int unsigned IdxW = $clog2(Counters)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             start_i, // base_i is taken
  input  logic             run_i,
  input  logic [31:0]      base_i,
  input  logic             mark_valid_i,
  output logic             mark_ready_o,
  input  logic [15:0]      mark_row_i,
  output logic             snap_o,
  output logic [IdxW-1:0]  word_index_o,
  input  logic [47:0]      word_i,
  output logic             idle_o,
  output logic             error_o,
  output logic             aw_valid_o,
  input  logic             aw_ready_i,
  output logic [31:0]      aw_addr_o,
  output logic [7:0]       aw_len_o,
  output logic             w_valid_o,
  input  logic             w_ready_i,
  output logic [8*Bus-1:0] w_data_o,
  output logic [Bus-1:0]   w_strb_o,
  output logic             w_last_o,
  input  logic             b_valid_i,
  input  logic             b_error_i
);
  localparam int unsigned Words    = Bus / 8;                         // of a beat
  localparam int unsigned Beats    = (Counters + Words - 1) / Words;  // of a row
  localparam int unsigned PerBurst = Burst / Bus < Beats ? Burst / Bus : Beats;
  localparam logic [2:0] Idle = 3'd0, Ask = 3'd1, Fill = 3'd2, Send = 3'd3, Answer = 3'd4;

  logic [2:0]       state_q;
  logic [31:0]      base_q, addr_q;
  logic [IdxW:0]    word_q;  // next counter
  logic [2:0]       slot_q;  // where in the beat
  logic [7:0]       beat_q;  // beats of the burst still to come
  logic [7:0]       rest_q;  // beats of the row still to come
  logic [8*Bus-1:0] data_q;
  logic [Bus-1:0]   strb_q;
  logic             take, got;

  assign mark_ready_o = state_q == Idle && run_i;
  assign take         = mark_valid_i && mark_ready_o;
  assign snap_o       = take;
  assign word_index_o = word_q[IdxW-1:0];
  assign got          = 32'(word_q) < Counters;
  assign idle_o       = state_q == Idle;
  assign error_o      = b_valid_i && b_error_i;
  assign aw_valid_o   = state_q == Ask;
  assign aw_addr_o    = addr_q;
  assign aw_len_o     = 32'(rest_q) < PerBurst ? rest_q - 8'd1 : 8'(PerBurst - 1);
  assign w_valid_o    = state_q == Send;
  assign w_data_o     = data_q;
  assign w_strb_o     = strb_q;
  assign w_last_o     = beat_q == 8'd0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= Idle;
    else begin
      case (state_q)
        Idle:    if (take) state_q <= Ask;
        Ask:     if (aw_ready_i) state_q <= Fill;
        Fill:    if (slot_q == 3'(Words - 1)) state_q <= Send;
        Send:    if (w_ready_i) state_q <= w_last_o ? Answer : Fill;
        default: if (b_valid_i) state_q <= rest_q == '0 ? Idle : Ask;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) base_q <= base_i;
    if (take) begin
      addr_q <= base_q + {6'd0, mark_row_i, 10'd0};
      word_q <= '0;
      slot_q <= '0;
      rest_q <= 8'(Beats);
      data_q <= '0;
      strb_q <= '0;
    end else if (state_q == Ask && aw_ready_i) begin
      addr_q <= addr_q + 32'(PerBurst * Bus);
      beat_q <= aw_len_o;
      rest_q <= rest_q - aw_len_o - 8'd1;
    end else if (state_q == Fill) begin
      // The words of a beat come in one after another, from the top.
      data_q <= {got ? {16'd0, word_i} : 64'd0, data_q[8*Bus-1:64]};
      strb_q <= {got ? 8'hff : 8'h00, strb_q[Bus-1:8]};
      slot_q <= slot_q == 3'(Words - 1) ? '0 : slot_q + 3'd1;
      word_q <= word_q + 1'b1;
    end else if (state_q == Send && w_ready_i) begin
      beat_q <= beat_q - 8'd1;
    end
  end
endmodule
