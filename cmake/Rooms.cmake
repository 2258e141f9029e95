# SPDX-License-Identifier: Apache-2.0
# A room is a folder of the tree and one static library, rk_<last folder name>.

# rkperf_pch(TARGET HEADERS...): TARGET holds a precompiled header that others
# reuse with rkperf_use_pch. It must have the same options and definitions.
function(rkperf_pch target)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch/${target}.cpp
       CONTENT "// Holds a precompiled header.\n")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/pch/${target}.cpp)
  target_link_libraries(${target} PRIVATE ${ARG_LIBS})
  target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PUBLIC "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

function(rkperf_use_pch target pch)
  if(RK_PCH AND TARGET ${pch})
    target_precompile_headers(${target} REUSE_FROM ${pch})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
endfunction()

# Third-party libraries common to all rooms (through rk_base).
add_library(rk_common INTERFACE)
target_link_libraries(rk_common INTERFACE rk_flags spdlog::spdlog fmt::fmt)

if(RK_PCH)
  rkperf_pch(rk_pch_systemc LIBS rk_common rk_systemc HEADERS <systemc> <tlm>)
endif()

# rkperf_room(PATH [DEPS room...] [LIBS library...] [EXCLUDE file...] [SYSTEMC])
#   PATH     the folder, relative to the repository
#   DEPS     names of the rooms it may use (base, a64, ...)
#   LIBS     third-party libraries
#   EXCLUDE  source files that are not part of the library
#   SYSTEMC  the room uses SystemC
# Without any source file the room is an interface library, so a room made of
# headers, or one not written yet, does not stop the others.
function(rkperf_room path)
  cmake_parse_arguments(ARG "SYSTEMC" "" "DEPS;LIBS;EXCLUDE" ${ARGN})
  get_filename_component(name ${path} NAME)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cpp)
  foreach(file ${ARG_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${path}/${file})
  endforeach()
  list(TRANSFORM ARG_DEPS PREPEND rk_ OUTPUT_VARIABLE deps)
  set(libs rk_common ${deps} ${ARG_LIBS})
  if(ARG_SYSTEMC)
    list(APPEND libs rk_systemc)
  endif()
  if(sources)
    add_library(rk_${name} STATIC ${sources})
    target_link_libraries(rk_${name} PUBLIC ${libs})
    if(ARG_SYSTEMC)
      rkperf_use_pch(rk_${name} rk_pch_systemc)
    endif()
  else()
    add_library(rk_${name} INTERFACE)
    target_link_libraries(rk_${name} INTERFACE ${libs})
  endif()
  set_property(GLOBAL APPEND PROPERTY RK_ROOMS ${path})
  set_property(GLOBAL PROPERTY RK_ROOM_SYSTEMC_${name} ${ARG_SYSTEMC})
endfunction()
