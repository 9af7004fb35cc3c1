# tulle_room(NAME [FOREIGN_BYTES] [IN_LIBRARIES] [COLD] USES room... LIBRARIES lib...
#            HEADERS header...)
# A room is the folder src/NAME: foo.h and foo.cc make the library tulle_NAME, foo_test.cc the
# test program NAME_test, foo_bench.cc the benchmark NAME_bench. New files are found by themselves.
# FOREIGN_BYTES: the room reads what others wrote: its readers are fuzzed with AddressSanitizer in
# each test run, and `make test-long` runs its tests with it (label foreign).
# IN_LIBRARIES: the room is also part of the drop-in libraries (verbs), and hidden in them.
# COLD: no packet passes through the room, so it is built to be built quickly: optimised less, and
# with the standard library and HEADERS, large foreign ones, compiled once for all its files.

# All programs whose tests have the label foreign.
add_custom_target(foreign_tests)

# Compiles each header by itself; the test house.headers builds it.
add_custom_target(headers)

function(tulle_room name)
    cmake_parse_arguments(room "FOREIGN_BYTES;IN_LIBRARIES;COLD" "" "USES;LIBRARIES;HEADERS"
                          ${ARGN})
    set(folder ${PROJECT_SOURCE_DIR}/src/${name})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
    set(tests ${sources})
    list(FILTER tests INCLUDE REGEX "_test\\.cc$")
    set(benches ${sources})
    list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
    list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cc$")

    list(TRANSFORM room_USES PREPEND tulle_ OUTPUT_VARIABLE uses)
    add_library(tulle_${name} STATIC ${sources})
    set_target_properties(tulle_${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_include_directories(tulle_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(tulle_${name} PUBLIC ${uses} ${room_LIBRARIES})
    if(room_IN_LIBRARIES)
        set_target_properties(tulle_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                              CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    endif()
    if(room_COLD)
        target_compile_options(tulle_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
        tulle_precompile(tulle_${name} ${room_HEADERS})
    endif()
    set_property(GLOBAL APPEND PROPERTY TULLE_ROOMS ${name})
    tulle_headers(${name})

    if(tests)
        add_executable(${name}_test ${tests})
        target_link_libraries(${name}_test PRIVATE tulle_${name} GTest::gtest_main)
        tulle_quick_to_build(${name}_test)
        target_compile_definitions(${name}_test
                                   PRIVATE TULLE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
        set(label room)
        if(room_FOREIGN_BYTES)
            set(label foreign)
            add_dependencies(foreign_tests ${name}_test)
        endif()
        gtest_discover_tests(${name}_test TEST_PREFIX ${name}. PROPERTIES LABELS ${label})
    endif()
    if(benches)
        add_executable(${name}_bench ${benches})
        target_link_libraries(${name}_bench PRIVATE tulle_${name} benchmark::benchmark_main)
        # Small, in every test run, so that a benchmark cannot rot; `make bench` runs it large.
        add_test(NAME ${name}.bench COMMAND ${name}_bench --benchmark_min_time=0.001)
        set_tests_properties(${name}.bench PROPERTIES LABELS bench)
    endif()
endfunction()

# Parsing foreign headers is half of what a file takes to compile. Other compilers go without, and
# so notice a file that does not include what it uses.
function(tulle_precompile target)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT TULLE_SANITIZE)
        target_precompile_headers(${target} PRIVATE <algorithm> <array> <cstdint> <functional> <map>
                                  <memory> <optional> <set> <span> <string> <vector> ${ARGN})
    endif()
endfunction()

# What nearly every test includes, compiled once. It is half of what a small test takes to compile.
function(tulle_test_headers)
    set(source ${PROJECT_BINARY_DIR}/test_headers.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(tulle_test_headers OBJECT EXCLUDE_FROM_ALL ${source})
    target_link_libraries(tulle_test_headers PRIVATE GTest::gtest)
    target_compile_options(tulle_test_headers PRIVATE $<$<CONFIG:Release>:-O0>)
    target_precompile_headers(tulle_test_headers PRIVATE <gtest/gtest.h> <algorithm> <array>
                              <functional> <map> <memory> <optional> <span> <string> <vector>)
endfunction()

# For programs that take longer to compile than to run: all that is tested is optimised, the tests
# themselves are not. They are two thirds of what there is to compile.
function(tulle_quick_to_build target)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT TULLE_SANITIZE)
        target_precompile_headers(${target} REUSE_FROM tulle_test_headers)
    endif()
endfunction()

# One source of one line for each header of the room. Objects that ninja and ccache know cost
# nothing where no header changed, unlike a compiler run by a script.
function(tulle_headers name)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src
         ${PROJECT_SOURCE_DIR}/src/${name}/*.h)
    if(NOT headers)
        return()
    endif()
    set(sources)
    foreach(header IN LISTS headers)
        set(source ${PROJECT_BINARY_DIR}/headers/${header}.cc)
        file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
        list(APPEND sources ${source})
    endforeach()
    add_library(tulle_${name}_headers OBJECT EXCLUDE_FROM_ALL ${sources})
    target_compile_options(tulle_${name}_headers PRIVATE -O0)
    target_link_libraries(tulle_${name}_headers PRIVATE tulle_${name} GTest::gtest)
    add_dependencies(headers tulle_${name}_headers)
endfunction()
