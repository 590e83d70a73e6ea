BInstanceNormalization_6_0J0@
«¾Ò°¾+yÎ¾Ò_×¿
¿&C?ê2@¾4I™¾l®µ¾’İ¿1s?X¤À¾