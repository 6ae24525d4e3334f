#: linked = libjpeg-turbo libpng zlib
#: add = libtiff
#: value = OCV_LIBS
#: words = libtiff
#: diff = ~1
set(OCV_LIBS zlib)
list(APPEND OCV_LIBS libjpeg-turbo libpng)
list(APPEND OCV_FLAGS -O2 -fPIC)
