B
Resize_9_0JX¾*¾