// A profile that comes with the program, on a fabric made in code.
#pragma once

#include "lab.h"
#include "scenario/profile.h"

namespace tulle::exact {

inline Lab lab_of(const std::string& name, const char* topology) {
    const auto profile = scenario::read_profile(
        name,
        [](const std::string& path) -> base::Result<std::string> { return base::Error{path}; });
    EXPECT_TRUE(profile.ok()) << name;
    Lab lab;
    lab.graph = *topology::build_spec(topology);
    lab.fabric = profile->target.fabric;
    lab.host = profile->target.host;
    transport::for_each_algorithm([&](std::string_view, auto, auto settings, auto) {
        (lab.host.algorithms.*settings).set_line(lab.fabric.link.rate);
    });
    return lab;
}

}  // namespace tulle::exact
