#: linked = alpha beta delta
#: add = gamma
#: value = V
#: words = gamma
#: diff = +1
set(EXTRA one two)
set(V
  ${EXTRA}
  alpha
  beta
  delta
  "${EXTRA}"
)
