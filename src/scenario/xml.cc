#include "scenario/xml.h"

#include <algorithm>

namespace tulle::scenario {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kEndOfName = " \t\r\n=/>\"'<";

}  // namespace

std::string_view XmlTag::attribute(std::string_view key) const {
    for (const auto& [name_of_attribute, value] : attributes)
        if (name_of_attribute == key) return value;
    return {};
}

void XmlReader::advance(size_t count) {
    line_ += static_cast<uint32_t>(std::count(rest_.begin(), rest_.begin() + count, '\n'));
    rest_.remove_prefix(count);
}

bool XmlReader::skip(std::string_view until) {
    const size_t end = rest_.find(until);
    if (end == std::string_view::npos) return fail("something begins here that never ends");
    advance(end + until.size());
    return true;
}

bool XmlReader::next(XmlTag& tag) {
    if (!complaint_.empty()) return false;
    while (true) {
        const size_t begin = rest_.find('<');
        if (begin == std::string_view::npos) return false;
        advance(begin);
        if (rest_.starts_with("<!--")) {
            if (!skip("-->")) return false;
        } else if (rest_.starts_with("<?") || rest_.starts_with("<!")) {
            if (!skip(">")) return false;
        } else {
            break;
        }
    }
    advance(1);
    tag = {};
    tag.line = line_;
    if (rest_.starts_with('/')) {
        tag.is_begin = false;
        tag.is_end = true;
        advance(1);
    }
    const size_t end = std::min(rest_.find_first_of(kEndOfName), rest_.size());
    if (end == 0) return fail("a tag without a name begins here");
    tag.name = rest_.substr(0, end);
    advance(end);
    return read_attributes(tag);
}

bool XmlReader::read_attributes(XmlTag& tag) {
    while (true) {
        advance(std::min(rest_.find_first_not_of(kSpaces), rest_.size()));
        if (rest_.starts_with('/')) {
            tag.is_end = true;
            advance(1);
            continue;
        }
        if (rest_.starts_with('>')) {
            advance(1);
            return true;
        }
        const size_t end = std::min(rest_.find_first_of(kEndOfName), rest_.size());
        const std::string_view name = rest_.substr(0, end);
        advance(end);
        if (name.empty() || !rest_.starts_with('=')) return fail("an attribute lacks its value");
        advance(1);
        const char quote = rest_.empty() ? ' ' : rest_.front();
        const size_t close = rest_.find(quote, 1);
        if ((quote != '"' && quote != '\'') || close == std::string_view::npos)
            return fail("the value of an attribute lacks its quotes");
        tag.attributes.emplace_back(name, rest_.substr(1, close - 1));
        advance(close + 1);
    }
}

}  // namespace tulle::scenario
