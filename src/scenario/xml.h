// XML as far as files of NCCL need it: elements with attributes, one tag after the other. Text
// between tags, comments, declarations and entities other than the five usual ones are passed over.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tulle::scenario {

struct XmlTag {
    uint32_t line = 0;
    std::string_view name;
    bool is_begin = true;  // <name ...>
    bool is_end = false;   // </name>, or <name .../> besides
    std::vector<std::pair<std::string_view, std::string_view>> attributes;

    std::string_view attribute(std::string_view key) const;
};

class XmlReader {
public:
    explicit XmlReader(std::string_view text) : rest_(text) {}

    // False at the end, and where the text is no XML: see complaint().
    bool next(XmlTag& tag);
    std::string_view complaint() const { return complaint_; }  // empty: none
    uint32_t line() const { return line_; }

private:
    bool fail(std::string_view sentence) {
        complaint_ = sentence;
        return false;
    }
    void advance(size_t count);
    bool skip(std::string_view until);
    bool read_attributes(XmlTag& tag);

    std::string_view rest_;
    uint32_t line_ = 1;
    std::string_view complaint_;
};

}  // namespace tulle::scenario
