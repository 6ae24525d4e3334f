#: linked = mlx mly
#: add = mlz
#: value = demo
#: words = ML::mlz
#: diff = ~1
target_link_libraries(demo PRIVATE ML::mlx ML::mly Threads::Threads)
