// The rules behind findings, one function per theme. Each adds its findings to the list.
#pragma once

#include <vector>

#include "base/words.h"
#include "report/verdict.h"

namespace tulle::report {

// Shares of the run below this are not reported.
inline constexpr uint64_t kNoticeablePermille = 10;
// A flow that took half as long again as alone counts as slowed.
inline constexpr uint64_t kSlowedPermille = 1500;
// Names listed in a sentence; the rest is counted.
inline constexpr size_t kMostNamed = 5;

void find_deadlock(const Facts& facts, std::vector<Finding>& findings);
void find_failed_flows(const Facts& facts, std::vector<Finding>& findings);
void find_unfinished_phases(const Facts& facts, std::vector<Finding>& findings);
void find_pauses(const Facts& facts, std::vector<Finding>& findings);  // and their victims
void find_uneven_paths(const Facts& facts, std::vector<Finding>& findings);
void find_idle_paths(const Facts& facts, std::vector<Finding>& findings);
void find_losses(const Facts& facts, std::vector<Finding>& findings);
// With a simulated control plane.
void find_repairs(const Facts& facts, std::vector<Finding>& findings);
void find_pfc_only_brake(const Facts& facts, std::vector<Finding>& findings);
void find_needless_resending(const Facts& facts, std::vector<Finding>& findings);
void find_noisy_neighbour(const Facts& facts, std::vector<Finding>& findings);
void find_violations(const Facts& facts, std::vector<Finding>& findings);
void find_disagreements(const Facts& facts, std::vector<Finding>& findings);
// Called last: explains a run far from its limit if no other rule does.
void find_pace(const Facts& facts, std::vector<Finding>& findings);

// The busiest link; none if nothing was sent.
const sim::LinkResult* busiest_link(const Facts& facts);
uint64_t limit_permille(const Facts& facts);
// A run this close to its limit was not held up.
inline constexpr uint64_t kNearLimitPermille = 800;

using base::counted;
uint64_t whole_nanoseconds(base::Duration duration);

}  // namespace tulle::report
