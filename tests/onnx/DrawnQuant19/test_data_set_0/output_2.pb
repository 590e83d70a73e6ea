BQuantizeLinear_2_0J #C
?*/9+