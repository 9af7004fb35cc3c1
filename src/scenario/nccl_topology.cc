#include "scenario/nccl_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "scenario/xml.h"

namespace tulle::scenario {
namespace {

// 10^6 bytes a second of one NVLink, by architecture: NVIDIA/nccl src/graph/topo.h.
constexpr std::pair<uint32_t, uint64_t> kLinkRates[] = {{60, 18'000}, {70, 20'000}, {80, 20'000},
                                                        {86, 12'000}, {90, 20'600}, {100, 40'100}};

uint64_t link_rate(uint32_t architecture) {
    uint64_t rate = kLinkRates[0].second;
    for (const auto& [from, mbps] : kLinkRates)
        if (architecture >= from) rate = mbps;
    return rate;
}

uint64_t whole_number(std::string_view text) {
    uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// As NCCL: width x speed / 80 GB/s, where speed is in transfers a second. An unknown speed is 8
// GT/s, a missing width is 16.
uint64_t pcie_rate(const XmlTag& tag) {
    constexpr std::pair<std::string_view, uint64_t> kSpeeds[] = {
        {"2.5 GT/s", 15},   {"5 GT/s", 30},   {"5.0 GT/s", 30},   {"8 GT/s", 60},
        {"8.0 GT/s", 60},   {"16 GT/s", 120}, {"16.0 GT/s", 120}, {"32 GT/s", 240},
        {"32.0 GT/s", 240}, {"64 GT/s", 480}, {"64.0 GT/s", 480}};
    uint64_t speed = 60;
    const std::string_view named = tag.attribute("link_speed");
    for (const auto& [text, value] : kSpeeds)
        if (named.starts_with(text)) speed = value;
    uint64_t width = whole_number(tag.attribute("link_width"));
    if (width == 0 || width > 64) width = 16;
    return width * speed * 1000 / 80;
}

class ServerReader {
public:
    ServerReader(std::string_view text, const std::string& file) : xml_(text), file_(file) {}

    base::Result<NcclServer> read() {
        XmlTag tag;
        while (xml_.next(tag))
            if (auto error = take(tag)) return *error;
        if (!xml_.complaint().empty()) return wrong(xml_.line(), xml_.complaint());
        if (!open_.empty())
            return wrong(xml_.line(), fmt::format("<{}> is never closed; is it all of the file?",
                                                  open_.back().name));
        if (!saw_system_)
            return wrong(1, "there is no <system>; write the file with NCCL_TOPO_DUMP_FILE");
        if (server_.gpus == 0 && outline_gpus_ == 0 && unknown_devices_ > 0)
            return wrong(1, fmt::format("it names {} PCI devices but not what they are, which NCCL "
                                        "asks the machine; take a file that NCCL wrote "
                                        "(NCCL_TOPO_DUMP_FILE), or leave out server and write "
                                        "per_server, per_nic and scale_up",
                                        unknown_devices_));
        if (server_.gpus == 0 && outline_gpus_ > 0) {
            server_.is_outline = true;
            server_.gpus = outline_gpus_;
            if (server_.adapters == 0) server_.adapters = outline_adapters_;
        }
        if (server_.gpus == 0) return wrong(1, "there is no <gpu> in the file");
        if (server_.adapters == 0)
            return wrong(1,
                         "there is no <net> in the file, so the server has no adapter; dump it "
                         "on a server that has one");
        return server_;
    }

private:
    struct Open {
        std::string name;
        uint64_t pcie = 0;  // slowest link from here to the processor
        uint32_t links = 0;
        std::set<std::string> linked{};  // GPUs at the other ends
        bool has_switch = false;         // there
        std::string pci_class{};
        bool is_known = false;  // what it is: a <gpu> or <nic> is inside
    };

    base::Error wrong(uint32_t line, std::string_view sentence) const {
        return {fmt::format("{}:{}: {}", file_, line, sentence)};
    }

    std::optional<base::Error> take(const XmlTag& tag) {
        constexpr size_t kMostDepth = 64;
        constexpr uint64_t kMostLinks = 1000;
        if (tag.is_begin) {
            Open open{std::string(tag.name), open_.empty() ? 0 : open_.back().pcie, 0};
            if (!open_.empty()) open_.back().is_known = true;
            if (tag.name == "system") saw_system_ = true;
            if (tag.name == "graphs")
                return wrong(tag.line,
                             "these are rings and trees for NCCL_GRAPH_FILE; give the file for "
                             "NCCL_TOPO_FILE");
            if (tag.name == "pci") {
                open.pci_class = tag.attribute("class");
                const uint64_t own = pcie_rate(tag);
                open.pcie = open.pcie == 0 ? own : std::min(open.pcie, own);
            }
            if (tag.name == "net") ++server_.adapters;
            if (tag.name == "nvlink" && !open_.empty()) {
                const uint64_t count = whole_number(tag.attribute("count"));
                if (count == 0 || count > kMostLinks)
                    return wrong(tag.line,
                                 fmt::format("count of <nvlink> is '{}'; write the number of "
                                             "links, 1 to {}",
                                             tag.attribute("count").substr(0, 40), kMostLinks));
                open_.back().links += static_cast<uint32_t>(count);
                take_far_end(tag, open_.back());
            }
            if (tag.name == "gpu" && !tag.attribute("dev").empty() &&
                !devices_.insert(std::string(tag.attribute("dev"))).second)
                return wrong(tag.line, fmt::format("there are two <gpu> with dev '{}'",
                                                   tag.attribute("dev").substr(0, 40)));
            if (tag.name == "gpu")
                architecture_ = static_cast<uint32_t>(
                    std::min<uint64_t>(999, whole_number(tag.attribute("sm"))));
            open_.push_back(std::move(open));
            if (open_.size() > kMostDepth) return wrong(tag.line, "tags are nested too deep");
        }
        if (!tag.is_end) return std::nullopt;
        if (open_.empty() || open_.back().name != tag.name)
            return wrong(tag.line, fmt::format("</{}> closes what is not open; <{}> is", tag.name,
                                               open_.empty() ? "nothing" : open_.back().name));
        if (tag.name == "gpu") take_gpu(open_.back());
        if (tag.name == "pci" && !open_.back().is_known) take_device(open_.back());
        open_.pop_back();
        return std::nullopt;
    }

    // NVLinks lead to a switch, unless the class says that they lead to a GPU.
    static void take_far_end(const XmlTag& link, Open& gpu) {
        if (link.attribute("tclass").starts_with("0x03"))
            gpu.linked.insert(std::string(link.attribute("target")));
        else
            gpu.has_switch = true;
    }

    // A PCI device of an outline: display controllers are GPUs, network controllers are adapters.
    void take_device(const Open& device) {
        if (device.pci_class.starts_with("0x03")) ++outline_gpus_;
        if (device.pci_class.starts_with("0x02")) ++outline_adapters_;
        if (device.pci_class.empty()) ++unknown_devices_;
    }

    void take_gpu(const Open& gpu) {
        const bool is_first = server_.gpus == 0;
        const auto linked = gpu.has_switch ? UINT32_MAX : static_cast<uint32_t>(gpu.linked.size());
        server_.neighbours = is_first ? linked : std::min(server_.neighbours, linked);
        server_.links = is_first ? gpu.links : std::min(server_.links, gpu.links);
        server_.pcie_mbps = is_first ? gpu.pcie : std::min(server_.pcie_mbps, gpu.pcie);
        server_.architecture = architecture_;
        ++server_.gpus;
    }

    XmlReader xml_;
    const std::string& file_;
    NcclServer server_;
    std::vector<Open> open_;
    std::set<std::string> devices_;  // dev of GPUs
    uint32_t outline_gpus_ = 0;
    uint32_t outline_adapters_ = 0;
    uint32_t unknown_devices_ = 0;  // without a class
    uint32_t architecture_ = 0;
    bool saw_system_ = false;
};

Value text_node(uint32_t line, std::string text) {
    Value value;
    value.kind = Value::Kind::text;
    value.line = line;
    value.text = std::move(text);
    return value;
}

void put(Value& map, std::string_view key, Value value) {
    if (map.find(key) != nullptr) return;
    map.keys.push_back({std::string(key), map.line});
    map.items.push_back(std::move(value));
}

Value map_of(uint32_t line, std::string_view key, Value value) {
    Value map;
    map.kind = Value::Kind::map;
    map.line = line;
    put(map, key, std::move(value));
    return map;
}

}  // namespace

uint64_t NcclServer::nvlink_mbps() const {
    return links * link_rate(architecture);
}

base::Result<NcclServer> read_nccl_topology(std::string_view text, const std::string& file) {
    return ServerReader(text, file).read();
}

base::Result<Value> gpus_of_server(const NcclServer& server, const Value& gpus) {
    const uint32_t adapters = server.adapters % server.gpus == 0 ? server.gpus : server.adapters;
    if (server.gpus % adapters != 0)
        return base::Error{
            fmt::format("server: it has {} GPUs and {} network ports, and ports that GPUs share "
                        "unevenly cannot be simulated; write per_server, per_nic and scale_up "
                        "instead of server",
                        server.gpus, server.adapters)};
    Value map = gpus;
    const uint32_t line = gpus.line;
    put(map, "per_server", text_node(line, std::to_string(server.gpus)));
    put(map, "per_nic", text_node(line, std::to_string(server.gpus / adapters)));
    if (server.gpus < 2 || map.find("scale_up") != nullptr) return map;
    if (server.is_outline)
        return base::Error{
            "server: the file names PCI devices only, as clouds give them to NCCL, and no links "
            "between GPUs; write scale_up, or take a file that NCCL wrote (NCCL_TOPO_DUMP_FILE)"};
    if (server.links > 0 && server.neighbours < server.gpus - 1)
        return base::Error{
            fmt::format("server: NVLinks lead from a GPU to {} of {} others, and only a network "
                        "between all can be simulated; write scale_up, for example pcie5",
                        server.neighbours, server.gpus - 1)};
    const uint64_t nvlink = server.nvlink_mbps();
    const std::string profile = nvlink == 0                  ? "pcie5"
                                : server.architecture >= 100 ? "nvlink5"
                                : server.architecture >= 90  ? "nvlink4"
                                                             : "nvlink3";
    const uint64_t rate = nvlink != 0 ? nvlink : server.pcie_mbps;
    Value scale_up = map_of(line, "profile", text_node(line, profile));
    put(scale_up, "fabric",
        map_of(line, "link",
               map_of(line, "rate", text_node(line, fmt::format("{}Mbps", rate * 8)))));
    put(map, "scale_up", std::move(scale_up));
    return map;
}

}  // namespace tulle::scenario
