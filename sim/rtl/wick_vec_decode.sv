// SPDX-License-Identifier: Apache-2.0
// What a command of the vector engine asks for: combinational, from the command as it is taken
// (valid_i; zeros otherwise). Walkers A, B (operands) and Y (results) get {s2, s1, s0, base}; cfg_o
// is the configuration word of wick_vec_pkg. error_o: the command must not run, code_o says why.
module wick_vec_decode #(
  parameter int unsigned N = 16,
  parameter int unsigned Tables = 8
) (
  input  logic         valid_i,
  input  logic [511:0] cmd_i,
  output logic [79:0]  walk_a_o,
  output logic [79:0]  walk_b_o,
  output logic [79:0]  walk_y_o,
  output logic [19:0]  par_o,
  output logic [3:0]   table_o,
  output logic [5:0]   bytes_o,  // n of MAP and POOL
  output logic [wick_vec_pkg::CfgW-1:0] cfg_o,
  output logic         error_o,
  output logic [7:0]   code_o
);
  localparam int unsigned LogN = $clog2(N);

  logic [4:0] opcode;
  logic [2:0] map_fn;
  logic [1:0] pool_fn;
  logic [2:0] row_fn;
  logic [5:0] map_n, pool_n, row_n, trn_rows, trn_n;
  logic [11:0] row_kc;
  logic [17:0] row_length;
  logic softmax, norm, row_max;  // of ROW
  logic [3:0] table_sel;
  logic [4:0] tables, tab_count;
  logic [5:0] table_end;
  logic is_add, is_mul, is_max, is_min, is_table, is_scale;  // of MAP
  logic known, bad, bad_par;

  assign opcode = cmd_i[wick_pkg::HdrOpcodeLsb+:5];
  assign map_fn = cmd_i[wick_pkg::MapFnLsb+:3];
  assign pool_fn = cmd_i[wick_pkg::PoolFnLsb+:2];
  assign row_fn = cmd_i[wick_pkg::RowFnLsb+:3];
  assign map_n = cmd_i[wick_pkg::MapNLsb+:6];
  assign pool_n = cmd_i[wick_pkg::PoolNLsb+:6];
  assign row_n = cmd_i[wick_pkg::RowKTailLsb+:6];
  assign row_kc = cmd_i[wick_pkg::RowKcLsb+:12];
  assign row_length = ({6'b0, row_kc} - 18'd1) * 18'(N) + {12'b0, row_n};
  assign softmax = row_fn == 3'(wick_pkg::RowSoftmax);
  assign norm = row_fn == 3'(wick_pkg::RowLayernorm) || row_fn == 3'(wick_pkg::RowRmsnorm);
  assign row_max = row_fn == 3'(wick_pkg::RowMax);
  assign trn_rows = cmd_i[wick_pkg::TrnRowsLsb+:6];
  assign trn_n = cmd_i[wick_pkg::TrnNLsb+:6];
  assign tab_count = cmd_i[wick_pkg::TabCountLsb+:5];
  assign is_add = map_fn == 3'(wick_pkg::MapAdd);
  assign is_mul = map_fn == 3'(wick_pkg::MapMul);
  assign is_max = map_fn == 3'(wick_pkg::MapMax);
  assign is_min = map_fn == 3'(wick_pkg::MapMin);
  assign is_table = map_fn == 3'(wick_pkg::MapTable);
  assign is_scale = map_fn == 3'(wick_pkg::MapScale);

  always_comb begin
    walk_a_o = '0;
    walk_b_o = '0;
    walk_y_o = '0;
    par_o = '0;
    table_sel = '0;
    tables = '0;
    bytes_o = '0;
    cfg_o = '0;
    known = 1'b1;
    bad = 1'b0;
    if (valid_i) begin
      case (opcode)
        wick_pkg::OpMap: begin
          walk_a_o = {cmd_i[wick_pkg::MapA2Lsb+:20], cmd_i[wick_pkg::MapA1Lsb+:20],
                      4'b0, cmd_i[wick_pkg::MapA0Lsb+:16], cmd_i[wick_pkg::MapALsb+:20]};
          walk_b_o = {cmd_i[wick_pkg::MapB2Lsb+:20], cmd_i[wick_pkg::MapB1Lsb+:20],
                      4'b0, cmd_i[wick_pkg::MapB0Lsb+:16], cmd_i[wick_pkg::MapBLsb+:20]};
          walk_y_o = {cmd_i[wick_pkg::MapY2Lsb+:20], cmd_i[wick_pkg::MapY1Lsb+:20],
                      4'b0, cmd_i[wick_pkg::MapY0Lsb+:16], cmd_i[wick_pkg::MapOutLsb+:20]};
          par_o = cmd_i[wick_pkg::MapParLsb+:20];
          table_sel = cmd_i[wick_pkg::MapTableLsb+:4];
          tables = {4'b0, is_table};
          bytes_o = map_n;
          cfg_o[wick_vec_pkg::CfgMap] = 1'b1;
          cfg_o[wick_vec_pkg::CfgU8] = cmd_i[wick_pkg::MapAU8Lsb];
          cfg_o[wick_vec_pkg::CfgHoldU8] = cmd_i[wick_pkg::MapBU8Lsb];
          cfg_o[wick_vec_pkg::CfgSplat] = cmd_i[wick_pkg::MapSplatLsb];
          cfg_o[wick_vec_pkg::CfgCentre] = is_add | is_mul | is_scale;
          cfg_o[wick_vec_pkg::CfgMin] = is_min;
          cfg_o[wick_vec_pkg::CfgBaseHold] = is_max | is_min;
          cfg_o[wick_vec_pkg::CfgMul] = is_mul;
          cfg_o[wick_vec_pkg::CfgAdd] = is_add;
          cfg_o[wick_vec_pkg::CfgTable] = is_table;
          cfg_o[wick_vec_pkg::CfgScale] = is_add | is_mul | is_scale;
          cfg_o[wick_vec_pkg::CfgRescale] = is_mul;
          cfg_o[wick_vec_pkg::CfgRange2] = is_add | is_mul | is_scale | is_max | is_min;
          cfg_o[wick_vec_pkg::CfgZy] = is_add | is_mul | is_scale;
          cfg_o[wick_vec_pkg::CfgRecord] = is_add | is_mul | is_scale | is_max | is_min;
          bad = map_fn > 3'(wick_pkg::MapScale) || cmd_i[wick_pkg::MapN0Lsb+:12] == '0 ||
              cmd_i[wick_pkg::MapN1Lsb+:12] == '0 || cmd_i[wick_pkg::MapN2Lsb+:12] == '0 ||
              map_n == '0 || map_n > 6'(N);
        end
        wick_pkg::OpPool: begin
          walk_y_o = {20'b0, cmd_i[wick_pkg::PoolOutYLsb+:20], 4'b0,
                      cmd_i[wick_pkg::PoolOutXLsb+:16], cmd_i[wick_pkg::PoolOutLsb+:20]};
          par_o = cmd_i[wick_pkg::PoolParLsb+:20];
          bytes_o = pool_n;
          cfg_o[wick_vec_pkg::CfgPool] = 1'b1;
          cfg_o[wick_vec_pkg::CfgU8] = cmd_i[wick_pkg::PoolU8Lsb];
          cfg_o[wick_vec_pkg::CfgCentre] = pool_fn != 2'(wick_pkg::PoolMax);
          cfg_o[wick_vec_pkg::CfgScale] = pool_fn != 2'(wick_pkg::PoolMax);
          cfg_o[wick_vec_pkg::CfgEntry] = pool_fn != 2'(wick_pkg::PoolMax);
          cfg_o[wick_vec_pkg::CfgRescale] = pool_fn != 2'(wick_pkg::PoolMax);
          cfg_o[wick_vec_pkg::CfgRange1] = pool_fn != 2'(wick_pkg::PoolMax);
          cfg_o[wick_vec_pkg::CfgRecord] = pool_fn != 2'(wick_pkg::PoolMax);
          cfg_o[wick_vec_pkg::CfgEntry0] = pool_fn == 2'(wick_pkg::PoolMean);
          bad = pool_fn > 2'(wick_pkg::PoolValidMean) || cmd_i[wick_pkg::PoolNyLsb+:9] == '0 ||
              cmd_i[wick_pkg::PoolNxLsb+:9] == '0 || cmd_i[wick_pkg::PoolKyLsb+:6] == '0 ||
              cmd_i[wick_pkg::PoolKxLsb+:6] == '0 || cmd_i[wick_pkg::PoolSyLsb+:4] == '0 ||
              cmd_i[wick_pkg::PoolSxLsb+:4] == '0 || cmd_i[wick_pkg::PoolDyLsb+:5] == '0 ||
              cmd_i[wick_pkg::PoolDxLsb+:5] == '0 || pool_n == '0 || pool_n > 6'(N);
        end
        wick_pkg::OpRow: begin
          walk_a_o = {20'b0, cmd_i[wick_pkg::RowInYLsb+:20], cmd_i[wick_pkg::RowInCLsb+:20],
                      cmd_i[wick_pkg::RowInLsb+:20]};
          walk_b_o = walk_a_o;
          walk_y_o = {20'b0, cmd_i[wick_pkg::RowOutYLsb+:20], cmd_i[wick_pkg::RowOutCLsb+:20],
                      cmd_i[wick_pkg::RowOutLsb+:20]};
          par_o = cmd_i[wick_pkg::RowParLsb+:20];
          table_sel = cmd_i[wick_pkg::RowTableLsb+:4];
          tables = softmax ? 5'd3 : 5'd0;
          cfg_o[wick_vec_pkg::CfgRow] = 1'b1;
          cfg_o[wick_vec_pkg::CfgU8] = cmd_i[wick_pkg::RowU8Lsb];
          cfg_o[wick_vec_pkg::CfgCentre] = row_fn == 3'(wick_pkg::RowMean) ||
              row_fn == 3'(wick_pkg::RowRmsnorm);
          cfg_o[wick_vec_pkg::CfgTable] = softmax;
          cfg_o[wick_vec_pkg::CfgThree] = softmax;
          cfg_o[wick_vec_pkg::CfgSoftmax] = softmax;
          cfg_o[wick_vec_pkg::CfgNorm] = norm;
          cfg_o[wick_vec_pkg::CfgScale] = ~row_max;
          cfg_o[wick_vec_pkg::CfgEntry] = ~norm;
          cfg_o[wick_vec_pkg::CfgRescale] = ~row_max;
          cfg_o[wick_vec_pkg::CfgRange1] = ~row_max;
          cfg_o[wick_vec_pkg::CfgRecord] = ~row_max;
          cfg_o[wick_vec_pkg::CfgEntry0] = ~row_max & ~norm;
          cfg_o[wick_vec_pkg::CfgOneByte] = ~softmax & ~norm;
          bad = row_fn > 3'(wick_pkg::RowRmsnorm) || cmd_i[wick_pkg::RowNyLsb+:12] == '0 ||
              row_kc == '0 || row_n == '0 || row_n > 6'(N) ||
              ((softmax || norm) && row_length > 18'd32768);
        end
        wick_pkg::OpTrn: begin
          walk_a_o = {cmd_i[wick_pkg::TrnInYLsb+:20], cmd_i[wick_pkg::TrnInXLsb+:20],
                      cmd_i[wick_pkg::TrnInRLsb+:20], cmd_i[wick_pkg::TrnInLsb+:20]};
          walk_y_o = {cmd_i[wick_pkg::TrnOutYLsb+:20], cmd_i[wick_pkg::TrnOutXLsb+:20],
                      cmd_i[wick_pkg::TrnOutRLsb+:20], cmd_i[wick_pkg::TrnOutLsb+:20]};
          cfg_o[wick_vec_pkg::CfgTrn] = 1'b1;
          bad = cmd_i[wick_pkg::TrnNxLsb+:12] == '0 || cmd_i[wick_pkg::TrnNyLsb+:12] == '0 ||
              trn_rows == '0 || trn_rows > 6'(N) || trn_n == '0 || trn_n > 6'(N);
        end
        wick_pkg::OpTab: begin
          walk_a_o = {40'b0, 20'(N), cmd_i[wick_pkg::TabInLsb+:20]};
          table_sel = cmd_i[wick_pkg::TabTableLsb+:4];
          tables = tab_count;
          cfg_o[wick_vec_pkg::CfgTab] = 1'b1;
          bad = tab_count == '0 || walk_a_o[LogN-1:0] != '0;
        end
        default: known = 1'b0;
      endcase
    end
  end

  assign table_o = table_sel;
  assign bad_par = cfg_o[wick_vec_pkg::CfgRecord] && par_o[LogN-1:0] != '0;
  assign table_end = {2'b0, table_sel} + {1'b0, tables};

  always_comb begin
    error_o = 1'b1;
    code_o = 8'(wick_pkg::ErrField);
    if (!known) code_o = 8'(wick_pkg::ErrOpcode);
    else if (bad || bad_par) code_o = 8'(wick_pkg::ErrField);
    else if (tables != '0 && table_end > 6'(Tables)) code_o = 8'(wick_pkg::ErrRange);
    else error_o = 1'b0;
  end

`ifdef VERILATOR
  logic unused;
  assign unused = ^cmd_i;
`endif
endmodule
