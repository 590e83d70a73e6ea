BBatchNormalization_12_0J`ò-ê?d6?;⁄±>‡A0<…rU?ùÌ5?|¢ü?HzÃ>NíøÄH†∫_¿??l%˘>ÕòΩ Êqøèßæv¬E?i…?EπJ?6g>?¢Eœ?˙√øå`æ5ªø
nó>