BUpsample_5_0J0fO
>fO
>¼3j>¼3j>fO
>fO
>¼3j>¼3j>fO
>fO
>¼3j>¼3j>