#: linked = aaa Bbb ccc Ddd
#: add = Cab
#: value = L
#: words = Cab
#: diff = +1
set(L
  aaa
  Bbb
  ccc
  Ddd
)
