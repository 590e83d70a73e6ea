B
MatMul_7_0J¿˜S@R¬?