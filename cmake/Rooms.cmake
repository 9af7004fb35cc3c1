# tulle_room(NAME [FOREIGN_BYTES] [IN_LIBRARIES] [COLD] [TOGETHER] USES room... LIBRARIES lib...
#            PRECOMPILED header... ALONE file...)
# A room is the folder src/NAME: foo.h and foo.cc make the library tulle_NAME, foo_test.cc the
# test program NAME_test, foo_bench.cc the benchmark NAME_bench. New files are found by themselves.
# FOREIGN_BYTES: the room reads what others wrote: its readers are fuzzed with AddressSanitizer in
# each test run, and `make test-long` runs its tests with it (label foreign).
# IN_LIBRARIES: the room is also part of the drop-in libraries (verbs), and hidden in them.
# TOGETHER: several files at a time are one for the compiler (tulle_compile_together).
# COLD: no packet passes through the room, so it is built to be built quickly: optimised less, and
# several files at a time.
# ALONE: files of such a room, or tests of any, that use names which other files of their folder use
# for something else.
# PRECOMPILED: headers that most files of the room include, compiled once for all (see below).

# All programs whose tests have the label foreign.
add_custom_target(foreign_tests)

# Compiles each header by itself; the test house.headers builds it.
add_custom_target(headers)

function(tulle_room name)
    cmake_parse_arguments(room "FOREIGN_BYTES;IN_LIBRARIES;COLD;TOGETHER" ""
                          "USES;LIBRARIES;PRECOMPILED;ALONE" ${ARGN})
    set(folder ${PROJECT_SOURCE_DIR}/src/${name})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
    set(tests ${sources})
    list(FILTER tests INCLUDE REGEX "_test\\.cc$")
    set(benches ${sources})
    list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
    list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cc$")

    tulle_check_arrows(${name} ${room_USES})
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
    endif()
    if(room_COLD OR room_TOGETHER)
        tulle_compile_together(tulle_${name} ${sources})
    endif()
    list(TRANSFORM room_ALONE PREPEND ${folder}/)
    set_source_files_properties(${room_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(room_PRECOMPILED)
        tulle_precompile(tulle_${name} ${room_PRECOMPILED})
    endif()
    set_property(GLOBAL APPEND PROPERTY TULLE_ROOMS ${name})
    tulle_headers(${name})

    if(tests)
        add_executable(${name}_test ${tests})
        target_link_libraries(${name}_test PRIVATE tulle_${name} GTest::gtest_main)
        set(kind)
        if(name STREQUAL scenario OR cluster IN_LIST room_USES)
            set(kind RUNS)
        endif()
        tulle_quick_to_build(${name}_test ${kind})
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

# A room links only rooms that it may include: cmake/rooms.txt has a line for each.
set(rooms_file ${PROJECT_SOURCE_DIR}/cmake/rooms.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rooms_file})
file(STRINGS ${rooms_file} TULLE_ARROWS REGEX "^[a-z]+:")

function(tulle_check_arrows name)
    set(line ${TULLE_ARROWS})
    list(FILTER line INCLUDE REGEX "^${name}:")
    string(REPLACE " " ";" allowed "${line}")
    foreach(used IN LISTS ARGN)
        if(NOT used IN_LIST allowed)
            message(FATAL_ERROR "${name} may not use ${used}: cmake/rooms.txt says '${line}'")
        endif()
    endforeach()
endfunction()

# tulle_precompile(TARGET HEADER...): the standard library and HEADERS, foreign ones as <name> and
# ours as room/name.h, are compiled once for all files of the target. Reading them is more than half
# of what a file takes to compile: 0.7 s for the standard library alone, 1 s more for sim/result.h.
# But with g++ each file pays for opening the whole of it, 0.1 s for the standard library, 0.4 s
# with sim/result.h, 0.8 s with nlohmann/json.hpp: only what most files include belongs here. What
# is generated is the same.
#
# The presets of `make test` precompile: g++ without sanitizers, and the fuzzers. The others, clang
# among them, go without, and so `make test-long` notices a file that does not include what it uses.
if((CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT TULLE_SANITIZE) OR TULLE_FUZZ)
    set(TULLE_PRECOMPILES ON)
endif()
set(standard_headers <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set>
                     <span> <string> <vector>)

function(tulle_precompile target)
    if(TULLE_PRECOMPILES)
        set(headers ${ARGN})
        list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/src/ REGEX "^[a-z]")
        target_precompile_headers(${target} PRIVATE ${standard_headers} ${headers})
    endif()
endfunction()

# tulle_compile_together(TARGET SOURCE...): six files of a folder are one for the compiler, which
# opens the headers once for them: `make build` takes a quarter less. So a name in the unnamed
# namespace of one file may not be one of another file of its folder (tests/house/together.py).
# Where nothing is precompiled, each file is compiled by itself, and shows that it includes what it
# uses.
function(tulle_compile_together target)
    if(NOT TULLE_PRECOMPILES)
        return()
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    foreach(source IN LISTS ARGN)
        get_filename_component(folder ${source} DIRECTORY)
        string(MAKE_C_IDENTIFIER "in${folder}" folder)
        math(EXPR group "0${count_${folder}} / 6")
        math(EXPR count_${folder} "0${count_${folder}} + 1")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
    endforeach()
endfunction()


# What nearly every test includes, compiled once for all test programs: it is half of what a small
# test takes to compile. Tests of whole runs have more in common, and a second one.
function(tulle_test_headers)
    tulle_headers_for_tests(tulle_test_headers)
    tulle_headers_for_tests(tulle_run_test_headers sim/setup.h sim/result.h)
endfunction()

function(tulle_headers_for_tests target)
    set(source ${PROJECT_BINARY_DIR}/${target}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE GTest::gtest)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    tulle_precompile(${target} <gtest/gtest.h> ${ARGN})
endfunction()

# tulle_quick_to_build(TARGET [RUNS] [ALONE file...]): for programs that take longer to compile than
# to run: all that is tested is optimised, the tests themselves are not. They are two thirds of what
# there is to compile. RUNS: they are about whole runs, and include what those are made of.
function(tulle_quick_to_build target)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    if(NOT TULLE_PRECOMPILES OR TULLE_FUZZ)
        return()
    endif()
    cmake_parse_arguments(kind "RUNS" "" "ALONE" ${ARGN})
    get_target_property(sources ${target} SOURCES)
    tulle_compile_together(${target} ${sources})
    set_source_files_properties(${kind_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(kind_RUNS)
        target_precompile_headers(${target} REUSE_FROM tulle_run_test_headers)
    else()
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
