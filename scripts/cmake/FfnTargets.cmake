# Helpers for our own targets.

# Warnings for our code only: imported targets bring their headers as system headers.
add_library(ffn_warnings INTERFACE)
target_compile_options(ffn_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(FFN_WERROR)
  target_compile_options(ffn_warnings INTERFACE -Werror)
endif()

# g++ frees its memory before it needs to: a tenth of its time, where there is enough for all that compile at once.
cmake_host_system_information(RESULT ffn_memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT ffn_cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR ffn_memory_per_job "${ffn_memory_mib} / (${ffn_cores} + 2)")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND ffn_memory_per_job GREATER 2500)
  add_compile_options("SHELL:--param ggc-min-heapsize=1000000")
endif()

# One static library per room of lib/ffn, so that the dependency arrows are real: NAME <room> takes the files of that folder but
# *_torch.cpp and kernels' *_rows.cpp, NAME <room>_torch the *_torch.cpp.
#   ffn_module(NAME <room>[_torch] USES <other rooms> LIBRARIES <imported targets>)
function(ffn_module)
  cmake_parse_arguments(ARG "" "NAME" "USES;LIBRARIES" ${ARGN})
  string(REGEX REPLACE "_torch$" "" room ${ARG_NAME})
  file(GLOB sources CONFIGURE_DEPENDS ${room}/*.cpp)
  if(room STREQUAL ARG_NAME)
    list(FILTER sources EXCLUDE REGEX "_(torch|rows)\\.cpp$")
  else()
    list(FILTER sources INCLUDE REGEX "_torch\\.cpp$")
  endif()
  add_library(ffn_${ARG_NAME} STATIC ${sources})
  target_include_directories(ffn_${ARG_NAME} PUBLIC ${PROJECT_SOURCE_DIR}/lib)
  set_target_properties(ffn_${ARG_NAME} PROPERTIES UNITY_BUILD ${FFN_UNITY} UNITY_BUILD_BATCH_SIZE 25)  # they instantiate the same templates
  list(TRANSFORM ARG_USES PREPEND ffn_)
  target_link_libraries(ffn_${ARG_NAME} PUBLIC ${ARG_USES} PRIVATE ffn_warnings)
  if(ARG_LIBRARIES)
    target_link_libraries(ffn_${ARG_NAME} PUBLIC ${ARG_LIBRARIES})
  endif()
endfunction()

# For targets that spend no time at run time: little is spent on optimizing, which makes templates of JSON twice as quick to compile as with
# -O2 (-O1: 1.6 times), and the headers that nearly all their files read are read once.
# A precompiled header serves one level of optimization: g++ 14 takes none that was made at another.
# -fPIC as the libraries have it, not an executable's -fPIE: the precompiled header is theirs.
function(ffn_compile_quickly target)
  if(EMSCRIPTEN)  # knows no -Og
    return()
  endif()
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC $<$<CONFIG:Release>:-Og>)
  if(target STREQUAL "ffn_config")
    target_precompile_headers(${target} PRIVATE
      <algorithm> <cmath> <filesystem> <functional> <iostream> <map> <memory> <optional> <set> <sstream> <string> <variant> <vector> <nlohmann/json.hpp>)
  else()
    target_precompile_headers(${target} REUSE_FROM ffn_config)
  endif()
endfunction()

# The files of one target are compiled as one: reading LibTorch's headers is most of what a file of ours takes (12 s of 14).
# A precompiled header was measured and costs more than it saves: 41 s to make, 6 s to read, for four such files.
function(ffn_uses_torch target)
  target_link_libraries(${target} PUBLIC torch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${FFN_UNITY} UNITY_BUILD_BATCH_SIZE 0 CXX_STANDARD ${ffn_torch_standard})
  # Four tenths of the compiling less than -O3; the arithmetic is LibTorch's.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  # g++ 14 sees an overrun in std::vector<bool> as LibTorch's autograd::Function uses it; there is none.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow>")
endfunction()

# Files as text in a program: writes the definition of FUNCTION, which HEADER declares as `const std::map<std::string, std::string>& FUNCTION()`,
# name → text. Names are relative to BASE.
function(ffn_embed target)
  cmake_parse_arguments(ARG "" "FUNCTION;HEADER;BASE" "FILES" ${ARGN})
  set(source "// Written by ffn_embed().\n#include \"${ARG_HEADER}\"\n\nconst std::map<std::string, std::string>& ${ARG_FUNCTION}() {\n  static const std::map<std::string, std::string> files{\n")
  foreach(name ${ARG_FILES})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARG_BASE}/${name})
    file(READ ${ARG_BASE}/${name} content)
    string(APPEND source "    {\"${name}\", R\"ffn(${content})ffn\"},\n")
  endforeach()
  string(APPEND source "  };\n  return files;\n}\n")
  string(REPLACE "::" "_" file ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  file(WRITE ${file}.new "${source}")
  file(COPY_FILE ${file}.new ${file} ONLY_IF_DIFFERENT)
  target_sources(${target} PRIVATE ${file})
endfunction()
