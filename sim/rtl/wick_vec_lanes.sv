// SPDX-License-Identifier: Apache-2.0
// The N lanes of the vector engine, five stages that never stop: a slot done in cycle 0 has its
// data on rdata_i in cycle 1 (stage 1); where its control word says Last, the result is on data_o
// in cycle 5, with valid_o. Tables are looked up between stages 2 and 3. What the stages do stands
// in wick_vec_acc (1, 2) and wick_vec_scale (3 to 5); here are the control word on its way, the
// tables, and the divider of softmax. Normalisation uses stages 1 and 2 only, and then
// wick_vec_norm.
module wick_vec_lanes #(
  parameter int unsigned N = 16,
  parameter int unsigned Tables = 8
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              clear_i,
  input  logic [wick_vec_pkg::CfgW-1:0]     cfg_i,
  input  logic [3:0]        table_i,      // first table of the command
  input  logic              slot_i,       // a slot is done in this cycle
  input  logic [wick_vec_pkg::CtlLaneW-1:0] ctl_i,
  input  logic [5:0]        bytes_i,
  input  logic [8*N-1:0]    rdata_i,
  // Parameters, read before the slots: see wick_vec_par.
  input  logic              start_i,
  input  logic [511:0]      cmd_i,
  input  logic              record_i,
  input  logic              entry0_i,
  input  logic [19:0]       par_i,
  output logic              par_valid_o,
  input  logic              par_taken_i,
  output logic              par_entry_o,
  output logic [21:0]       par_addr_o,
  output logic [5:0]        par_bytes_o,
  input  logic              got_record_i,
  input  logic              got_entry_i,
  // Divider; bad_o: the parameters of the row are out of range.
  output logic              divided_o,
  output logic              bad_o,
  // Writing of tables.
  input  logic              tab_write_i,
  input  logic [3:0]        tab_table_i,
  input  logic [7-$clog2(N):0] tab_word_i,
  // Results.
  output logic              valid_o,
  output logic [8*N-1:0]    data_o
);
  localparam int unsigned CtlLaneW = wick_vec_pkg::CtlLaneW;

  logic [CtlLaneW-1:0] ctl1_q, ctl2_q, ctl3_q;
  logic [5:0]          bytes1_q, bytes2_q, bytes3_q;
  logic [10*N-1:0]     diff;
  logic [40*N-1:0]     acc;
  logic [32*N-1:0]     hold;
  logic [8*N-1:0]      index;
  logic [24*N-1:0]     exponential;
  logic                looks_up, div_bad, norm_bad, scale_valid, norm_valid;
  logic [8*N-1:0]      scale_data, norm_data;

  logic [31:0] bias;
  logic [7:0]  entry_shift;
  logic [24:0] ma, mb;
  logic [23:0] mult, div_mult;
  logic [5:0]  shift, div_shift;
  logic [8:0]  za, zb;
  logic [15:0] zero, lo, hi;
  logic [63:0] epsilon;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ctl1_q <= '0;
      ctl2_q <= '0;
      ctl3_q <= '0;
      bytes1_q <= '0;
      bytes2_q <= '0;
      bytes3_q <= '0;
    end else begin
      ctl1_q <= slot_i && !clear_i ? ctl_i : '0;
      ctl2_q <= clear_i ? '0 : ctl1_q;
      ctl3_q <= clear_i ? '0 : ctl2_q;
      bytes1_q <= bytes_i;
      bytes2_q <= bytes1_q;
      bytes3_q <= bytes2_q;
    end
  end

  // Tables.
  assign looks_up = ctl2_q[wick_vec_pkg::CtlTable];

  always_comb begin
    index = '0;
    if (looks_up) begin
      for (int unsigned i = 0; i < N; i++) index[8*i+:8] = diff[10*i+:8];
    end
  end

  wick_vec_tables #(
    .N(N),
    .Tables(Tables)
  ) u_tables (
    .clk_i,
    .write_i(tab_write_i), .write_table_i(tab_table_i), .write_word_i(tab_word_i),
    .write_data_i(rdata_i),
    .read_i(looks_up), .table_i, .three_i(cfg_i[wick_vec_pkg::CfgThree]), .index_i(index),
    .data_o(exponential)
  );

  wick_vec_par #(
    .N(N)
  ) u_par (
    .clk_i, .rst_ni, .clear_i,
    .start_i,
    .record_i,
    .entry0_i,
    .par_i,
    .valid_o(par_valid_o),
    .ready_i(par_taken_i),
    .entry_o(par_entry_o),
    .addr_o(par_addr_o),
    .bytes_o(par_bytes_o),
    .got_record_i,
    .got_entry_i,
    .rdata_i,
    .cfg_i,
    .div_mult_i(div_mult),
    .div_shift_i(div_shift),
    .bias_o(bias),
    .entry_shift_o(entry_shift),
    .epsilon_o(epsilon),
    .ma_o(ma),
    .mb_o(mb),
    .mult_o(mult),
    .shift_o(shift),
    .za_o(za),
    .zb_o(zb),
    .zero_o(zero),
    .lo_o(lo),
    .hi_o(hi)
  );

  wick_vec_acc #(
    .N(N)
  ) u_acc (
    .clk_i,
    .cfg_i,
    .ctl1_i(ctl1_q),
    .ctl2_i(ctl2_q),
    .ctl3_i(ctl3_q),
    .bytes2_i(bytes2_q),
    .bytes3_i(bytes3_q),
    .rdata_i,
    .za_i(za),
    .zb_i(zb),
    .hold_i(hold),
    .exp_i(exponential),
    .diff_o(diff),
    .acc_o(acc)
  );

  wick_vec_div u_div (
    .clk_i, .rst_ni, .clear_i,
    .start_i(ctl3_q[wick_vec_pkg::CtlTotal] & cfg_i[wick_vec_pkg::CfgSoftmax]),
    .sum_i(acc[39:0]),
    .m_i(bias),
    .s_i(entry_shift),
    .soon_o(divided_o),
    .bad_o(div_bad),
    .mult_o(div_mult),
    .shift_o(div_shift)
  );

  wick_vec_scale #(
    .N(N)
  ) u_scale (
    .clk_i, .rst_ni, .clear_i,
    .cfg_i,
    .ctl2_i(ctl2_q),
    .ctl3_i(ctl3_q),
    .diff_i(diff),
    .acc_i(acc),
    .exp_i(exponential),
    .ma_i(ma),
    .mb_i(mb),
    .mult_i(mult),
    .shift_i(shift),
    .zero_i(zero),
    .lo_i(lo),
    .hi_i(hi),
    .hold_o(hold),
    .valid_o(scale_valid),
    .data_o(scale_data)
  );

  wick_vec_norm #(
    .N(N)
  ) u_norm (
    .clk_i, .rst_ni, .clear_i,
    .load_i(start_i), .cmd_i,
    .centred_i(cfg_i[wick_vec_pkg::CfgCentre]),
    .ctl1_i(ctl1_q),
    .ctl2_i(ctl2_q),
    .bytes2_i(bytes2_q),
    .diff_i(diff),
    .rdata_i,
    .epsilon_i(epsilon),
    .shift_i(shift),
    .zero_i(zero),
    .lo_i(lo),
    .hi_i(hi),
    .bad_o(norm_bad),
    .valid_o(norm_valid),
    .data_o(norm_data)
  );

  assign bad_o = div_bad | norm_bad;
  assign valid_o = scale_valid | norm_valid;
  assign data_o = scale_data | norm_data;
endmodule
