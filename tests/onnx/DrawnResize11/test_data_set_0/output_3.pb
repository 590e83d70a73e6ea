B
Resize_3_0Jì¦PÀO:>