// Causes that are planted, each with the names under which the verdict may know it.
#pragma once

#include <string>

#include "report/causes.h"
#include "world.h"

namespace tulle::causes {

struct Answer {
    report::CauseKind kind = report::CauseKind::unexplained;
    std::string place;
};

struct Case {
    sim::Setup without;
    sim::Setup with;
    std::vector<Answer> answers;  // more than one where two names are the same thing
    bool is_void = false;         // the draw does not show what it should; draw again
};

struct Plant {
    const char* name;
    Case (*draw)(Draw&);
};

// By file: cables and faults, work that shares something, settings of the fabric, the ends.
extern const std::vector<Plant> kCablePlants;
extern const std::vector<Plant> kSharingPlants;
extern const std::vector<Plant> kSettingPlants;
extern const std::vector<Plant> kEndPlants;

std::vector<Plant> all_plants();

// Names as reports have them.
std::string cable_name(const sim::Setup& setup, uint32_t cable);
std::string link_name(const sim::Setup& setup, Place place);
std::string host_name(const sim::Setup& setup, uint32_t host);
// The link from the leaf to a host.
Place place_to_host(const sim::Setup& setup, uint32_t host);

}  // namespace tulle::causes
