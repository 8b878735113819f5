# Writes a header with the commit of a checkout as git describes it, and leaves it alone where it says that already:
#   cmake -DCHECKOUT=DIR -DHEADER=FILE -P GitCommit.cmake
find_package(Git QUIET)
set(commit "unknown")
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 WORKING_DIRECTORY ${CHECKOUT}
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed EQUAL 0)
    set(commit ${described})
  endif()
endif()
set(text "#define FFN_GIT_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${HEADER} "${text}")
endif()
