# tulle_embed(ROOM HEADER TYPE FUNCTION FILE...): compiles files into the library of the room as
# texts with names, so that the program finds them wherever it is started. FUNCTION, which HEADER
# declares, gives them as a span of TYPE{name, text}. A source is written when one of them changes.
function(tulle_embed room header type function)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
    set(entries)
    foreach(file IN LISTS ARGN)
        cmake_path(GET file STEM name)
        file(READ ${file} text)
        string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
    endforeach()
    set(source ${PROJECT_BINARY_DIR}/embedded/${function}.cc)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include "@header@"

namespace tulle::@room@ {

std::span<const @type@> @function@() {
    static constexpr @type@ kTexts[] = {
@entries@    };
    return kTexts;
}

}  // namespace tulle::@room@
]])
    target_sources(tulle_${room} PRIVATE ${source})
endfunction()

# The files of profiles/.
function(tulle_embed_profiles room)
    file(GLOB profiles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/profiles/*.yaml)
    tulle_embed(${room} scenario/profile.h BuiltInProfile built_in_profiles ${profiles})
endfunction()
