BScatterElements_22_0J`sŒÃ>5=ø¾¬§g¾ˆ<s@šæ»¾„>Ax?&ã¿ÁÝ¿Ù|X?{l>eY?™K:¿7£G>¢#I?o2j¿G
?¿âå¾£Nt¾Ù¤E¿•Ra¿~ß—¿kþâ¾Öy¿