B
MatMul_6_0J¿˜S@R¬?