// A simulation from its setup to its end on one thread, for tests.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "sim/course.h"

namespace tulle::sim::testing {

// `first`: what is followed for the account, as Simulation::build() takes it.
inline Result run(const Setup& setup, size_t partitions = 1, FirstRun first = {}) {
    auto built =
        Simulation::build(setup, partitions, std::pmr::new_delete_resource(), std::move(first));
    EXPECT_TRUE(built.ok()) << built.error().message;
    if (!built) return {};
    Simulation& simulation = **built;
    Course course(setup, simulation);
    for (; !course.is_over(); course.choose()) {
        for (size_t p = 0; p < partitions; ++p) simulation.advance(p, course.window());
        for (size_t p = 0; p < partitions; ++p) simulation.exchange(p);
    }
    return simulation.finish(course.end());
}

}  // namespace tulle::sim::testing
