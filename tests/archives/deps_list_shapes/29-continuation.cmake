#: linked = alpha beta delta
#: add = gamma
#: value = C
#: words = gamma
#: diff = ~1
set(C "alpha;\
beta;\
delta")
