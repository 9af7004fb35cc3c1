// The handler of SIGSEGV and SIGBUS that lets a copy fail instead of the program (guarded_copy.h).
// All other faults are the program's: its own handler is called, or it ends as it would have.
//
// A program that installs a handler of its own later takes ours away; the next region that it
// registers puts ours in front again. A thread that blocks these signals ends the program where its
// copy fails: the kernel has it so.
#pragma once

namespace tulle::live {

// Cheap where it is in place already: two calls of the kernel.
void guard_against_faults();

}  // namespace tulle::live
