#: linked = alpha beta omega
#: add = gamma
#: value = t
#: words = gamma
#: before = gamma<-framework
#: diff = +1
target_link_libraries(t
  alpha
  beta
  -framework hello
  omega)
