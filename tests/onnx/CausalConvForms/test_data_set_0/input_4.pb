BgainJW
“¼,vô¾qÃÄ?<Õ?ÌFg¾"¶N¿