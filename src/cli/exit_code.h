// Exit codes of `tulle`.
#pragma once

namespace tulle::cli {

enum ExitCode {
    kDone = 0,
    kRunFailed = 1,   // the input was right, but the work did not succeed
    kInputWrong = 2,  // the command line or a file is wrong; nothing was written
};

}  // namespace tulle::cli
