// All settings of a fabric and its hosts in one table. It is used to read scenarios and profiles,
// to report unknown, wrong or useless settings, and to print the reference.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/fields.h"
#include "scenario/notes.h"

namespace tulle::scenario {

// The choice that a setting depends on: without it the setting has no effect.
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
    telemetry,
    ugal,
    loads,
    back_pressure,
};

struct Setting {
    std::string path;  // "fabric.pfc.xoff"
    Use use = Use::always;
    Field field;
    std::string_view meaning;
    transport::Algorithm algorithm = transport::Algorithm::none;
};

// In the order of the reference, in which they are also applied.
std::span<const Setting> all_settings();

// Why a setting has no effect with the current choices; empty if it has one.
std::string why_unused(const Setting& setting, const Target& target);

// Applies one section (`fabric` or `hosts`) of a file. Reports unknown keys and wrong values.
void apply_section(std::string_view section, const Value& map, Target& target, Notes& notes);

// Reports settings of a section that nothing uses. Call it after all sections are applied. A
// profile may set values for features that a scenario can switch on later: staging, the watchdog,
// CNPs.
void check_used(std::string_view section, const Value& map, const Target& target, Notes& notes,
                bool is_profile = false);

// The first conflict between settings, in one sentence that begins with the setting to change.
Complaint check_together(const Target& target);

// The line of the file that sets the setting at the start of such a sentence; 0: none does.
uint32_t line_of(std::string_view sentence, const Value& file);

}  // namespace tulle::scenario
