// Tells at which interface each packet of a pcapng file was captured.
//
// libpcap reads such files but does not report the interface. This class therefore walks over the
// same blocks in parallel: the section header (0x0a0d0d0a), interface descriptions (1), and the
// three kinds of packet blocks (6, 3 and the obsolete 2) of the pcapng draft of the IETF's opsawg.
// A file that is not pcapng, or a pipe, which cannot be read twice, has one interface without a
// name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tulle::cli {

class Interfaces {
public:
    Interfaces() = default;
    // Reads with pread(), so the file position does not change.
    explicit Interfaces(int descriptor);

    // The interface of the next packet; 0 if unknown.
    uint32_t next();

    // Interfaces so far, over all sections.
    size_t count() const { return names_.size(); }
    // Empty if it has no name.
    const std::string& name(uint32_t interface) const;

private:
    struct Block {
        uint32_t type = 0;
        uint32_t size = 0;
    };

    bool read_block(Block& block);
    void read_interface(const Block& block);
    uint32_t word(const unsigned char* bytes) const;
    uint32_t most_of_section() const;
    uint16_t half(const unsigned char* bytes) const;

    int descriptor_ = -1;  // -1: nothing to walk over
    int64_t offset_ = 0;
    bool is_swapped_ = false;
    uint32_t first_of_section_ = 0;
    std::vector<std::string> names_;
};

}  // namespace tulle::cli
