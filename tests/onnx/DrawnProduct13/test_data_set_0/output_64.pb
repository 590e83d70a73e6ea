BEinsum_64_0JØ
À