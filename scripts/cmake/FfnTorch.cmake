# Finds LibTorch: Debian's package, the official archive, or pip's torch, from CMAKE_PREFIX_PATH or the system's folders.
# Sets the target `torch`, FFN_TORCH_CUDA (whether it can use a GPU), Torch_VERSION and ffn_torch_standard (the C++ that its
# headers need).
#
# A build with CUDA gets targets of our own. find_package(Torch) would ask for a whole CUDA toolkit with its compiler, of the
# very version that torch was built with; a program in C++ needs the runtime's headers and library alone, and pip's wheels
# bring both.
option(FFN_OWN_TORCH_TARGETS "Use own targets for a LibTorch without CUDA, too" OFF)

find_file(FFN_TORCH_CONFIG TorchConfig.cmake PATH_SUFFIXES Torch share/cmake/Torch lib/cmake/Torch cmake/Torch
  lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch REQUIRED)
get_filename_component(ffn_torch_root "${FFN_TORCH_CONFIG}" DIRECTORY)
while(NOT EXISTS "${ffn_torch_root}/include/torch/csrc/api/include/torch/version.h" AND NOT ffn_torch_root STREQUAL "/")
  get_filename_component(ffn_torch_root "${ffn_torch_root}" DIRECTORY)
endwhile()
find_library(FFN_TORCH_CUDA_LIBRARY torch_cuda PATHS "${ffn_torch_root}/lib" NO_DEFAULT_PATH)

set(FFN_TORCH_CUDA OFF)
if(FFN_TORCH_CUDA_LIBRARY OR FFN_OWN_TORCH_TARGETS)
  set(ffn_torch_api "${ffn_torch_root}/include/torch/csrc/api/include/torch")
  # 2.14 has its numbers in headeronly, 2.6 in the API's own header, which the newer one keeps without them.
  set(ffn_version_file "${ffn_torch_root}/include/torch/headeronly/version.h")
  if(NOT EXISTS "${ffn_version_file}")
    set(ffn_version_file "${ffn_torch_api}/version.h")
  endif()
  file(STRINGS "${ffn_version_file}" ffn_version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" ffn_version_numbers "${ffn_version_lines}")
  list(JOIN ffn_version_numbers "." Torch_VERSION)
  foreach(name torch torch_cpu c10)
    find_library(FFN_LIB_${name} ${name} PATHS "${ffn_torch_root}/lib" "${ffn_torch_root}/lib/${CMAKE_LIBRARY_ARCHITECTURE}" NO_DEFAULT_PATH REQUIRED)
  endforeach()
  add_library(torch INTERFACE IMPORTED)
  set(ffn_torch_includes "${ffn_torch_root}/include" "${ffn_torch_root}/include/torch/csrc/api/include")
  set(ffn_torch_libraries ${FFN_LIB_torch} ${FFN_LIB_torch_cpu} ${FFN_LIB_c10})
  # Which of the two ABIs of std::string it was built with stands in its own config.
  file(STRINGS "${FFN_TORCH_CONFIG}" ffn_abi_line REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
  if(ffn_abi_line MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    target_compile_definitions(torch INTERFACE _GLIBCXX_USE_CXX11_ABI=0)
  endif()
  if(FFN_TORCH_CUDA_LIBRARY)
    set(FFN_TORCH_CUDA ON)
    find_library(FFN_LIB_c10_cuda c10_cuda PATHS "${ffn_torch_root}/lib" NO_DEFAULT_PATH REQUIRED)
    # The runtime: beside torch in pip's wheels (nvidia/cu13 from CUDA 13 on, nvidia/cuda_runtime before), else a toolkit's.
    file(GLOB ffn_cuda_places "${ffn_torch_root}/../nvidia/cu*")
    find_path(FFN_CUDA_INCLUDE cuda_runtime_api.h HINTS ${ffn_cuda_places} PATHS /usr/local/cuda ENV CUDA_HOME PATH_SUFFIXES include REQUIRED)
    file(GLOB ffn_cuda_runtimes "${ffn_torch_root}/../nvidia/cu*/lib/libcudart.so.*" "${ffn_torch_root}/lib/libcudart*.so*"
      "${FFN_CUDA_INCLUDE}/../lib64/libcudart.so")
    list(GET ffn_cuda_runtimes 0 FFN_CUDART)
    list(APPEND ffn_torch_includes "${FFN_CUDA_INCLUDE}")
    # Nothing of ours names a symbol of torch_cuda; without no-as-needed the linker drops it, and with it every GPU.
    list(APPEND ffn_torch_libraries "-Wl,--no-as-needed,${FFN_TORCH_CUDA_LIBRARY},--as-needed" ${FFN_LIB_c10_cuda} ${FFN_CUDART})
  endif()
  set_target_properties(torch PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ffn_torch_includes}" INTERFACE_LINK_LIBRARIES "${ffn_torch_libraries}")
  set(ffn_torch_standard 17)
  # Headers that need C++20 say so themselves.
  file(STRINGS "${ffn_torch_api}/all.h" ffn_needs_cxx20 REGEX "__cplusplus < 202002L")
  if(ffn_needs_cxx20)
    set(ffn_torch_standard 20)
  endif()
else()
  find_package(Torch REQUIRED)
  # 14 / 17 / 20 on LibTorch 1.13 / 2.6 / 2.14; our code is valid as C++17 and C++20.
  get_target_property(ffn_torch_standard torch CXX_STANDARD)
  if(NOT ffn_torch_standard OR ffn_torch_standard LESS 17)
    set(ffn_torch_standard 17)
  endif()
endif()
