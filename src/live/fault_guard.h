// The handler of SIGSEGV and SIGBUS that lets a copy fail instead of the program (guarded_copy.h).
// All other faults are the program's: its own handler is called, or it ends as without us.
//
// A program that later installs its own handler removes ours; when it registers its next region,
// ours is put in front again. If a thread blocks these signals and its copy fails, the kernel ends
// the program.
#pragma once

namespace tulle::live {

// Installs the handler. Cheap if it is already in place: two calls of the kernel.
void guard_against_faults();

}  // namespace tulle::live
