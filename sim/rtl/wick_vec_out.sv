// SPDX-License-Identifier: Apache-2.0
// Results on their way to the scratchpad, in order. push_i: a slot completes a result, which will
// be written to addr_i, bytes_i bytes; its data arrive with data_valid_i some cycles later. turn_o:
// the port must now write, because Depth results are on their way, or any and no slots are left
// (drain_i): so the order of reads and writes depends on nothing but the command. valid_o: the
// oldest result can be written; pop_i: it was.
module wick_vec_out #(
  parameter int unsigned N = 16,
  parameter int unsigned Depth = 6
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           clear_i,
  input  logic           push_i,
  input  logic [21:0]    addr_i,
  input  logic [5:0]     bytes_i,
  input  logic           data_valid_i,
  input  logic [8*N-1:0] data_i,
  input  logic           drain_i,
  output logic           turn_o,
  output logic           valid_o,
  input  logic           pop_i,
  output logic [21:0]    addr_o,
  output logic [5:0]     bytes_o,
  output logic [8*N-1:0] data_o,
  output logic           empty_o
);
  logic [28*Depth-1:0]  place_q;
  logic [8*N*Depth-1:0] data_q;
  logic [2:0] head_q, push_q, data_ptr_q;  // entries of the oldest, the next place, the next data
  logic [2:0] count_q, ready_q;            // results, those of them that have data

  assign turn_o = count_q == 3'(Depth) || (drain_i && count_q != '0);
  assign valid_o = ready_q != '0;
  assign empty_o = count_q == '0;

  always_comb begin
    {bytes_o, addr_o} = '0;
    data_o = '0;
    if (valid_o) begin
      {bytes_o, addr_o} = place_q[28*head_q+:28];
      data_o = data_q[8*N*head_q+:8*N];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      push_q <= '0;
      data_ptr_q <= '0;
      count_q <= '0;
      ready_q <= '0;
    end else if (clear_i) begin
      head_q <= '0;
      push_q <= '0;
      data_ptr_q <= '0;
      count_q <= '0;
      ready_q <= '0;
    end else begin
      if (push_i) push_q <= push_q == 3'(Depth - 1) ? '0 : push_q + 3'd1;
      if (data_valid_i) data_ptr_q <= data_ptr_q == 3'(Depth - 1) ? '0 : data_ptr_q + 3'd1;
      if (pop_i) head_q <= head_q == 3'(Depth - 1) ? '0 : head_q + 3'd1;
      count_q <= count_q + 3'(push_i) - 3'(pop_i);
      ready_q <= ready_q + 3'(data_valid_i) - 3'(pop_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) place_q[28*push_q+:28] <= {bytes_i, addr_i};
    if (data_valid_i) data_q[8*N*data_ptr_q+:8*N] <= data_i;
  end

`ifdef VERILATOR
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (rst_ni && !clear_i) begin
      assert (!(push_i && count_q == 3'(Depth))) else $error("a result too many");
      assert (!(data_valid_i && ready_q == count_q)) else $error("data without a place");
      assert (!(pop_i && ready_q == '0)) else $error("nothing to write");
    end
  end
`endif
endmodule
