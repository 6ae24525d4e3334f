# Audits installed files. At the end of the top CMakeLists.txt, with CMake 3.14 or later:
#   include(cmake/Linkaudit.cmake)
#   linkaudit_install()   # `cmake --install` fails if the files it installed have findings
#   linkaudit_test()      # the same as a test, for `ctest`, in a staging directory
#
# LINKAUDIT_FLAGS "--policy;${CMAKE_SOURCE_DIR}/linkaudit.toml" allows one finding, with a [[waive]]
# entry. Configure with -DLINKAUDIT=OFF, or install with LINKAUDIT=off in the environment, to turn the
# audit off.
include_guard(GLOBAL)
cmake_policy(VERSION 3.14)

option(LINKAUDIT "Audit the linkage of installed files" ON)
set(LINKAUDIT_FLAGS "" CACHE STRING "Further options of linkaudit, separated by semicolons")
if(LINKAUDIT)
  find_program(LINKAUDIT_PROGRAM linkaudit REQUIRED)
endif()

function(linkaudit_install)
  if(NOT LINKAUDIT)
    return()
  endif()
  set(list "${CMAKE_CURRENT_BINARY_DIR}/linkaudit-files.txt")
  string(REPLACE ";" "\" \"" flags "${LINKAUDIT_FLAGS}")
  if(flags)
    set(flags "\"${flags}\"")
  endif()
  install(CODE "
    if(NOT \"\$ENV{LINKAUDIT}\" STREQUAL \"off\")
      # Only files that this installation wrote, each on a line.
      string(REPLACE \";\" \"\\n\" files \"\${CMAKE_INSTALL_MANIFEST_FILES}\")
      file(WRITE \"${list}\" \"\${files}\\n\")
      set(stage \"\")
      if(NOT \"\$ENV{DESTDIR}\" STREQUAL \"\")
        set(stage --staged \"\$ENV{DESTDIR}\")
      endif()
      execute_process(
        COMMAND \"${LINKAUDIT_PROGRAM}\" --isolated \${stage} --files-from \"${list}\" ${flags}
        RESULT_VARIABLE status)
      if(NOT status EQUAL 0)
        message(FATAL_ERROR \"linkaudit: status \${status}\")
      endif()
    endif()
  ")
endfunction()

function(linkaudit_test)
  if(NOT LINKAUDIT)
    return()
  endif()
  set(stage "${CMAKE_BINARY_DIR}/linkaudit-stage")
  add_test(NAME linkaudit-clean COMMAND "${CMAKE_COMMAND}" -E rm -rf "${stage}")
  add_test(NAME linkaudit-install
    COMMAND "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target install)
  add_test(NAME linkaudit
    COMMAND "${LINKAUDIT_PROGRAM}" --isolated --require-elf --staged "${stage}" ${LINKAUDIT_FLAGS})
  set_tests_properties(linkaudit-clean PROPERTIES FIXTURES_SETUP linkaudit)
  set_tests_properties(linkaudit-install PROPERTIES
    FIXTURES_SETUP linkaudit DEPENDS linkaudit-clean
    ENVIRONMENT "DESTDIR=${stage};LINKAUDIT=off")
  set_tests_properties(linkaudit PROPERTIES FIXTURES_REQUIRED linkaudit)
endfunction()
