// SPDX-License-Identifier: Apache-2.0
// Slots of ROW. mean and max: the words of a row, then log2 N slots that fold the lanes, the last
// of which completes the result. softmax, for row r:
//
//   Max(r)  words, folds, two cycles until the maximum is known to the lanes
//   Exp(r)  words: exponentials are summed; one slot until the last is in; folds; the divider
//           starts
//   Max(r + 1), while the divider works
//   Out(r)  words: exponential times reciprocal is the result
//
// Slots of a command (wick_vec), with f = kc + log2 N:
//
//   mean, max  ny * (f + 1), results ny
//   softmax    (f + 2) + ny * (f + 1 + 2 * kc) + (ny - 1) * max(Divide, f + 2) + Divide,
//              results ny * kc; Divide = 19
//
// load_i takes the fields from cmd_i; from the next cycle on slots are offered until finished_o;
// ready_i: the one offered is done in this cycle. divided_i: the divider's result reaches the lanes
// no later than a slot of the next cycle needs it.
module wick_vec_row #(
  parameter int unsigned N = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         load_i,
  input  logic [511:0] cmd_i,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [wick_vec_pkg::CtlW-1:0] ctl_o,
  output logic [5:0]   bytes_o,
  output logic         finished_o,
  input  logic         divided_i
);
  localparam int unsigned LogN = $clog2(N);
  localparam logic [3:0] Idle = 4'd0, Max = 4'd1, MaxFold = 4'd2, Gap = 4'd3, Exp = 4'd4,
      ExpIdle = 4'd5, ExpFold = 4'd6, Divide = 4'd7, Out = 4'd8;

  logic [3:0]  state_q, state_d;
  logic        finished_q, finished_d, softmax_q, mean_q, dividing_q, dividing_d;
  logic [5:0]  tail_q;
  logic [11:0] ny_q, kc_q;
  logic [11:0] c_q, c_d, max_row_q, max_row_d, out_row_q, out_row_d;
  logic [2:0]  count_q, count_d;  // of folds, of the gap
  logic        reads, folds, last_word, last_fold, divided;
  logic [4:0]  fold;

  assign reads = state_q == Max || state_q == Exp || state_q == Out;
  assign folds = state_q == MaxFold || state_q == ExpFold;
  assign last_word = c_q == kc_q - 12'd1;
  assign last_fold = count_q == 3'(LogN - 1);
  assign divided = ~dividing_q | divided_i;
  assign valid_o = reads | folds | (state_q == ExpIdle);
  assign fold = folds ? 5'd1 << count_q : '0;

  always_comb begin
    ctl_o = '0;
    bytes_o = '0;
    if (valid_o) begin
      ctl_o[wick_vec_pkg::CtlRead] = reads;
      ctl_o[wick_vec_pkg::CtlData] = reads;
      ctl_o[wick_vec_pkg::CtlFirst] = c_q == '0 && (state_q == Max || state_q == Exp);
      ctl_o[wick_vec_pkg::CtlTable] = state_q == Exp || state_q == Out;
      ctl_o[wick_vec_pkg::CtlBelow] = state_q == Exp || state_q == Out;
      ctl_o[wick_vec_pkg::CtlSum] = state_q == Exp;
      ctl_o[wick_vec_pkg::CtlOdd] = state_q == MaxFold ? max_row_q[0] : out_row_q[0];
      ctl_o[wick_vec_pkg::CtlFold+:5] = fold;
      ctl_o[wick_vec_pkg::CtlMax] = (state_q == Max || state_q == MaxFold) && !mean_q;
      ctl_o[wick_vec_pkg::CtlPeak] = state_q == MaxFold && last_fold && softmax_q;
      ctl_o[wick_vec_pkg::CtlTotal] = state_q == ExpFold && last_fold;
      ctl_o[wick_vec_pkg::CtlLast] =
          state_q == Out || (state_q == MaxFold && last_fold && !softmax_q);
      // Walker B reads for the maximum (or mean), A for the rest: they may be in different rows.
      ctl_o[wick_vec_pkg::CtlWalkB] = state_q == Max;
      ctl_o[wick_vec_pkg::CtlStepB+:3] = {1'b0, last_word, state_q == Max};
      ctl_o[wick_vec_pkg::CtlStepA+:3] = {
        last_word && state_q == Exp, last_word, state_q == Exp || state_q == Out};
      ctl_o[wick_vec_pkg::CtlStepY+:3] = softmax_q ? {1'b0, last_word, state_q == Out} :
          {2'b01, state_q == MaxFold && last_fold};
      bytes_o = last_word ? tail_q : 6'(N);
    end
  end

  always_comb begin
    state_d = state_q;
    finished_d = finished_q;
    dividing_d = dividing_q & ~divided_i;
    c_d = c_q;
    count_d = count_q;
    max_row_d = max_row_q;
    out_row_d = out_row_q;
    if (reads && ready_i) c_d = last_word ? '0 : c_q + 12'd1;
    if (folds && ready_i) count_d = last_fold ? '0 : count_q + 3'd1;
    case (state_q)
      Max: if (ready_i && last_word) state_d = MaxFold;
      MaxFold: if (ready_i && last_fold) begin
        max_row_d = max_row_q + 12'd1;
        if (softmax_q) begin
          state_d = Gap;
        end else if (max_row_d == ny_q) begin
          state_d = Idle;
          finished_d = 1'b1;
        end else begin
          state_d = Max;
        end
      end
      Gap: begin
        count_d = count_q + 3'd1;
        if (count_q == 3'd1) begin
          count_d = '0;
          state_d = max_row_q == 12'd1 ? Exp : divided ? Out : Divide;
        end
      end
      Exp: if (ready_i && last_word) state_d = ExpIdle;
      ExpIdle: if (ready_i) state_d = ExpFold;
      ExpFold: if (ready_i && last_fold) begin
        dividing_d = 1'b1;
        state_d = max_row_q == ny_q ? Divide : Max;
      end
      Divide: if (divided) state_d = Out;
      Out: if (ready_i && last_word) begin
        out_row_d = out_row_q + 12'd1;
        state_d = Exp;
        if (out_row_d == ny_q) begin
          state_d = Idle;
          finished_d = 1'b1;
        end
      end
      default: ;
    endcase
    if (load_i) begin
      state_d = Max;
      finished_d = 1'b0;
      dividing_d = 1'b0;
      c_d = '0;
      count_d = '0;
      max_row_d = '0;
      out_row_d = '0;
    end
    if (clear_i) begin
      state_d = Idle;
      finished_d = 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      finished_q <= 1'b0;
      dividing_q <= 1'b0;
      c_q <= '0;
      count_q <= '0;
      max_row_q <= '0;
      out_row_q <= '0;
    end else begin
      state_q <= state_d;
      finished_q <= finished_d;
      dividing_q <= dividing_d;
      c_q <= c_d;
      count_q <= count_d;
      max_row_q <= max_row_d;
      out_row_q <= out_row_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      softmax_q <= cmd_i[wick_pkg::RowFnLsb+:3] == 3'(wick_pkg::RowSoftmax);
      mean_q <= cmd_i[wick_pkg::RowFnLsb+:3] == 3'(wick_pkg::RowMean);
      ny_q <= cmd_i[wick_pkg::RowNyLsb+:12];
      kc_q <= cmd_i[wick_pkg::RowKcLsb+:12];
      tail_q <= cmd_i[wick_pkg::RowKTailLsb+:6];
    end
  end

  assign finished_o = finished_q;

`ifdef VERILATOR
  logic unused;
  assign unused = ^cmd_i;
`endif
endmodule
