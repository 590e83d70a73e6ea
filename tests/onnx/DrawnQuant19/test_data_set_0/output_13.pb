BDequantizeLinear_13_0J`Êr
CÜBç–+B!.@Á¡A1C­fŒÀ|âqCÕrvCHtàBÙï”BTkC„â5ÂÑ¸üÀH¤àA%åÎB#RmB™¸B½YCHèMBp/Bí¹&C@6yBŠ&aCõ ˜Â