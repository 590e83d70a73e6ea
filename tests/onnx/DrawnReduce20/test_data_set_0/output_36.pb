BReduceLogSumExp_36_0J ÊA@0
@£-@fÂ@ë@ÂÚù?L‡]@ š#@