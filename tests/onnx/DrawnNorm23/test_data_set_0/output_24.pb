BLayerNormalization_17_1J
Ò=¾‚Lõ¾