// SPDX-License-Identifier: Apache-2.0
// Beats to bytes: keeps of each beat the bytes that its burst uses and gives them out from a buffer
// of two beats.
//
// burst_*: what was asked for, in order; burst_pop_o when its last beat has been taken. beat_*: the
// data, in the same order. bytes_o holds count_o bytes of the sequence, the first in the low lane;
// take_i removes the first take_bytes_i (at most N and count_o) of them in the same cycle in which
// a beat may come in. error_o: the beat taken in this cycle was answered with an error. With
// discard_i beats are taken at once and forgotten.
module wick_load_gearbox #(
  parameter int unsigned N = 16,
  parameter int unsigned Bus = 16,
  parameter int unsigned Burst = 256,
  localparam int unsigned LaneW = $clog2(Bus),
  localparam int unsigned SizeW = $clog2(Burst) + 1,
  localparam int unsigned CntW = LaneW + 2,
  localparam int unsigned TakeW = $clog2(N) + 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             discard_i,
  input  logic             burst_valid_i,
  input  logic [LaneW-1:0] burst_lane_i,
  input  logic [SizeW-1:0] burst_bytes_i,
  output logic             burst_pop_o,
  input  logic             beat_valid_i,
  output logic             beat_ready_o,
  input  logic [8*Bus-1:0] beat_data_i,
  input  logic             beat_error_i,
  output logic [8*N-1:0]   bytes_o,
  output logic [CntW-1:0]  count_o,
  input  logic             take_i,
  input  logic [TakeW-1:0] take_bytes_i,
  output logic             error_o
);
  logic              first_q;  // the next beat is the first one of its burst
  logic [SizeW-1:0]  rest_q;   // bytes of the burst that are still to come
  logic [16*Bus-1:0] buf_q;    // bytes from count on are 0
  logic [CntW-1:0]   count_q;

  logic [LaneW-1:0]  lane;
  logic [SizeW-1:0]  rest;
  logic [LaneW:0]    room, used;
  logic              last, accept, append;
  logic [CntW-1:0]   kept; // bytes that stay after this cycle's take
  assign lane   = first_q ? burst_lane_i : '0;
  assign rest   = first_q ? burst_bytes_i : rest_q;
  assign room   = (LaneW+1)'(Bus) - {1'b0, lane};
  assign last   = rest <= SizeW'(room);
  assign used   = last ? rest[LaneW:0] : room;
  assign accept = beat_valid_i && beat_ready_o;
  assign append = accept && !discard_i;

  assign kept         = take_i ? count_q - CntW'(take_bytes_i) : count_q;
  assign beat_ready_o = burst_valid_i && (discard_i || kept <= CntW'(Bus));
  assign burst_pop_o  = accept && last;
  assign error_o      = accept && beat_error_i;
  assign bytes_o      = buf_q[8*N-1:0];
  assign count_o      = count_q;

  logic [8*Bus-1:0]  fresh;
  logic [16*Bus-1:0] buf_d;
  always_comb begin
    fresh = '0;
    buf_d = '0;
    if (append || take_i) begin
      if (kept == '0) buf_d = '0;
      else if (!take_i) buf_d = buf_q;
      else if (take_bytes_i == TakeW'(N)) buf_d = buf_q >> (8 * N);
      else buf_d = buf_q >> {take_bytes_i, 3'b0};
    end
    if (append) begin
      fresh = beat_data_i;
      if (lane != '0) fresh = fresh >> {lane, 3'b0};
      if (used != (LaneW+1)'(Bus)) fresh = fresh & ~({8*Bus{1'b1}} << {used, 3'b0});
      if (kept == '0) buf_d = {{8*Bus{1'b0}}, fresh};
      else buf_d = buf_d | ({{8*Bus{1'b0}}, fresh} << {kept, 3'b0});
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= 1'b1;
      count_q <= '0;
    end else if (clear_i) begin
      first_q <= 1'b1;
      count_q <= '0;
    end else begin
      if (accept) first_q <= last;
      if (append || take_i) count_q <= kept + (append ? CntW'(used) : '0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) rest_q <= rest - SizeW'(room);
    if (append || take_i) buf_q <= buf_d;
  end
endmodule
