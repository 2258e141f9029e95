# SPDX-License-Identifier: Apache-2.0
# Language, build types and compiler flags common to every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(RK_TESTS "Build the tests" ON)
option(RK_BENCHMARKS "Build the Google Benchmark programs (target: benchmarks)" ON)
option(RK_GUEST_PROGRAMS "Cross-compile the guest programs of workloads/" ON)
option(RK_UNITY_TESTS "Compile each test executable as one unit" OFF)
option(RK_PCH "Use precompiled headers for SystemC and Catch2" ON)
set(RK_PROBES "${CMAKE_SOURCE_DIR}/../shared/probes" CACHE PATH
    "Folder of the conformance probes; their tests are skipped where it is absent")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Asan" FORCE)
endif()
# Assertions stay on in every build type: a bug stops the run with a diagnosis.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_ASAN
    "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
    CACHE STRING "" FORCE)
set(CMAKE_EXE_LINKER_FLAGS_ASAN "-fsanitize=address,undefined" CACHE STRING "" FORCE)

# Results must not depend on the compiler or the optimisation level, hence no
# contraction of floating-point expressions. No build folder reaches a binary.
add_library(rk_flags INTERFACE)
target_compile_options(rk_flags INTERFACE
  -Wall -Wextra -Werror -ffp-contract=off
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(CMAKE_BUILD_TYPE STREQUAL "Asan")
  target_compile_definitions(rk_flags INTERFACE RK_ASAN=1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Instrumented code makes g++ 12 report false positives here.
    target_compile_options(rk_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(RK_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(rk_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
target_include_directories(rk_flags INTERFACE ${CMAKE_SOURCE_DIR})

find_program(RK_CCACHE ccache)
if(RK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${RK_CCACHE})
endif()
