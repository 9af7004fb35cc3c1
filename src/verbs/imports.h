// Domains and regions of other contexts, by their handles: of this process, or of another one that
// has handed over the file of its device (live/imports.h).
#pragma once

#include "verbs/objects.h"

namespace tulle::verbs {

// Releases a region of another process, which keeps it.
int forget_import(ibv_mr& mr);

}  // namespace tulle::verbs
