// SPDX-License-Identifier: Apache-2.0
// The MARK of the execute engine, one at a time. It does not go through the stages; it is ordered
// by counting: it asks for its snapshot, mark_valid_o, when the commands accepted before it are
// summed, and retires, done_o, when it was taken and they have retired. hold_o: the next command
// must not retire yet. Alone it retires two cycles after its start.
module wick_exec_mark (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,
  input  logic        halt_i,
  input  logic        start_i,
  output logic        ready_o,
  input  logic [15:0] row_i,
  // of the other commands: pulses
  input  logic        accepted_i,
  input  logic        summed_i,
  input  logic        taken_i,   // from here on it may retire
  input  logic        retired_i,
  output logic        hold_o,
  output logic        done_o,
  output logic        active_o,
  output logic        wait_o,    // for mark_ready_i
  output logic        mark_valid_o,
  output logic [15:0] mark_row_o,
  input  logic        mark_ready_i
);
  // Commands that are accepted and not yet summed, taken, retired; without a MARK those of all,
  // with one those before it: later ones are counted beside them.
  typedef logic [2:0] count_t;
  count_t sum_q, take_q, retire_q;    // before the MARK
  count_t sum2_q, take2_q, retire2_q; // behind it
  logic valid_q, snapped_q, done_q;
  logic [15:0] row_q;

  function automatic count_t after(input count_t count, input logic up, input logic down);
    after = count + {2'b0, up} - {2'b0, down};
  endfunction

  logic finish, snap, behind;
  assign behind = valid_q;
  assign mark_valid_o = valid_q && !snapped_q && sum_q == '0 && !halt_i;
  assign snap = mark_valid_o && mark_ready_i;
  assign finish = valid_q && (snapped_q || snap) && retire_q == '0;
  assign hold_o = valid_q && take_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      snapped_q <= 1'b0;
      done_q <= 1'b0;
      {sum_q, take_q, retire_q, sum2_q, take2_q, retire2_q} <= '0;
    end else if (clear_i) begin
      valid_q <= 1'b0;
      snapped_q <= 1'b0;
      done_q <= 1'b0;
      {sum_q, take_q, retire_q, sum2_q, take2_q, retire2_q} <= '0;
    end else begin
      if (start_i) valid_q <= 1'b1;
      else if (finish) valid_q <= 1'b0;
      snapped_q <= valid_q && !finish && (snapped_q || snap);
      done_q <= finish;
      if (finish) begin
        sum_q <= after(sum2_q, accepted_i, summed_i);
        take_q <= after(take2_q, accepted_i, taken_i);
        retire_q <= after(retire2_q, accepted_i, retired_i);
        {sum2_q, take2_q, retire2_q} <= '0;
      end else begin
        // What happens first happens to those before the MARK.
        sum_q <= after(sum_q, accepted_i && !behind, summed_i && sum_q != '0);
        take_q <= after(take_q, accepted_i && !behind, taken_i && take_q != '0);
        retire_q <= after(retire_q, accepted_i && !behind, retired_i && retire_q != '0);
        sum2_q <= after(sum2_q, accepted_i && behind, summed_i && sum_q == '0);
        take2_q <= after(take2_q, accepted_i && behind, taken_i && take_q == '0);
        retire2_q <= after(retire2_q, accepted_i && behind, retired_i && retire_q == '0);
      end
    end
  end
  always_ff @(posedge clk_i) if (start_i) row_q <= row_i;

  assign mark_row_o = row_q;
  assign ready_o = !valid_q;
  assign done_o = done_q;
  assign active_o = valid_q;
  assign wait_o = mark_valid_o && !mark_ready_i;
endmodule
