// SPDX-License-Identifier: Apache-2.0
// The DMA store channel: ST, the mirror of wick_load.
//
// setup -> walker -> write requests (aw_*), and setup -> rec FIFO -> reads of the scratchpad ->
// packer -> data beats (w_*), which come in the order of the requests, perhaps before them. A word
// granted in cycle t is in the packer in t + 2. A command retires (done_o) in the cycle after its
// last response (b_valid_i, always taken).
//
// Duration alone, counted from the start: access k is in cycle 5 + k, its bytes can be on the bus 3
// cycles later; request i is on the bus in cycle 5 + i, its data after it; done a cycle after the
// last response. With whole beats, words and bursts, memory of `rate` bytes a cycle and write
// latency W:
//   ST    8 + W + max(first burst / N + bytes / rate, bytes / N + last burst / rate)
//
// abort_i: no new request; bursts asked for are completed without strobes; quiet_o: all answered.
module wick_store #(
  parameter int unsigned N = 16,
  parameter int unsigned ScratchpadBytes = 262144,
  parameter int unsigned Bus = 16,
  parameter int unsigned Burst = 256,
  parameter int unsigned Bursts = 64,
  parameter int unsigned Commands = 8,
  localparam int unsigned SizeW = $clog2(N) + 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             abort_i,
  output logic             quiet_o,
  input  logic             cmd_valid_i,
  output logic             cmd_ready_o,
  input  logic [511:0]     cmd_i,
  input  logic [19:0]      cmd_index_i,
  output logic             done_o,
  output logic             active_o,
  output logic             stall_memory_o,
  output logic             stall_bank_o,
  output logic             error_o,
  output logic [7:0]       error_code_o,
  output logic [19:0]      error_index_o,
  output logic             aw_valid_o,
  input  logic             aw_ready_i,
  output logic [31:0]      aw_addr_o,
  output logic [7:0]       aw_len_o,
  output logic             w_valid_o,
  input  logic             w_ready_i,
  output logic [8*Bus-1:0] w_data_o,
  output logic [Bus-1:0]   w_strb_o,
  output logic             w_last_o,
  input  logic             b_valid_i,
  input  logic             b_error_i,
  output logic             spm_req_o,
  output logic             spm_we_o,
  output logic [19:0]      spm_addr_o,
  output logic [N-1:0]     spm_be_o,
  input  logic             spm_gnt_i,
  input  logic [8*N-1:0]   spm_rdata_i,
  output logic             transfer_o, // a ST is between its first request and its last response
  output logic [SizeW-1:0] ev_bytes_o  // bytes read for memory in this cycle
);
  localparam int unsigned LaneW = $clog2(Bus);
  localparam int unsigned PieceW = $clog2(Burst) + 1;
  localparam int unsigned CntW = LaneW + 3;
  localparam int unsigned Capacity = 3 * Bus + N;
  localparam int unsigned RecW = 153;

  // ---- setup and requests ----------------------------------------------------------------------
  logic            rec_put, rec_room, index_room, walk_put, walk_room, setup_active;
  logic [RecW-1:0] setup_rec;
  logic [31:0]     walk_dram;
  logic [19:0]     walk_run;
  logic [35:0]     walk_n;
  logic [95:0]     walk_s;
  logic [2:0]      walk_prio;
  logic            setup_error;
  logic [7:0]      setup_code;
  logic [19:0]     setup_index;
  wick_dma_setup u_setup (
    .clk_i, .rst_ni, .clear_i, .abort_i, .cmd_valid_i, .cmd_ready_o, .cmd_i, .cmd_index_i,
    .rec_valid_o(rec_put), .rec_ready_i(rec_room && index_room), .rec_o(setup_rec),
    .walk_valid_o(walk_put), .walk_ready_i(walk_room), .walk_dram_o(walk_dram),
    .walk_run_o(walk_run), .walk_n_o(walk_n), .walk_s_o(walk_s), .walk_prio_o(walk_prio),
    .active_o(setup_active), .error_o(setup_error), .error_code_o(setup_code),
    .error_index_o(setup_index)
  );

  logic              piece_valid, piece_last, desc_room, desc_valid, desc_pop;
  logic              answer_room, answer_valid, answer_last;
  logic [31:0]       piece_addr;
  logic [PieceW-1:0] piece_bytes, desc_bytes;
  logic [LaneW-1:0]  piece_lane, desc_lane;
  logic [2:0]        unused_prio;
  wick_dma_walk #(.Burst(Burst)) u_walk (
    .clk_i, .rst_ni, .clear_i, .load_valid_i(walk_put), .load_ready_o(walk_room),
    .dram_i(walk_dram), .run_i(walk_run), .n_i(walk_n), .s_i(walk_s), .prio_i(walk_prio),
    .burst_valid_o(piece_valid), .burst_ready_i(aw_valid_o && aw_ready_i),
    .burst_addr_o(piece_addr), .burst_bytes_o(piece_bytes), .burst_last_o(piece_last),
    .burst_prio_o(unused_prio)
  );
  assign piece_lane = piece_addr[LaneW-1:0];
  assign aw_valid_o = piece_valid && desc_room && answer_room && !abort_i;
  assign aw_addr_o  = {piece_addr[31:LaneW], {LaneW{1'b0}}};
  assign aw_len_o   = 8'((32'(piece_lane) + 32'(piece_bytes) - 32'd1) >> LaneW);

  wick_fifo #(.Width(PieceW + LaneW), .Depth(Bursts)) u_bursts (
    .clk_i, .rst_ni, .clear_i, .valid_i(aw_valid_o && aw_ready_i), .ready_o(desc_room),
    .data_i({piece_bytes, piece_lane}), .valid_o(desc_valid), .ready_i(desc_pop),
    .data_o({desc_bytes, desc_lane})
  );
  // Bursts and commands that wait for their responses.
  wick_fifo #(.Width(1), .Depth(Bursts)) u_answers (
    .clk_i, .rst_ni, .clear_i, .valid_i(aw_valid_o && aw_ready_i), .ready_o(answer_room),
    .data_i(piece_last), .valid_o(answer_valid), .ready_i(b_valid_i), .data_o(answer_last)
  );
  logic        answered, open_valid;
  logic [19:0] open_index;
  assign answered = b_valid_i && answer_last;
  wick_fifo #(.Width(20), .Depth(2 * Commands)) u_index (
    .clk_i, .rst_ni, .clear_i, .valid_i(walk_put && walk_room), .ready_o(index_room),
    .data_i(setup_rec[RecW-1-:20]), .valid_o(open_valid), .ready_i(answered),
    .data_o(open_index)
  );
  assign quiet_o = !answer_valid;

  // ---- scratchpad ------------------------------------------------------------------------------
  logic             rec_valid, next, range, chunk_end, over, bad, read, finish, fill;
  logic [RecW-1:0]  rec;
  logic             busy_q, dead_q, done_q, put_q;
  logic [SizeW-1:0] size, put_bytes_q;
  logic [19:0]      left_q, index_q, spm, c0, p1, p2, total, index;
  logic [11:0]      c1, c2;
  logic [7:0]       value;
  logic [CntW-1:0]  count;
  logic             pattern_last;
  wick_fifo #(.Width(RecW), .Depth(Commands)) u_commands (
    .clk_i, .rst_ni, .clear_i, .valid_i(rec_put && index_room), .ready_o(rec_room),
    .data_i(setup_rec), .valid_o(rec_valid), .ready_i(next), .data_o(rec)
  );
  assign {index, total, value, fill, c2, p2, p1, c1, c0, spm} = rec;
  assign next = !abort_i && !dead_q && (!busy_q || finish);

  wick_dma_pattern #(.N(N), .ScratchpadBytes(ScratchpadBytes)) u_pattern (
    .clk_i, .load_i(next && rec_valid), .spm_i(spm), .c0_i(c0), .c1_i(c1), .c2_i(c2), .p1_i(p1),
    .p2_i(p2), .step_i(read), .addr_o(spm_addr_o), .size_o(size), .range_o(range),
    .chunk_end_o(chunk_end), .last_o(pattern_last)
  );
  // The sequence must end with a chunk.
  assign over      = left_q < 20'(size) || (left_q == 20'(size) && !chunk_end);
  assign bad       = range || over;
  assign spm_req_o = busy_q && !bad && !dead_q && !abort_i &&
                     32'(count) + (put_q ? 32'(put_bytes_q) : 32'd0) + 32'(size) <= Capacity;
  assign spm_we_o  = 1'b0;
  assign spm_be_o  = ~({N{1'b1}} << size);
  assign read      = spm_req_o && spm_gnt_i;
  assign finish    = read && left_q == 20'(size);

  wick_store_packer #(.N(N), .Bus(Bus), .Burst(Burst)) u_packer (
    .clk_i, .rst_ni, .clear_i, .discard_i(abort_i), .burst_valid_i(desc_valid),
    .burst_lane_i(desc_lane), .burst_bytes_i(desc_bytes), .burst_pop_o(desc_pop), .put_i(put_q),
    .put_bytes_i(put_bytes_q), .put_data_i(spm_rdata_i), .count_o(count), .w_valid_o, .w_ready_i,
    .w_data_o, .w_strb_o, .w_last_o
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      dead_q <= 1'b0;
      done_q <= 1'b0;
      put_q  <= 1'b0;
    end else if (clear_i) begin
      busy_q <= 1'b0;
      dead_q <= 1'b0;
      done_q <= 1'b0;
      put_q  <= 1'b0;
    end else begin
      if (next && rec_valid) busy_q <= 1'b1;
      else if (finish) busy_q <= 1'b0;
      if (error_o) dead_q <= 1'b1;
      done_q <= answered;
      put_q  <= read;
    end
  end
  always_ff @(posedge clk_i) begin
    if (read) put_bytes_q <= size;
    if (next && rec_valid) begin
      left_q  <= total;
      index_q <= index;
    end else if (read) begin
      left_q <= left_q - 20'(size);
    end
  end

  // ---- report ----------------------------------------------------------------------------------
  logic spm_error, write_error;
  assign spm_error     = busy_q && bad;
  assign write_error   = b_valid_i && b_error_i;
  assign error_o       = (spm_error || write_error || setup_error) && !dead_q && !abort_i;
  assign error_code_o  = write_error ? 8'(wick_pkg::ErrWrite) :
                         spm_error ? 8'(range ? wick_pkg::ErrRange : wick_pkg::ErrField) :
                         setup_code;
  assign error_index_o = write_error ? open_index : spm_error ? index_q : setup_index;

  assign done_o         = done_q;
  assign active_o       = setup_active || open_valid || done_q;
  assign stall_memory_o = open_valid && !spm_req_o;
  assign stall_bank_o   = spm_req_o && !spm_gnt_i;
  assign transfer_o     = open_valid;
  assign ev_bytes_o     = read ? size : '0;

  // Never used by ST.
  logic unused;
  assign unused = ^{fill, value, pattern_last, unused_prio};
endmodule
