BLayerNormalization_20_2J0PÄ@_¤¸BèÍ?“6@»#
@®‘CAag³@«Ï—?dtm?ˆh¹?Þ/r@Ù…Œ?