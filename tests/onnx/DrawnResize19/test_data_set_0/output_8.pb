B
Resize_8_0J¿A?ךרÕ¼