#include "cli/run/imports.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "live/descriptor.h"

namespace tulle::cli {
namespace {

namespace fs = std::filesystem;

// Finds a program as a shell does; empty if there is none.
std::string find_program(const std::string& program) {
    if (program.find('/') != std::string::npos) return fs::exists(program) ? program : "";
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const fs::path file = fs::path(folder) / program; access(file.c_str(), X_OK) == 0)
            return file;
    return "";
}

// The loader that the program names; empty for scripts and static programs.
std::string loader_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    Elf64_Ehdr head{};
    in.read(reinterpret_cast<char*>(&head), sizeof head);
    if (!in || std::string(reinterpret_cast<char*>(head.e_ident), SELFMAG) != ELFMAG) return "";
    for (unsigned i = 0; i < head.e_phnum; ++i) {
        Elf64_Phdr part{};
        in.seekg(static_cast<std::streamoff>(head.e_phoff + i * sizeof part));
        in.read(reinterpret_cast<char*>(&part), sizeof part);
        if (!in || part.p_type != PT_INTERP) continue;
        std::string name(std::min<size_t>(part.p_filesz, 4096), '\0');
        in.seekg(static_cast<std::streamoff>(part.p_offset));
        in.read(name.data(), static_cast<std::streamsize>(name.size()));
        return name.c_str();
    }
    return "";
}

// Called directly, the loader lists what it would load and what is missing.
[[noreturn]] void become_loader(const std::string& loader, const std::string& file,
                                const std::vector<Variable>& variables, int output) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    for (const char* name : {"LD_TRACE_LOADED_OBJECTS", "LD_BIND_NOW", "LD_WARN"})
        setenv(name, "1", 1);
    execl(loader.c_str(), loader.c_str(), file.c_str(), nullptr);
    _exit(127);
}

std::string read_all(int file) {
    std::string text;
    std::array<char, 4096> some;
    for (ssize_t got = 0; (got = read(file, some.data(), some.size())) > 0;)
        text.append(some.data(), static_cast<size_t>(got));
    return text;
}

}  // namespace

base::Result<std::vector<std::string>> missing_imports(const std::string& program,
                                                       const std::vector<Variable>& variables) {
    const std::string file = find_program(program);
    if (file.empty()) return base::Error{fmt::format("there is no program '{}'", program)};
    const std::string loader = loader_of(file);
    if (loader.empty())
        return base::Error{fmt::format("'{}' is a script or linked statically", program)};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return base::Error{"cannot create a pipe"};
    const live::Descriptor output(ends[0]);
    live::Descriptor input(ends[1]);
    const pid_t child = fork();
    if (child == 0) become_loader(loader, file, variables, input.get());
    input = live::Descriptor();
    std::istringstream lines(read_all(output.get()));
    if (child > 0) waitpid(child, nullptr, 0);
    std::vector<std::string> missing;
    for (std::string line; std::getline(lines, line);)
        if (line.find("undefined symbol") != std::string::npos ||
            line.find("not found") != std::string::npos)
            missing.push_back(line.substr(line.find_first_not_of(" \t")));
    return missing;
}

}  // namespace tulle::cli
