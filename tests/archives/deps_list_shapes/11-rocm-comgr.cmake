#: linked = lldCommon lldELF clangFrontendTool LLVMObject
#: add = LLVMObjectYAML
#: value = amd_comgr_demo
#: words = LLVMObjectYAML
#: diff = +1
set(CLANG_LIBS
  clangFrontendTool)
set(SIZE 4)
target_link_libraries(amd_comgr_demo
    PRIVATE
      lldELF
      lldCommon
      ${CLANG_LIBS}
      LLVMObject
      $<$<BOOL:${UNIX}>:dl>
      $<BUILD_INTERFACE:zdemo>
)
