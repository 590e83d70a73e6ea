// SPDX-License-Identifier: Apache-2.0
// A queue of Depth entries in registers; the oldest stands in a register of its own, so data_o
// comes without a multiplexer.
//
// valid_i/ready_o in, valid_o/ready_i out; an entry goes through in one cycle. Neither ready
// depends on a valid. clear_i empties it.
module wick_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4 // at least 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);
  localparam int unsigned PtrW = Depth > 2 ? $clog2(Depth) : 1;
  localparam int unsigned CntW = $clog2(Depth + 1);
  localparam logic [PtrW-1:0] PtrMax = PtrW'(Depth > 1 ? Depth - 1 : 1);

  logic [Width-1:0] mem_q [2**PtrW]; // entries behind the oldest
  logic [Width-1:0] head_q;
  logic             head_valid_q;
  logic [PtrW-1:0]  wptr_q, rptr_q;
  logic [CntW-1:0]  behind_q; // used in mem_q

  logic put, take, to_head;
  assign ready_o = !head_valid_q || behind_q != CntW'(Depth - 1);
  assign valid_o = head_valid_q;
  assign data_o  = head_q;
  assign put     = valid_i && ready_o;
  assign take    = head_valid_q && ready_i;
  assign to_head = put && behind_q == '0 && (!head_valid_q || take);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_valid_q <= 1'b0;
      behind_q     <= '0;
      wptr_q       <= '0;
      rptr_q       <= '0;
    end else if (clear_i) begin
      head_valid_q <= 1'b0;
      behind_q     <= '0;
      wptr_q       <= '0;
      rptr_q       <= '0;
    end else if (put || take) begin
      if (to_head) head_valid_q <= 1'b1;
      else if (take && behind_q == '0) head_valid_q <= 1'b0;
      if (put && !to_head) wptr_q <= wptr_q == PtrMax ? '0 : wptr_q + 1'b1;
      if (take && behind_q != '0) rptr_q <= rptr_q == PtrMax ? '0 : rptr_q + 1'b1;
      if (put && !to_head && !(take && behind_q != '0)) behind_q <= behind_q + 1'b1;
      if (!(put && !to_head) && take && behind_q != '0) behind_q <= behind_q - 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (to_head) head_q <= data_i;
    else if (take && behind_q != '0) head_q <= mem_q[rptr_q];
    if (put && !to_head) mem_q[wptr_q] <= data_i;
  end
endmodule
