// Entries of the list `work` that are files of other programs: recorded or planned work of ranks.
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
    std::string_view kind;  // one of trace_kinds()
    const Value& map;
    const Gpus& gpus;
    std::vector<uint32_t> ranks;  // those of the entry, or all GPUs
    const FileReader& files;
};

// Reads the files of an entry. Reports errors of the entry and the files.
TraceEntry read_trace(const TraceSource& source, Notes& notes);

}  // namespace tulle::scenario
