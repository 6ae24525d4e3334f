#: linked = alpha beta delta
#: add = gamma
#: value = B
#: words = gamma
#: diff = +1
#[=[ set(B
  nothing ]]
) ]=]
set(B
  alpha #[[ not beta ]]
  beta
  delta
)
