BEinsum_60_0J VÄ@$XÚ?=G–?k¿UT¾ûS
¾©Zê¾œu£>