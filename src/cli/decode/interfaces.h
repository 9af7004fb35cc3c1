// Which interface each packet of a pcapng file was captured at.
//
// libpcap reads such files but does not tell, so this walks over the same blocks beside it: the
// section header (0x0a0d0d0a), interface descriptions (1), and the three kinds of packet blocks (6,
// 3 and the obsolete 2) of the pcapng draft of the IETF's opsawg. A file that is not pcapng has one
// interface without a name, and so has a pipe, which cannot be read twice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tulle::cli {

class Interfaces {
public:
    Interfaces() = default;
    // Reads with pread(), so the descriptor stays where it stands.
    explicit Interfaces(int descriptor);

    // The interface of the next packet; 0 where nobody knows.
    uint32_t next();

    // So far; interfaces of later sections count on.
    size_t count() const { return names_.size(); }
    // Empty where it has none.
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

    int descriptor_ = -1;  // -1: there is nothing to walk over
    int64_t offset_ = 0;
    bool is_swapped_ = false;
    uint32_t first_of_section_ = 0;
    std::vector<std::string> names_;
};

}  // namespace tulle::cli
