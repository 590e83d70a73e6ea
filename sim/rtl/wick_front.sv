// SPDX-License-Identifier: Apache-2.0
// Front end: fetch, dispatch, the command queues and their counters of retired commands.
//
// start_i with base_i and count_i begins a stream; run_i lets it go on; clear_i empties the queues.
// cmd_* are the starts, a queue each; retire_i has a bit for every queue that retires a command.
// finished_o: END was met, all is retired and no fetch is on the way. progress_o: something was
// dispatched or retired.
module wick_front #(
  parameter int unsigned Queues = 5,
  parameter int unsigned Fifo = 8,
  parameter int unsigned Bus = 16,
  parameter int unsigned Burst = 256
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  input  logic                                 start_i,
  input  logic                                 clear_i,
  input  logic                                 run_i,
  input  logic [31:0]                          base_i,
  input  logic [wick_pkg::CountW-1:0]          count_i,
  output logic                                 finished_o,
  output logic                                 quiet_o,
  output logic                                 progress_o,
  output logic                                 error_o,
  output logic [7:0]                           error_code_o,
  output logic [wick_pkg::CountW-1:0]          index_o, // next command to dispatch
  output logic                                 ar_valid_o,
  input  logic                                 ar_ready_i,
  output logic [31:0]                          ar_addr_o,
  output logic [7:0]                           ar_len_o,
  input  logic                                 r_valid_i,
  input  logic [8*Bus-1:0]                     r_data_i,
  input  logic                                 r_error_i,
  output logic [Queues-1:0]                    cmd_valid_o,
  input  logic [Queues-1:0]                    cmd_ready_i,
  output logic [wick_pkg::CommandW*Queues-1:0] cmd_o,
  output logic [wick_pkg::CountW*Queues-1:0]   cmd_index_o,
  input  logic [Queues-1:0]                    retire_i,
  output logic [wick_pkg::CountW*Queues-1:0]   retired_o,
  output logic                                 held_o, // nothing starts before a DMA queue has room
  output logic [Queues-1:0]                    has_o,
  output logic [Queues-1:0]                    waiting_o,
  output logic [3*Queues-1:0]                  wait_on_o
);
  localparam int unsigned CommandW = wick_pkg::CommandW;
  localparam int unsigned CountW   = wick_pkg::CountW;

  logic                     fetched_valid, fetched_ready, fetched_error, ended;
  logic [CommandW-1:0]      fetched;
  logic [Queues-1:0]        put, room;
  logic [CountW*Queues-1:0] dispatched, retired_q;

  wick_fetch #(.Bus(Bus), .Burst(Burst), .Prefetch(32)) u_fetch (
    .clk_i, .rst_ni, .start_i, .stop_i(!run_i || ended), .base_i, .count_i, .quiet_o, .ar_valid_o,
    .ar_ready_i, .ar_addr_o, .ar_len_o, .r_valid_i, .r_data_i, .r_error_i,
    .cmd_valid_o(fetched_valid), .cmd_ready_i(fetched_ready), .cmd_o(fetched),
    .cmd_error_o(fetched_error)
  );
  wick_dispatch #(.Queues(Queues)) u_dispatch (
    .clk_i, .rst_ni, .start_i, .run_i, .count_i, .cmd_valid_i(fetched_valid),
    .cmd_ready_o(fetched_ready), .cmd_i(fetched), .cmd_error_i(fetched_error), .queue_valid_o(put),
    .queue_ready_i(room), .index_o, .count_o(dispatched), .held_o, .ended_o(ended), .error_o,
    .error_code_o
  );
  for (genvar q = 0; q < Queues; q++) begin : gen_queues
    wick_queue #(.Queues(Queues), .Fifo(Fifo)) u_queue (
      .clk_i, .rst_ni, .clear_i, .run_i, .valid_i(put[q]), .ready_o(room[q]), .cmd_i(fetched),
      .index_i(index_o), .done_i(retired_q), .cmd_valid_o(cmd_valid_o[q]),
      .cmd_ready_i(cmd_ready_i[q]), .cmd_o(cmd_o[CommandW*q+:CommandW]),
      .index_o(cmd_index_o[CountW*q+:CountW]), .has_o(has_o[q]), .waiting_o(waiting_o[q]),
      .wait_on_o(wait_on_o[3*q+:3])
    );
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) retired_q <= '0;
    else if (start_i) retired_q <= '0;
    else if (run_i && retire_i != '0) begin
      for (int q = 0; q < Queues; q++) begin
        if (retire_i[q]) retired_q[CountW*q+:CountW] <= retired_q[CountW*q+:CountW] + CountW'(1);
      end
    end
  end
  assign retired_o  = retired_q;
  assign finished_o = ended && quiet_o && retired_q == dispatched;
  assign progress_o = fetched_ready || retire_i != '0;
endmodule
