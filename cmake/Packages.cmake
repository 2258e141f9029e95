# SPDX-License-Identifier: Apache-2.0
# The libraries; all of them are Debian 12 packages, installed by scripts/setup.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_package(Catch2 2 REQUIRED)
find_package(benchmark QUIET)
pkg_check_modules(CAPSTONE REQUIRED IMPORTED_TARGET capstone)
pkg_check_modules(UNICORN IMPORTED_TARGET unicorn)
find_library(RK_LIBELF elf)
find_library(RK_LIBDW dw)

# SystemC. Debian's library is built as C++17; SC_CPLUSPLUS tells its headers so,
# although the project itself is C++20.
find_library(RK_SYSTEMC_LIB systemc REQUIRED)
find_path(RK_SYSTEMC_INCLUDE systemc REQUIRED)
add_library(rk_systemc INTERFACE)
target_compile_definitions(rk_systemc INTERFACE
  SC_CPLUSPLUS=201703L SC_INCLUDE_DYNAMIC_PROCESSES)
if(NOT RK_SYSTEMC_INCLUDE STREQUAL "/usr/include")
  target_include_directories(rk_systemc SYSTEM INTERFACE ${RK_SYSTEMC_INCLUDE})
endif()
target_link_libraries(rk_systemc INTERFACE ${RK_SYSTEMC_LIB} Threads::Threads)
