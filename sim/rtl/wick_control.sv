// SPDX-License-Identifier: Apache-2.0
// Runs a stream from start to its end and settles errors.
//
// start_i while idle: one cycle of clear_o and start_o, then run_o. When finished_i (END was met
// and all is retired and answered) the stream is done. The first error_i ends run_o and raises
// abort_o until quiet_i (nothing on the bus), then clear_o for one cycle; then the machine is idle
// and STATUS tells. error_i is looked at a cycle later. Of errors in one cycle the lowest index
// wins, then the lowest source. timeout_i cycles without progress_i end a stream too; then, or
// after as many in an abort, STATUS tells at once, and a start is taken only when the bus has
// become quiet (stuck_o until then).
module wick_control #(
  parameter int unsigned Sources = 8
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  start_i,
  input  logic [31:0]           timeout_i,
  input  logic                  progress_i,
  input  logic [19:0]           index_i, // named by a timeout
  input  logic                  finished_i,
  input  logic                  quiet_i,
  input  logic [Sources-1:0]    error_i,
  input  logic [8*Sources-1:0]  error_code_i,
  input  logic [20*Sources-1:0] error_index_i,
  output logic                  start_o,
  output logic                  clear_o,
  output logic                  run_o,
  output logic                  abort_o,
  output logic                  running_o,
  output logic                  stuck_o, // an error is told, but the bus has not answered: no start
  output logic                  done_o,
  output logic                  error_o,
  output logic                  ended_o, // pulse, for the interrupt
  output logic [7:0]            code_o,
  output logic [19:0]           index_o
);
  localparam logic [2:0] Idle = 3'd0, Start = 3'd1, Run = 3'd2, Abort = 3'd3, Flush = 3'd4;

  logic [2:0]  state_q;
  logic        done_q, error_q, told_q; // told: the error of this abort stands in STATUS
  logic [7:0]  code_q;
  logic [19:0] index_q;
  logic [31:0] silent_q;

  logic [Sources-1:0]    new_q;
  logic [8*Sources-1:0]  new_code_q;
  logic [20*Sources-1:0] new_index_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) new_q <= '0;
    else new_q <= error_i;
  end
  always_ff @(posedge clk_i) begin
    if (error_i != '0) begin
      new_code_q  <= error_code_i;
      new_index_q <= error_index_i;
    end
  end

  logic        found, late, failed, tell;
  logic [7:0]  code;
  logic [19:0] index;
  always_comb begin
    found = 1'b0;
    code  = '0;
    index = '0;
    if (new_q != '0) begin
      for (int s = 0; s < Sources; s++) begin
        if (new_q[s] && (!found || new_index_q[20*s+:20] < index)) begin
          found = 1'b1;
          code  = new_code_q[8*s+:8];
          index = new_index_q[20*s+:20];
        end
      end
    end
  end
  assign late   = timeout_i != '0 && silent_q >= timeout_i;
  assign failed = state_q == Run && (found || late);
  assign tell   = state_q == Abort && (quiet_i || late) && !told_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      done_q  <= 1'b0;
      error_q <= 1'b0;
      told_q  <= 1'b0;
      code_q  <= '0;
      index_q <= '0;
    end else begin
      case (state_q)
        Idle, Flush: begin
          state_q <= Idle;
          if (start_i) begin
            state_q <= Start;
            done_q  <= 1'b0;
            error_q <= 1'b0;
            told_q  <= 1'b0;
            code_q  <= '0;
            index_q <= '0;
          end
        end
        Start: state_q <= Run;
        Run: begin
          if (failed) begin
            state_q <= Abort;
            code_q  <= found ? code : 8'(wick_pkg::ErrTimeout);
            index_q <= found ? index : index_i;
          end else if (finished_i) begin
            state_q <= Flush;
            done_q  <= 1'b1;
          end
        end
        Abort: begin
          if (tell) begin
            error_q <= 1'b1;
            told_q  <= 1'b1;
          end
          if (quiet_i) state_q <= Flush;
        end
        default: ;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    // A timeout is not counted again before it is told.
    if (progress_i || state_q == Start) silent_q <= '0;
    else if (!late && (state_q == Run || state_q == Abort)) silent_q <= silent_q + 32'd1;
  end

  assign start_o   = state_q == Start;
  assign clear_o   = state_q == Start || state_q == Flush;
  assign run_o     = state_q == Run;
  assign abort_o   = state_q == Abort || state_q == Flush; // until clear_o has worked
  assign running_o = (state_q == Start || state_q == Run || state_q == Abort) && !told_q;
  assign stuck_o   = state_q == Abort && told_q;
  assign done_o    = done_q;
  assign error_o   = error_q;
  assign ended_o   = tell || (state_q == Run && finished_i && !failed);
  assign code_o    = code_q;
  assign index_o   = index_q;
endmodule
