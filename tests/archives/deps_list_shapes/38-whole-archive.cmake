#: linked = plugin_a plugin_b core_x
#: add = plugin_c
#: value = exe
#: words = plugin_c
#: diff = +1
target_link_libraries(exe PRIVATE
  -Wl,--whole-archive
  plugin_a
  plugin_b
  -Wl,--no-whole-archive
  core_x
)
