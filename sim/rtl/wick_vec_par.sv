// SPDX-License-Identifier: Apache-2.0
// The parameter record: reads it before a command's slots (start_i with the configuration; then
// read requests on valid_o, from the next cycle on: 32/N words, at least one, and entry 0 where
// the configuration asks for it), takes entries that slots read later, and gives the parameters of
// the lanes that follow from it. got_*_i say what rdata_i holds; an entry may be at any address.
module wick_vec_par #(
  parameter int unsigned N = 16
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              clear_i,
  input  logic              start_i,
  input  logic              record_i,  // with start_i: to be read?
  input  logic              entry0_i,
  input  logic [19:0]       par_i,
  output logic              valid_o,
  input  logic              ready_i,
  output logic              entry_o,   // the request is for an entry
  output logic [21:0]       addr_o,
  output logic [5:0]        bytes_o,
  input  logic              got_record_i,
  input  logic              got_entry_i,
  input  logic [8*N-1:0]    rdata_i,
  input  logic [wick_vec_pkg::CfgW-1:0] cfg_i,
  input  logic [23:0]       div_mult_i,
  input  logic [5:0]        div_shift_i,
  output logic [31:0]       bias_o,
  output logic [7:0]        entry_shift_o,
  output logic [63:0]       epsilon_o,
  output logic [24:0]       ma_o,
  output logic [24:0]       mb_o,
  output logic [23:0]       mult_o,
  output logic [5:0]        shift_o,
  output logic [8:0]        za_o,
  output logic [8:0]        zb_o,
  output logic [15:0]       zero_o,
  output logic [15:0]       lo_o,
  output logic [15:0]       hi_o
);
  localparam int unsigned Words = 32 / N;

  logic [255:0] record_q;
  logic [63:0]  entry_q;
  logic [19:0]  par_q;
  logic [2:0]   word_q, take_q;  // next word to ask for, to be taken
  logic         busy_q, entry0_q, last;

  assign last = entry_o | (word_q == 3'(Words - 1) & ~entry0_q);
  assign entry_o = word_q == 3'(Words);
  assign valid_o = busy_q;
  assign addr_o = busy_q ? {2'b0, par_q} + 22'(word_q) * 22'(N) : '0;
  assign bytes_o = entry_o ? 6'd8 : 6'(N);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      word_q <= '0;
      take_q <= '0;
    end else if (clear_i) begin
      busy_q <= 1'b0;
    end else begin
      if (start_i) busy_q <= record_i;
      else if (ready_i && last) busy_q <= 1'b0;
      if (start_i) word_q <= '0;
      else if (ready_i) word_q <= word_q + 3'd1;
      if (start_i) take_q <= '0;
      else if (got_record_i) take_q <= take_q + 3'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) par_q <= par_i;
    if (start_i) entry0_q <= entry0_i;
    if (got_record_i) record_q[8*N*take_q+:8*N] <= rdata_i;
    if (got_entry_i) entry_q <= rdata_i[63:0];
  end

  assign bias_o = entry_q[31:0];
  assign entry_shift_o = entry_q[63:56];
  assign epsilon_o = record_q[64+:64];
  assign ma_o = record_q[64+:25];
  assign mb_o = record_q[96+:25];
  assign mult_o = cfg_i[wick_vec_pkg::CfgSoftmax] ? div_mult_i : entry_q[32+:24];
  assign za_o = record_q[144+:9];
  assign zb_o = record_q[160+:9];

  always_comb begin
    shift_o = '0;
    if (cfg_i[wick_vec_pkg::CfgSoftmax]) shift_o = div_shift_i;
    else if (cfg_i[wick_vec_pkg::CfgScale])
      shift_o = cfg_i[wick_vec_pkg::CfgEntry] ? entry_q[56+:6] : record_q[128+:6];
    zero_o = '0;
    lo_o = 16'h8000;
    hi_o = 16'h7fff;
    if (cfg_i[wick_vec_pkg::CfgRange1]) begin
      zero_o = record_q[0+:16];
      lo_o = record_q[16+:16];
      hi_o = record_q[32+:16];
    end else if (cfg_i[wick_vec_pkg::CfgRange2]) begin
      if (cfg_i[wick_vec_pkg::CfgZy]) zero_o = record_q[176+:16];
      lo_o = record_q[192+:16];
      hi_o = record_q[208+:16];
    end
  end

`ifdef VERILATOR
  logic unused;
  assign unused = ^record_q;
`endif
endmodule
