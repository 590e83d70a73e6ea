BBatchNormalization_1_0J0A›Æ¾È­¨¾Ú»ƒ>[ 
¿K˜¿Á¿&´¾gùÀ¾bè>à'l¿FØ3¿x6Š¿