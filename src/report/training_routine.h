// What a training job does besides its steps: checkpoints, data, and a month with failures.
#pragma once

#include "report/training.h"

namespace tulle::report {

// Fills in `checkpoint`, `data` and `month` of a step, which is job `number`.
void add_routine(const std::vector<CollectiveFacts>& collectives, uint32_t number,
                 base::Instant step_end, TrainingFacts& facts);

// Lines of the report; empty if the job has only steps.
std::string routine_text(const TrainingFacts& facts);

}  // namespace tulle::report
