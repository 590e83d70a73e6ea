// SPDX-License-Identifier: Apache-2.0
// Strict-order dispatch: looks at the oldest command, checks its header, and puts it into its queue
// when that has room.
//
// cmd_* in, queue_valid_o (one bit a queue) with queue_ready_i out, the command itself goes past
// this module. index_o counts commands from 0, count_o per queue. held_o: a DMA queue has no room
// for the command. ended_o: END was met. error_o stays until run_i falls, for the earliest rule
// that is broken; nothing is dispatched while run_i is low.
module wick_dispatch #(
  parameter int unsigned Queues = 5
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               start_i,
  input  logic                               run_i,
  input  logic [wick_pkg::CountW-1:0]        count_i, // commands of the stream, taken with start_i
  input  logic                               cmd_valid_i,
  output logic                               cmd_ready_o,
  input  logic [wick_pkg::CommandW-1:0]      cmd_i,
  input  logic                               cmd_error_i,
  output logic [Queues-1:0]                  queue_valid_o,
  input  logic [Queues-1:0]                  queue_ready_i,
  output logic [wick_pkg::CountW-1:0]        index_o,
  output logic [wick_pkg::CountW*Queues-1:0] count_o,
  output logic                               held_o,
  output logic                               ended_o,
  output logic                               error_o,
  output logic [7:0]                         error_code_o
);
  localparam int unsigned AllQueues = wick_pkg::HdrWaitW;
  localparam int unsigned CountW    = wick_pkg::CountW;
  localparam int unsigned OpcodeW   = wick_pkg::HdrOpcodeW;
  localparam int unsigned QueueW    = wick_pkg::HdrQueueW;

  logic [CountW-1:0]        index_q, limit_q;
  logic [CountW*Queues-1:0] count_q;
  logic                     ended_q;

  logic [OpcodeW-1:0] op;
  logic [QueueW-1:0]  queue;
  logic               known, right_queue, is_end, tail, bad_wait, bad_field, fatal;
  logic [CountW-1:0]  threshold;
  assign op     = cmd_i[wick_pkg::HdrOpcodeLsb+:OpcodeW];
  assign queue  = cmd_i[wick_pkg::HdrQueueLsb+:QueueW];
  assign is_end = op == OpcodeW'(wick_pkg::OpEnd);

  // Of each opcode (rows of isa.def): does its queue run it, is a bit behind its last field set?
  localparam int unsigned                  Opcodes  = 1 << OpcodeW;
  localparam logic [Opcodes-1:0]           OpKnown  = wick_pkg::OpKnown;
  localparam logic [AllQueues*Opcodes-1:0] OpQueues = wick_pkg::OpQueues;
  localparam logic [9*Opcodes-1:0]         OpBehind = wick_pkg::OpBehind;
  logic [AllQueues-1:0] on_queue; // none of them: the machine lacks it
  logic [Opcodes-1:0]   runs, strays;
  assign on_queue = 32'(queue) < Queues ? AllQueues'(1) << queue : '0;
  for (genvar o = 0; o < Opcodes; o++) begin : gen_opcodes
    if (OpKnown[o]) begin : gen_known
      assign runs[o]   = |(OpQueues[AllQueues*o+:AllQueues] & on_queue);
      assign strays[o] = |cmd_i[wick_pkg::CommandW-1:OpBehind[9*o+:9]];
    end else begin : gen_unknown
      assign runs[o]   = 1'b0;
      assign strays[o] = 1'b0;
    end
  end
  assign known       = OpKnown[op];
  assign right_queue = runs[op];
  assign tail        = strays[op];

  always_comb begin
    bad_wait  = 1'b0;
    bad_field = tail || cmd_i[wick_pkg::HdrReservedLsb+:wick_pkg::HdrReservedW] != '0;
    threshold = '0;
    for (int q = 0; q < AllQueues; q++) begin
      threshold = cmd_i[wick_pkg::HdrThresholdExLsb+CountW*q+:CountW];
      if (q >= Queues) begin
        if (cmd_i[wick_pkg::HdrWaitLsb+q]) bad_wait = 1'b1;
        if (threshold != '0) bad_field = 1'b1;
      end else if (!cmd_i[wick_pkg::HdrWaitLsb+q]) begin
        if (threshold != '0) bad_field = 1'b1;
      end else if (!is_end) begin
        if (threshold > count_q[CountW*(q%Queues)+:CountW]) bad_wait = 1'b1;
      end
    end
  end

  // COUNT commands have gone, and none was END.
  logic at_end, ok, go;
  assign at_end = index_q == limit_q;
  assign ok     = run_i && !ended_q && cmd_valid_i && !at_end;
  assign fatal  = cmd_error_i || !known || !right_queue || bad_wait || bad_field;
  assign go     = ok && !fatal;
  always_comb begin
    queue_valid_o = '0;
    if (go && !is_end) queue_valid_o = Queues'(1) << queue;
  end
  assign held_o       = |(queue_valid_o[Queues-1:2] & ~queue_ready_i[Queues-1:2]);
  assign cmd_ready_o  = go && (is_end || (queue_valid_o & queue_ready_i) != '0);
  assign error_o      = run_i && !ended_q && ((cmd_valid_i && fatal) || at_end);
  assign error_code_o = at_end || cmd_error_i ? 8'(wick_pkg::ErrFetch) :
                        !known || !right_queue ? 8'(wick_pkg::ErrOpcode) :
                        bad_wait ? 8'(wick_pkg::ErrWait) : 8'(wick_pkg::ErrField);
  assign index_o      = index_q;
  assign count_o      = count_q;
  assign ended_o      = ended_q;

  always_ff @(posedge clk_i) if (start_i) limit_q <= count_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      index_q <= '0;
      count_q <= '0;
      ended_q <= 1'b0;
    end else if (start_i) begin
      index_q <= '0;
      count_q <= '0;
      ended_q <= 1'b0;
    end else if (cmd_ready_o) begin
      index_q <= index_q + CountW'(1);
      if (is_end) ended_q <= 1'b1;
      for (int q = 0; q < Queues; q++) begin
        if (queue_valid_o[q]) count_q[CountW*q+:CountW] <= count_q[CountW*q+:CountW] + CountW'(1);
      end
    end
  end
endmodule
