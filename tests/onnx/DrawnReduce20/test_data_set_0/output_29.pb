BReduceSumSquare_29_0J0€?µ	@óï'Aâš@s_@…Ø,@«Ì@Ù²T@™ý_@
¾H?h¬u@ÌÆQ@