// SPDX-License-Identifier: Apache-2.0
// Bytes to beats: collects the bytes read from the scratchpad and cuts them into the data beats of
// write bursts.
//
// burst_*: the bursts in order; burst_pop_o when the last beat of one has been taken. put_i appends
// put_bytes_i bytes; count_o says how many are inside, of at most Capacity. w_*: the beats; with
// discard_i those that are still owed go out without strobes.
module wick_store_packer #(
  parameter int unsigned N = 16,
  parameter int unsigned Bus = 16,
  parameter int unsigned Burst = 256,
  localparam int unsigned Capacity = 3 * Bus + N,
  localparam int unsigned LaneW = $clog2(Bus),
  localparam int unsigned SizeW = $clog2(Burst) + 1,
  localparam int unsigned CntW = LaneW + 3,
  localparam int unsigned PutW = $clog2(N) + 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             discard_i,
  input  logic             burst_valid_i,
  input  logic [LaneW-1:0] burst_lane_i,
  input  logic [SizeW-1:0] burst_bytes_i,
  output logic             burst_pop_o,
  input  logic             put_i,
  input  logic [PutW-1:0]  put_bytes_i,
  input  logic [8*N-1:0]   put_data_i,
  output logic [CntW-1:0]  count_o,
  output logic             w_valid_o,
  input  logic             w_ready_i,
  output logic [8*Bus-1:0] w_data_o,
  output logic [Bus-1:0]   w_strb_o,
  output logic             w_last_o
);
  localparam int unsigned BufW = 8 * Capacity;

  logic             first_q;
  logic [SizeW-1:0] rest_q;
  logic [BufW-1:0]  buf_q;   // bytes from count on are 0
  logic [CntW-1:0]  count_q;

  logic [LaneW-1:0] lane;
  logic [SizeW-1:0] rest;
  logic [LaneW:0]   room, used;
  logic             send, take;
  assign lane = first_q ? burst_lane_i : '0;
  assign rest = first_q ? burst_bytes_i : rest_q;
  assign room = (LaneW+1)'(Bus) - {1'b0, lane};
  assign used = w_last_o ? rest[LaneW:0] : room;

  assign w_last_o    = rest <= SizeW'(room);
  assign w_valid_o   = burst_valid_i && (discard_i || count_q >= CntW'(used));
  assign send        = w_valid_o && w_ready_i;
  assign take        = send && !discard_i;
  assign burst_pop_o = send && w_last_o;
  assign count_o     = count_q;

  always_comb begin
    w_data_o = '0;
    w_strb_o = '0;
    if (w_valid_o) begin
      w_data_o = buf_q[8*Bus-1:0];
      if (lane != '0) w_data_o = w_data_o << {lane, 3'b0};
      if (!discard_i) w_strb_o = ~({Bus{1'b1}} << used) << lane;
    end
  end

  logic [CntW-1:0] kept;
  logic [8*N-1:0]  fresh;
  logic [BufW-1:0] buf_d;
  assign kept = take ? count_q - CntW'(used) : count_q;
  always_comb begin
    fresh = '0;
    buf_d = '0;
    if (take || put_i) begin
      if (kept == '0) buf_d = '0;
      else if (!take) buf_d = buf_q;
      else if (used == (LaneW+1)'(Bus)) buf_d = buf_q >> (8 * Bus);
      else buf_d = buf_q >> {used, 3'b0};
    end
    if (put_i) begin
      fresh = put_data_i;
      if (put_bytes_i != PutW'(N)) fresh = fresh & ~({8*N{1'b1}} << {put_bytes_i, 3'b0});
      if (kept == '0) buf_d = {{BufW-8*N{1'b0}}, fresh};
      else buf_d = buf_d | ({{BufW-8*N{1'b0}}, fresh} << {kept, 3'b0});
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
      if (send) first_q <= w_last_o;
      if (take || put_i) count_q <= kept + (put_i ? CntW'(put_bytes_i) : '0);
    end
  end
  always_ff @(posedge clk_i) begin
    if (send) rest_q <= rest - SizeW'(room);
    if (take || put_i) buf_q <= buf_d;
  end
endmodule
