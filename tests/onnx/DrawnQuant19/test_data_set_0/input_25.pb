Bx94JPb3]W+G9/R5EXUQE 48'Va
(+TF4U-T1X+7!-!/>=L_`Y=05J.U.S.K:&("3TDLR_KU