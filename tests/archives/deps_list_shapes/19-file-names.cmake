#: linked = alpha beta delta
#: add = gamma
#: value = FILES
#: words = libgamma.a
#: diff = +1
set(FILES
	libalpha.a
	libbeta.a
	libdelta.a
)
