BDequantizeLinear_31_0J`´ÑC:\CºõbÂæ…CÛ¦@¬).BNè§AºÓC8ÑÒÀÂãB‡~±B=|‰C|…L?‡Bø+7ÁDë’Cô”ÖB:\Cv6
CÀpCk…Bæf‘B :ô@…x‡C