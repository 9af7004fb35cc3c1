# One set of warnings for g++ 12 and clang 14, and the sanitizers that a preset asks for.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                    -Wimplicit-fallthrough -Wundef)
if(TULLE_WERROR)
    add_compile_options(-Werror)
endif()
if(TULLE_SANITIZE)
    add_compile_options(-fsanitize=${TULLE_SANITIZE} -fno-omit-frame-pointer
                        -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${TULLE_SANITIZE})
endif()
if(TULLE_FUZZ)
    # Coverage for the libraries; only a fuzzer's own link adds libFuzzer's main.
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Without this, g++ spends a seventh of its time here collecting garbage. The largest file takes
    # 800 MB instead of 660.
    add_compile_options("SHELL:--param ggc-min-expand=10000"
                        "SHELL:--param ggc-min-heapsize=1000000")
endif()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    # Scheduling only, the instructions stay those of every x86-64. With its generic tuning g++ 12
    # clears a structure of some hundred bytes by `rep stos`, which takes longer than parsing a
    # packet into it (105 against 70 ns for the headers of a RoCE packet there and back).
    add_compile_options(-mtune=skylake)
endif()

# tulle_harden(TARGET): for what runs inside programs of others and reads what their peers wrote.
# The simulator does without: its rooms are compiled as they were. FORTIFY needs optimisation, and
# is told anew because distributions set it in their own way.
function(tulle_harden target)
    target_compile_options(${target} PRIVATE -fstack-protector-strong
                           $<$<CONFIG:Release>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
endfunction()
