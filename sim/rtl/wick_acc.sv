// SPDX-License-Identifier: Apache-2.0
// The accumulators: entries of N 32-bit sums in two banks, each with a read and a write port.
//
//   cycle 4  pre_valid_i, pre_tag_i: the entry that the next sums belong to is read, unless they
//            are its first
//   cycle 5  valid_i, tag_i, sums_i: they are added and written. What the next sums add to, if the
//            entry is the same, comes from a register: the bank still reads as before.
//   drain_req_i, drain_entry_i   reads an entry; drain_gnt_o says in the same cycle whether its
//            bank was free (the array goes first), drain_data_o is the entry in the cycle after,
//            only.
// last_o: in the cycle after the last sum of a command was written.
module wick_acc #(
  parameter int unsigned N = 16,
  parameter int unsigned Entries = 1024,
  localparam int unsigned SumW = wick_exec_pkg::SumW,
  localparam int unsigned EntryW = $clog2(Entries)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                clear_i,

  input  logic                pre_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */ // `last` matters only when it is written
  input  wick_exec_pkg::tag_t pre_tag_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic                valid_i,
  input  wick_exec_pkg::tag_t tag_i,
  input  logic [N*SumW-1:0]   sums_i,
  output logic                last_o,

  input  logic                drain_req_i,
  input  logic [EntryW-1:0]   drain_entry_i,
  output logic                drain_gnt_o,
  output logic [32*N-1:0]     drain_data_o,

  output logic [1:0]          ev_read_o,  // per bank
  output logic [1:0]          ev_write_o
);
  localparam int unsigned AddrW = EntryW - 1; // the upper half of the entries is the second bank

  logic array_read;
  logic [EntryW-1:0] array_entry, write_entry;
  assign array_read = pre_valid_i && !pre_tag_i.first;
  assign array_entry = pre_tag_i.entry[EntryW-1:0];
  assign write_entry = tag_i.entry[EntryW-1:0];
  assign drain_gnt_o = !(array_read && array_entry[AddrW] == drain_entry_i[AddrW]);

  logic [1:0] re, we;
  logic [AddrW-1:0] raddr0, raddr1;
  logic [32*N-1:0] rdata0, rdata1, wdata;

  always_comb begin
    for (int unsigned b = 0; b < 2; b++) begin
      re[b] = (array_read && array_entry[AddrW] == b[0]) ||
              (drain_req_i && drain_gnt_o && drain_entry_i[AddrW] == b[0]);
      we[b] = valid_i && write_entry[AddrW] == b[0];
    end
    raddr0 = array_read && !array_entry[AddrW] ? array_entry[AddrW-1:0] : drain_entry_i[AddrW-1:0];
    raddr1 = array_read && array_entry[AddrW] ? array_entry[AddrW-1:0] : drain_entry_i[AddrW-1:0];
  end

  wick_ram_1r1w #(.Width(32 * N), .Depth(Entries / 2)) u_bank0 (
    .clk_i, .re_i(re[0]), .raddr_i(raddr0), .rdata_o(rdata0),
    .we_i(we[0]), .waddr_i(write_entry[AddrW-1:0]), .wdata_i(wdata)
  );
  wick_ram_1r1w #(.Width(32 * N), .Depth(Entries / 2)) u_bank1 (
    .clk_i, .re_i(re[1]), .raddr_i(raddr1), .rdata_o(rdata1),
    .we_i(we[1]), .waddr_i(write_entry[AddrW-1:0]), .wdata_i(wdata)
  );

  logic drain_bank_q, last_q, again, again_q; // the entry that is read is the one that is written
  logic [32*N-1:0] written_q, old;
  assign again = valid_i && array_read && array_entry == write_entry;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      last_q <= 1'b0;
      again_q <= 1'b0;
    end else if (clear_i) begin
      last_q <= 1'b0;
      again_q <= 1'b0;
    end else begin
      last_q <= valid_i && tag_i.last;
      again_q <= again;
    end
  end
  always_ff @(posedge clk_i) begin
    if (drain_req_i) drain_bank_q <= drain_entry_i[AddrW];
    if (again) written_q <= wdata;
  end

  always_comb begin
    old = '0;
    wdata = '0;
    if (valid_i) begin
      old = again_q ? written_q : write_entry[AddrW] ? rdata1 : rdata0;
      for (int unsigned o = 0; o < N; o++) begin
        wdata[32*o +: 32] = 32'(signed'(sums_i[o*SumW +: SumW])) +
                            (tag_i.first ? 32'd0 : old[32*o +: 32]);
      end
    end
  end

  assign last_o = last_q;
  assign drain_data_o = drain_bank_q ? rdata1 : rdata0;
  assign ev_read_o = re;
  assign ev_write_o = we;
endmodule
