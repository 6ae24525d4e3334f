#: linked = alpha beta delta
#: add = gamma
#: value = B
#: words = gamma
#: diff = ~1
message(STATUS [==[ set(B none) ]] ]==])
set(B [[alpha;beta;delta]])
