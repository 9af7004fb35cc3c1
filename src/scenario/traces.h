// Entries of the list `work` that are files of other programs: what ranks did, or are to do.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "scenario/files.h"
#include "scenario/gpus.h"
#include "scenario/notes.h"
#include "traces/program.h"
#include "traces/trace.h"

namespace tulle::scenario {

std::span<const WorkKind> trace_kinds();
bool is_trace(std::string_view kind);

struct TraceEntry {
    traces::Trace trace;
    traces::TracePlace place;
};

struct TraceSource {
    std::string_view kind;  // of trace_kinds()
    const Value& map;
    const Gpus& gpus;
    std::vector<uint32_t> ranks;  // that the entry names, or all GPUs
    const FileReader& files;
};

// Reads the files of an entry. Complains of what is wrong in the entry or in them.
TraceEntry read_trace(const TraceSource& source, Notes& notes);

}  // namespace tulle::scenario
