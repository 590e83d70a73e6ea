BprobabilitiesJTÀB?‘:t>C4ß:"²Á>t(?’ž<£ |?úÔW<5a×:¢Ê?-“ó>aÛã>mK
?g¸q<œK(?Ä‹¬>9A·;óE<¡m>‹¤A?