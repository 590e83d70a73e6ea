// SPDX-License-Identifier: Apache-2.0
// One command queue: Fifo commands, and the thresholds that the oldest waits for.
//
// valid_i/ready_o in; cmd_valid_o/cmd_ready_i out, valid only when every wait is satisfied and
// run_i is high; a command may start in the cycle after it came in. waiting_o: the oldest waits,
// wait_on_o is the lowest queue that is not far enough; done_i holds the retired commands of all
// queues.
module wick_queue #(
  parameter int unsigned Queues = 5,
  parameter int unsigned Fifo = 8
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               clear_i,
  input  logic                               run_i,
  input  logic                               valid_i,
  output logic                               ready_o,
  input  logic [wick_pkg::CommandW-1:0]      cmd_i,
  input  logic [wick_pkg::CountW-1:0]        index_i,
  input  logic [wick_pkg::CountW*Queues-1:0] done_i,
  output logic                               cmd_valid_o,
  input  logic                               cmd_ready_i,
  output logic [wick_pkg::CommandW-1:0]      cmd_o,
  output logic [wick_pkg::CountW-1:0]        index_o,
  output logic                               has_o,
  output logic                               waiting_o,
  output logic [2:0]                         wait_on_o
);
  localparam int unsigned CountW = wick_pkg::CountW;

  wick_fifo #(.Width(CountW + wick_pkg::CommandW), .Depth(Fifo)) u_fifo (
    .clk_i, .rst_ni, .clear_i, .valid_i, .ready_o, .data_i({index_i, cmd_i}), .valid_o(has_o),
    .ready_i(cmd_ready_i && cmd_valid_o), .data_o({index_o, cmd_o})
  );

  always_comb begin
    waiting_o = 1'b0;
    wait_on_o = '0;
    if (has_o) begin
      for (int q = 0; q < Queues; q++) begin
        if (cmd_o[wick_pkg::HdrWaitLsb+q] && !waiting_o &&
            done_i[CountW*q+:CountW] <
                cmd_o[wick_pkg::HdrThresholdExLsb+CountW*q+:CountW]) begin
          waiting_o = 1'b1;
          wait_on_o = 3'(q);
        end
      end
    end
  end
  assign cmd_valid_o = has_o && !waiting_o && run_i;
endmodule
