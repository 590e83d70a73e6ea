// SPDX-License-Identifier: Apache-2.0
// Address of a word in a nest of three loops, kept by additions. load_i takes base and strides;
// step_i moves it at once, level_i says which loop goes on: 0 the innermost, 1 and 2 those
// around it (the inner ones start again), 3: none, the innermost starts again.
// Addresses have two bits more than the scratchpad: the first one outside of it is seen before an
// overflow, if every step is checked.
module wick_vec_walk (
  input  logic        clk_i,
  input  logic        load_i,
  input  logic [79:0] config_i,  // {s2, s1, s0, base}, 20 bits each
  input  logic        step_i,
  input  logic [1:0]  level_i,
  output logic [21:0] addr_o
);
  logic [59:0] stride_q;
  logic [21:0] word_q, line_q, plane_q, line, plane;

  assign line = line_q + {2'b0, stride_q[20+:20]};
  assign plane = plane_q + {2'b0, stride_q[40+:20]};

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      stride_q <= config_i[20+:60];
      word_q <= {2'b0, config_i[0+:20]};
      line_q <= {2'b0, config_i[0+:20]};
      plane_q <= {2'b0, config_i[0+:20]};
    end else if (step_i) begin
      case (level_i)
        2'd0: word_q <= word_q + {2'b0, stride_q[0+:20]};
        2'd1: begin
          line_q <= line;
          word_q <= line;
        end
        2'd2: begin
          plane_q <= plane;
          line_q <= plane;
          word_q <= plane;
        end
        default: word_q <= line_q;
      endcase
    end
  end

  assign addr_o = word_q;
endmodule
