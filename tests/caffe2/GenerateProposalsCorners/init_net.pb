
init