BUpsample_6_0J0fO
>‘A:>¼3j>¼3j>fO
>‘A:>¼3j>¼3j>fO
>‘A:>¼3j>¼3j>