// Every setting of a fabric and its hosts: one table, which reads scenarios and profiles, says what
// is unknown, wrong or of no use, and prints the reference.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/fields.h"
#include "scenario/notes.h"

namespace tulle::scenario {

// What must have been chosen for a setting to do anything.
enum class Use : uint8_t {
    always,
    pfc,
    static_threshold,
    credits,
    link_retry,
    shared_buffer,
    alpha,
    watchdog,
    reduction,
    ets,
    vl_tables,
    ecn,
    fecn,
    trimming,
    dscp,
    flowlets,
    algorithm,  // of congestion control: Setting::algorithm
    notifications,
    notification_packets,
    staging,
    spread,
};

struct Setting {
    std::string path;  // "fabric.pfc.xoff"
    Use use = Use::always;
    Field field;
    std::string_view meaning;
    transport::Algorithm algorithm = transport::Algorithm::none;
};

// In the order of the reference, which is the order in which they are applied.
std::span<const Setting> all_settings();

// Why a setting does nothing with what was chosen; empty if it does something.
std::string why_unused(const Setting& setting, const Target& target);

// Applies one section (`fabric` or `hosts`) of a file. Unknown keys and wrong values are noted.
void apply_section(std::string_view section, const Value& map, Target& target, Notes& notes);

// Notes what a section sets although nothing looks at it. To be called when all is applied. A
// profile may give values to what a scenario can switch on later: staging, the watchdog, CNPs.
void check_used(std::string_view section, const Value& map, const Target& target, Notes& notes,
                bool is_profile = false);

// What does not go together, in one sentence that begins with the setting to change.
Complaint check_together(const Target& target);

// The line in which a file sets what such a sentence begins with; 0: it does not.
uint32_t line_of(std::string_view sentence, const Value& file);

}  // namespace tulle::scenario
