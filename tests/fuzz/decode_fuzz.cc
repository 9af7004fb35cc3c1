// Any bytes, as a capture file: the whole of `tulle decode`, with options that the first byte
// chooses, ends with one of its exit codes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "cli/app.h"
#include "cli/exit_code.h"

namespace {

// A file in memory that has a name as long as it is open.
class MemoryFile {
public:
    MemoryFile(const uint8_t* data, size_t size) : descriptor_(memfd_create("capture", 0)) {
        TULLE_CHECK(descriptor_ >= 0);
        TULLE_CHECK(write(descriptor_, data, size) == static_cast<ssize_t>(size));
    }
    ~MemoryFile() { close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

private:
    int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const MemoryFile file(data + 1, size - 1);
    const std::string path = file.path();
    std::vector<const char*> arguments = {"tulle", "decode", path.c_str()};
    if ((data[0] & 1) != 0) arguments.push_back("-v");
    if ((data[0] & 2) != 0) arguments.push_back("--operations");
    if ((data[0] & 4) != 0) arguments.push_back("--partial");
    if ((data[0] & 8) != 0) arguments.insert(arguments.end(), {"--json", "/dev/null"});
    const int code = tulle::cli::run(static_cast<int>(arguments.size()), arguments.data());
    TULLE_CHECK(code == tulle::cli::kDone || code == tulle::cli::kInputWrong);
    return 0;
}
