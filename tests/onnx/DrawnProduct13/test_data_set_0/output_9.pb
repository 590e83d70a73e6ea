B
MatMul_9_0J€¯Å?