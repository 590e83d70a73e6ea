// SPDX-License-Identifier: Apache-2.0
// Scratchpad side of a DMA channel: the accesses that cover chunks of c0 bytes, c1 chunks a line,
// lines as long as steps come (last_o: the end of line c2, for FILL).
//
// load_i starts a pattern; the outputs describe the present access of at most N bytes in one chunk,
// and step_i goes to the next; load_i wins. Addresses saturate above 2^20, so range_o is exact.
module wick_dma_pattern #(
  parameter int unsigned N = 16,
  parameter int unsigned ScratchpadBytes = 262144,
  localparam int unsigned SizeW = $clog2(N) + 1
) (
  input  logic             clk_i,
  input  logic             load_i,
  input  logic [19:0]      spm_i,
  input  logic [19:0]      c0_i,
  input  logic [11:0]      c1_i,
  input  logic [11:0]      c2_i,
  input  logic [19:0]      p1_i,
  input  logic [19:0]      p2_i,
  input  logic             step_i,
  output logic [19:0]      addr_o,
  output logic [SizeW-1:0] size_o,
  output logic             range_o,     // the access leaves the scratchpad
  output logic             chunk_end_o,
  output logic             last_o
);
  logic [20:0] addr_q, chunk_q, line_q; // bit 20: above the 20 bits
  logic [19:0] rest_q, c0_q, p1_q, p2_q;
  logic [11:0] k_q, i_q, c1_q;          // chunks and lines still to come

  function automatic [20:0] add(input [20:0] a, input [19:0] b);
    add     = {1'b0, a[19:0]} + {1'b0, b};
    add[20] = add[20] | a[20];
  endfunction

  logic [20:0] next_chunk, next_line;
  assign next_chunk  = add(chunk_q, p1_q);
  assign next_line   = add(line_q, p2_q);
  assign chunk_end_o = rest_q <= 20'(N);
  assign size_o      = chunk_end_o ? rest_q[SizeW-1:0] : SizeW'(N);
  assign last_o      = chunk_end_o && k_q == '0 && i_q == '0;
  assign addr_o      = addr_q[19:0];
  assign range_o     = addr_q[20] || {1'b0, addr_q[19:0]} + 21'(size_o) > 21'(ScratchpadBytes);

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      addr_q  <= {1'b0, spm_i};
      chunk_q <= {1'b0, spm_i};
      line_q  <= {1'b0, spm_i};
      rest_q  <= c0_i;
      c0_q    <= c0_i;
      p1_q    <= p1_i;
      p2_q    <= p2_i;
      c1_q    <= c1_i;
      k_q     <= c1_i - 12'd1;
      i_q     <= c2_i - 12'd1;
    end else if (step_i && !chunk_end_o) begin
      addr_q <= add(addr_q, 20'(N));
      rest_q <= rest_q - 20'(N);
    end else if (step_i) begin
      rest_q <= c0_q;
      if (k_q != '0) begin
        k_q     <= k_q - 12'd1;
        addr_q  <= next_chunk;
        chunk_q <= next_chunk;
      end else begin
        k_q     <= c1_q - 12'd1;
        i_q     <= i_q - 12'd1;
        addr_q  <= next_line;
        chunk_q <= next_line;
        line_q  <= next_line;
      end
    end
  end
endmodule
