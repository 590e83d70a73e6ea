// SPDX-License-Identifier: Apache-2.0
// The units of the vector engine that make slots, and the walkers that they share. load_i starts
// the unit that decoded_i names; the others stay idle, so the slot offered is the OR of theirs.
// taken_i: it is done in this cycle. addr_o is where it reads or writes, result_addr_o where the
// result that it completes goes, result_bytes_o how much of it; n_i are the bytes of a word of MAP
// and POOL.
module wick_vec_units #(
  parameter int unsigned N = 16
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           clear_i,
  input  logic           load_i,
  input  logic [511:0]   cmd_i,
  input  logic [wick_vec_pkg::CfgW-1:0] decoded_i,  // of the command that is loaded
  input  logic [wick_vec_pkg::CfgW-1:0] cfg_i,      // of the one that runs
  input  logic [79:0]    walk_a_i,
  input  logic [79:0]    walk_b_i,
  input  logic [79:0]    walk_y_i,
  output logic           valid_o,
  input  logic           taken_i,
  output logic [wick_vec_pkg::CtlW-1:0] ctl_o,
  output logic [5:0]     bytes_o,
  output logic [21:0]    addr_o,
  input  logic [5:0]     n_i,
  output logic [21:0]    result_addr_o,
  output logic [5:0]     result_bytes_o,
  output logic [8*N-1:0] wdata_o,
  output logic           finished_o,
  input  logic           got_i,  // rdata_i is what a slot of TRN or TAB read
  input  logic [8*N-1:0] rdata_i,
  output logic           tab_write_o,
  output logic [3:0]     tab_table_o,
  output logic [7-$clog2(N):0] tab_word_o,
  input  logic           divided_i
);
  localparam int unsigned CtlW = wick_vec_pkg::CtlW;

  logic            map_valid, pool_valid, row_valid, norm_valid, trn_valid;
  logic            map_finished, pool_finished, row_finished, norm_finished, trn_finished;
  logic [CtlW-1:0] map_ctl, pool_ctl, row_ctl, norm_ctl, trn_ctl;
  logic [5:0]      map_bytes, pool_bytes, row_bytes, norm_bytes, trn_bytes, norm_result;
  logic [21:0]     addr_a, addr_b, addr_y, pool_addr, norm_addr;

  assign valid_o = map_valid | pool_valid | row_valid | norm_valid | trn_valid;
  assign ctl_o = map_ctl | pool_ctl | row_ctl | norm_ctl | trn_ctl;
  assign bytes_o = map_bytes | pool_bytes | row_bytes | norm_bytes | trn_bytes;
  assign addr_o = ctl_o[wick_vec_pkg::CtlWrite] ? addr_y :
      cfg_i[wick_vec_pkg::CfgPool] ? pool_addr :
      ctl_o[wick_vec_pkg::CtlGamma] ? norm_addr :
      ctl_o[wick_vec_pkg::CtlWalkB] ? addr_b : addr_a;
  assign result_addr_o = addr_y;
  assign result_bytes_o = cfg_i[wick_vec_pkg::CfgOneByte] ? 6'd1 :
      cfg_i[wick_vec_pkg::CfgNorm] ? norm_result : cfg_i[wick_vec_pkg::CfgRow] ? bytes_o : n_i;
  assign finished_o = (cfg_i[wick_vec_pkg::CfgMap] & map_finished) |
      (cfg_i[wick_vec_pkg::CfgPool] & pool_finished) |
      (cfg_i[wick_vec_pkg::CfgNorm] & norm_finished) |
      (cfg_i[wick_vec_pkg::CfgRow] & ~cfg_i[wick_vec_pkg::CfgNorm] & row_finished) |
      ((cfg_i[wick_vec_pkg::CfgTrn] | cfg_i[wick_vec_pkg::CfgTab]) & trn_finished);

  wick_vec_map u_map (
    .clk_i, .rst_ni, .clear_i,
    .load_i(load_i & decoded_i[wick_vec_pkg::CfgMap]),
    .cmd_i,
    .valid_o(map_valid),
    .ready_i(map_valid & taken_i),
    .ctl_o(map_ctl),
    .bytes_o(map_bytes),
    .finished_o(map_finished)
  );

  wick_vec_pool u_pool (
    .clk_i, .rst_ni, .clear_i,
    .load_i(load_i & decoded_i[wick_vec_pkg::CfgPool]),
    .cmd_i,
    .valid_o(pool_valid),
    .ready_i(pool_valid & taken_i),
    .ctl_o(pool_ctl),
    .bytes_o(pool_bytes),
    .addr_o(pool_addr),
    .finished_o(pool_finished)
  );

  wick_vec_row #(
    .N(N)
  ) u_row (
    .clk_i, .rst_ni, .clear_i,
    .load_i(load_i & decoded_i[wick_vec_pkg::CfgRow] & ~decoded_i[wick_vec_pkg::CfgNorm]),
    .cmd_i,
    .valid_o(row_valid),
    .ready_i(row_valid & taken_i),
    .ctl_o(row_ctl),
    .bytes_o(row_bytes),
    .divided_i,
    .finished_o(row_finished)
  );

  wick_vec_norm_slots #(
    .N(N)
  ) u_norm (
    .clk_i, .rst_ni, .clear_i,
    .load_i(load_i & decoded_i[wick_vec_pkg::CfgNorm]),
    .cmd_i,
    .valid_o(norm_valid),
    .ready_i(norm_valid & taken_i),
    .ctl_o(norm_ctl),
    .bytes_o(norm_bytes),
    .addr_o(norm_addr),
    .result_bytes_o(norm_result),
    .finished_o(norm_finished)
  );

  wick_vec_trn #(
    .N(N)
  ) u_trn (
    .clk_i, .rst_ni, .clear_i,
    .load_i(load_i & (decoded_i[wick_vec_pkg::CfgTrn] | decoded_i[wick_vec_pkg::CfgTab])),
    .cmd_i,
    .valid_o(trn_valid),
    .ready_i(trn_valid & taken_i),
    .ctl_o(trn_ctl),
    .bytes_o(trn_bytes),
    .wdata_o,
    .got_i,
    .rdata_i,
    .tab_write_o,
    .tab_table_o,
    .tab_word_o,
    .finished_o(trn_finished)
  );

  wick_vec_walk u_walk_a (
    .clk_i,
    .load_i,
    .config_i(walk_a_i),
    .step_i(taken_i & ctl_o[wick_vec_pkg::CtlStepA]),
    .level_i(ctl_o[wick_vec_pkg::CtlStepA+1+:2]),
    .addr_o(addr_a)
  );

  wick_vec_walk u_walk_b (
    .clk_i,
    .load_i,
    .config_i(walk_b_i),
    .step_i(taken_i & ctl_o[wick_vec_pkg::CtlStepB]),
    .level_i(ctl_o[wick_vec_pkg::CtlStepB+1+:2]),
    .addr_o(addr_b)
  );

  wick_vec_walk u_walk_y (
    .clk_i,
    .load_i,
    .config_i(walk_y_i),
    .step_i(taken_i & ctl_o[wick_vec_pkg::CtlStepY]),
    .level_i(ctl_o[wick_vec_pkg::CtlStepY+1+:2]),
    .addr_o(addr_y)
  );
endmodule
