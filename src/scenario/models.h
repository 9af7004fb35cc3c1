// The keys `model`, `gpu` and related ones, of entries that compute with a model.
#pragma once

#include <span>

#include "scenario/key_reader.h"
#include "workload/training/costs.h"

namespace tulle::scenario {

// The shape of a model.
std::span<const KnownKey> model_keys();

workload::Model read_model(KeyReader& reader);
// `gpu`, `efficiency` and `communication_sms`.
workload::Engine read_engine(KeyReader& reader);

}  // namespace tulle::scenario
