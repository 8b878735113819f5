# The libraries that ffn-train is built from, LibTorch aside: by their CMake packages, or, where headers lie about without
# one (a machine that has nothing but copied include folders), by plain include paths: -DCMAKE_INCLUDE_PATH=DIR.

# Target `name` for a library of headers alone, unless its package has been found.
function(ffn_headers name header)
  if(TARGET ${name})
    return()
  endif()
  string(MAKE_C_IDENTIFIER "FFN_INCLUDE_${name}" place)
  find_path(${place} ${header} REQUIRED)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${${place}}")
  message(STATUS "${name}: no CMake package, headers in ${${place}}")
endfunction()

find_package(Threads REQUIRED)
find_package(nlohmann_json QUIET)
ffn_headers(nlohmann_json::nlohmann_json nlohmann/json.hpp)
find_package(CLI11 QUIET)
ffn_headers(CLI11::CLI11 CLI/CLI.hpp)
find_package(Boost CONFIG QUIET)  # its own config: CMake 3.30 dropped the module
ffn_headers(Boost::headers boost/math/distributions/normal.hpp)
ffn_headers(xxHash::headers xxhash.h)
# FFN_STATIC: one program for every Linux of this processor; it loads no library, so it has no LibTorch engine and does not count GPUs.
if(FFN_STATIC)
  set(ZLIB_USE_STATIC_LIBS ON)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  add_link_options(-static)
endif()
find_package(ZLIB REQUIRED)
# Headers alone: one file of ours logs. Debian's expect the fmt library beside them, others bring it along.
ffn_headers(spdlog::headers spdlog/spdlog.h)
if(NOT EXISTS "${FFN_INCLUDE_spdlog__headers}/spdlog/fmt/bundled/core.h")
  set_property(TARGET spdlog::headers PROPERTY INTERFACE_COMPILE_DEFINITIONS SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
endif()
