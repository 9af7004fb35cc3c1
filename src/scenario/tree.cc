#include "scenario/tree.h"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace tulle::scenario {
namespace {

constexpr size_t kMostKeyBytes = 200;

uint32_t mark_line(const YAML::Mark& mark) {
    return static_cast<uint32_t>(std::max(mark.line, 0) + 1);
}

// What the parser says of the mistakes that people make most, in plain words.
std::string in_plain_words(const std::string& message) {
    using namespace YAML::ErrorMsg;
    const std::pair<const char*, const char*> sayings[] = {
        {END_OF_MAP, "this line begins further left or right than those it belongs to"},
        {END_OF_SEQ, "this line begins further left or right than those it belongs to"},
        {END_OF_MAP_FLOW, "a { is not closed by a }"},
        {END_OF_SEQ_FLOW, "a [ is not closed by a ]"},
        {TAB_IN_INDENTATION, "a tab indents this line; write spaces"},
        {MAP_VALUE,
         "a ':' cannot stand here; mind the indentation (no tabs), and put texts with ': ' in "
         "quotes"},
    };
    for (const auto& [parser, plain] : sayings)
        if (message == parser) return plain;
    return message;
}

// Builds the tree from the parser's events; keeps the first error.
class Builder : public YAML::EventHandler {
public:
    explicit Builder(std::string_view file) : file_(file) {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 1) fail(mark_line(mark), "a second document begins here; write one");
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        add(begin(mark, anchor, Value::Kind::nothing));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        begin(mark, anchor, {});
    }
    void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  const std::string& text) override {
        Value value = begin(mark, anchor, Value::Kind::text);
        value.text = text;
        add(std::move(value));
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open_.push_back({begin(mark, anchor, Value::Kind::list), std::nullopt});
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open_.push_back({begin(mark, anchor, Value::Kind::map), std::nullopt});
    }
    void OnMapEnd() override { close(); }

    base::Result<Value> take() {
        if (error_) return *error_;
        return std::move(root_);
    }

private:
    struct Frame {
        Value value;
        std::optional<Key> key;  // key of a map whose value comes next
    };

    Value begin(const YAML::Mark& mark, YAML::anchor_t anchor, Value::Kind kind) {
        Value value;
        value.kind = kind;
        value.line = mark_line(mark);
        if (anchor != 0) fail(value.line, "anchors and aliases are not read; write the value out");
        return value;
    }

    void close() {
        Value value = std::move(open_.back().value);
        open_.pop_back();
        std::vector<std::pair<std::string_view, uint32_t>> sorted;
        for (const Key& key : value.keys) sorted.emplace_back(key.name, key.line);
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                              [](auto& a, auto& b) { return a.first == b.first; });
        if (twice != sorted.end())
            fail((twice + 1)->second, fmt::format("'{}' is written twice; the first is in line {}",
                                                  twice->first, twice->second));
        add(std::move(value));
    }

    void add(Value value) {
        if (open_.empty()) {
            if (documents_ == 1) root_ = std::move(value);
            return;
        }
        Frame& frame = open_.back();
        if (frame.value.is_list() || frame.key) {
            // The parser places an empty value at what follows it.
            if (frame.key && value.kind == Value::Kind::nothing) value.line = frame.key->line;
            if (frame.key) frame.value.keys.push_back(std::move(*frame.key));
            frame.key.reset();
            frame.value.items.push_back(std::move(value));
            return;
        }
        if (!value.is_text() || value.text.size() > kMostKeyBytes)
            fail(value.line, "a key must be a word");
        frame.key = {std::move(value.text), value.line};
    }

    void fail(uint32_t line, std::string_view sentence) {
        if (!error_) error_ = located(file_, line, sentence);
    }

    std::string_view file_;
    std::vector<Frame> open_;
    Value root_;
    int documents_ = 0;
    std::optional<base::Error> error_;
};

// Writes flow style, because text between brackets may contain line breaks anywhere.
class Writer {
public:
    void write(const Value& value) {
        go_to(value.line);
        if (value.kind == Value::Kind::nothing) text_ += "~";
        if (value.is_text()) quote(value.text);
        if (value.is_list()) write_items(value, '[', ']');
        if (value.is_map()) write_items(value, '{', '}');
    }
    std::string take() { return std::move(text_); }

private:
    void write_items(const Value& value, char open, char close) {
        text_ += open;
        for (size_t i = 0; i < value.items.size(); ++i) {
            if (value.is_map()) {
                go_to(value.keys[i].line);
                quote(value.keys[i].name);
                text_ += ": ";
            }
            write(value.items[i]);
            text_ += ", ";
        }
        text_ += close;
    }

    void go_to(uint32_t line) {
        for (; line_ < line; ++line_) text_ += '\n';
    }

    void quote(std::string_view word) {
        text_ += '\'';
        for (const char c : word) {
            // A line break inside quotes is written as a space, a quote as two.
            text_ += c == '\n' ? ' ' : c;
            if (c == '\'') text_ += c;
        }
        text_ += '\'';
    }

    std::string text_;
    uint32_t line_ = 1;
};

}  // namespace

base::Error located(std::string_view file, uint32_t line, std::string_view sentence) {
    if (file == kCommandLine || line == kFromCommandLine)
        return {fmt::format("{}: {}", kCommandLine, sentence)};
    return {fmt::format("{}:{}: {}", file, line, sentence)};
}

const Value* Value::find(std::string_view key) const {
    for (size_t i = 0; i < keys.size(); ++i)
        if (keys[i].name == key) return &items[i];
    return nullptr;
}

base::Result<Value> parse_tree(std::string_view text, std::string_view file) {
    if (text.size() > kMostTextBytes)
        return located(file, 1,
                       fmt::format("the text has {} bytes; at most {} are read, and bulk traffic "
                                   "belongs into flow files",
                                   text.size(), kMostTextBytes));
    if (text.find('\0') != std::string_view::npos)
        return located(file, 1, "this is no text: it has bytes of zero");
    Builder builder(file);
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        // Not a third time: at a stray comma the parser finds empty documents for ever.
        if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
    } catch (const YAML::DeepRecursion& e) {
        return located(
            file, mark_line(e.mark),
            fmt::format("lists and maps are nested {} deep; write fewer levels", e.depth()));
    } catch (const YAML::Exception& e) {
        return located(file, mark_line(e.mark),
                       fmt::format("this is no YAML: {}", in_plain_words(e.msg)));
    } catch (const std::exception& e) {
        return located(file, 1, fmt::format("this is no YAML: {}", e.what()));
    }
    auto tree = builder.take();
    if (tree && tree->kind == Value::Kind::nothing) tree->kind = Value::Kind::map;
    if (tree && tree->line == 0) tree->line = 1;
    return tree;
}

std::string to_yaml(const Value& value) {
    Writer writer;
    writer.write(value);
    return writer.take();
}

}  // namespace tulle::scenario
