# SPDX-License-Identifier: Apache-2.0
# Guest programs: AArch64 Linux executables that run inside the simulation.

find_program(RK_GUEST_CC aarch64-linux-gnu-gcc)
add_custom_target(workloads ALL)

# rkperf_guest(NAME SOURCES file... [FLAGS flag...] [DEPENDS file...])
# builds build/workloads/NAME. Static unless FLAGS say otherwise.
function(rkperf_guest name)
  cmake_parse_arguments(ARG "" "" "SOURCES;FLAGS;DEPENDS" ${ARGN})
  if(NOT RK_GUEST_CC OR NOT RK_GUEST_PROGRAMS)
    return()
  endif()
  set(out ${CMAKE_BINARY_DIR}/workloads/${name})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/workloads)
  add_custom_command(OUTPUT ${out}
    COMMAND ${RK_GUEST_CC} -std=gnu11 -O2 -g -Wall -Wextra -fno-omit-frame-pointer
            -mno-omit-leaf-frame-pointer -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
            -static -pthread ${ARG_FLAGS} -I${CMAKE_SOURCE_DIR}/workloads
            -MD -MF ${out}.d -MT ${out} -o ${out} ${ARG_SOURCES}
    DEPENDS ${ARG_SOURCES} ${ARG_DEPENDS}
    DEPFILE ${out}.d
    COMMENT "Guest program ${name}" VERBATIM)
  add_custom_target(guest_${name} DEPENDS ${out})
  add_dependencies(workloads guest_${name})
endfunction()
