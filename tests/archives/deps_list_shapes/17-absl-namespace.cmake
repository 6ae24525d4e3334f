#: linked = absl_base absl_hash absl_strings
#: add = absl_synchronization
#: value = grpc_demo
#: words = absl::synchronization
#: diff = +1
target_link_libraries(grpc_demo PUBLIC
  absl::base
  absl::hash
  absl::strings
)
