BQuantizeLinear_14_0J"вш:чь!*
пЁ—