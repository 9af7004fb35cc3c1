# tulle_embed_profiles(ROOM): compiles the files of profiles/ into the library of the room, so that
# the program finds them wherever it is started. They are written into a source when one changes.
function(tulle_embed_profiles room)
    file(GLOB profiles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/profiles/*.yaml)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profiles})
    set(entries)
    foreach(profile IN LISTS profiles)
        cmake_path(GET profile STEM name)
        file(READ ${profile} text)
        string(APPEND entries "    {\"${name}\", R\"profile(${text})profile\"},\n")
    endforeach()
    set(source ${PROJECT_BINARY_DIR}/profiles/built_in_profiles.cc)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include "scenario/profile.h"

namespace tulle::scenario {

std::span<const BuiltInProfile> built_in_profiles() {
    static constexpr BuiltInProfile kProfiles[] = {
@entries@    };
    return kProfiles;
}

}  // namespace tulle::scenario
]])
    target_sources(tulle_${room} PRIVATE ${source})
endfunction()
