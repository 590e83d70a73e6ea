BxJ
Nw7vÍà	