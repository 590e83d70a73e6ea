BReduceSum_21_0J
r˜À¾[¿ÄÛ"¾