// SPDX-License-Identifier: Apache-2.0
// Memory with one port, which reads or writes a word a cycle. Replace it by a macro where there is
// one.
//
// req_i with we_i low reads: rdata_o holds the word from the next cycle until the next read. With
// we_i high the bytes of be_i are written and rdata_o keeps its value.
module wick_ram_1rw #(
  parameter int unsigned Width = 128,  // bits, a multiple of 8
  parameter int unsigned Depth = 1024, // words, a power of two, at least 2
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic               clk_i,
  input  logic               req_i,
  input  logic               we_i,
  input  logic [AddrW-1:0]   addr_i,
  input  logic [Width/8-1:0] be_i,
  input  logic [Width-1:0]   wdata_i,
  output logic [Width-1:0]   rdata_o
);
  logic [Width-1:0] mem_q [Depth];

`ifdef WICK_WIDE
  // One assignment of a whole word: with one a byte a simulator looks at every byte in every cycle.
  always_ff @(posedge clk_i) begin
    if (req_i) begin
      if (we_i) begin
        logic [Width-1:0] word;
        word = wdata_i;
        if (!(&be_i)) begin
          for (int i = 0; i < Width / 8; i++) begin
            if (!be_i[i]) word[8*i+:8] = mem_q[addr_i][8*i+:8];
          end
        end
        mem_q[addr_i] <= word;
      end else begin
        rdata_o <= mem_q[addr_i];
      end
    end
  end
`else
  always_ff @(posedge clk_i) begin
    if (req_i) begin
      if (we_i) begin
        for (int i = 0; i < Width / 8; i++) begin
          if (be_i[i]) mem_q[addr_i][8*i+:8] <= wdata_i[8*i+:8];
        end
      end else begin
        rdata_o <= mem_q[addr_i];
      end
    end
  end
`endif
endmodule
