// The part of XML that NCCL's files need: elements with attributes, read tag by tag. Text between
// tags, comments, declarations, and entities other than the five usual ones are skipped.
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
    bool is_end = false;   // </name>; also set for <name .../>
    std::vector<std::pair<std::string_view, std::string_view>> attributes;

    std::string_view attribute(std::string_view key) const;
};

class XmlReader {
public:
    explicit XmlReader(std::string_view text) : rest_(text) {}

    // Returns false at the end, or if the text is not XML: see complaint().
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
