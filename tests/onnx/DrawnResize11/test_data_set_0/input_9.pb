Bx31JX¾*¾dgp¿¹
¿