B
head_decayJ÷y¿ìÒŸ½ËHL¿2GÀ