B
MatMul_8_0J¿˜S@R¬?