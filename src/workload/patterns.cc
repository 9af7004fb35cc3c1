#include "workload/patterns.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace tulle::workload {
namespace {

std::vector<uint32_t> numbers_below(uint32_t count) {
    std::vector<uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

void add(std::vector<Message>& messages, uint32_t source, uint32_t destination, uint64_t bytes) {
    Message message;
    message.source = source;
    message.destination = destination;
    message.bytes = bytes;
    message.id = static_cast<uint32_t>(messages.size() + 1);
    messages.push_back(message);
}

}  // namespace

std::vector<Message> permutation(uint32_t hosts, uint32_t count, uint64_t bytes,
                                 base::RandomStream& random) {
    TULLE_CHECK(hosts >= 2 && count <= hosts);
    std::vector<uint32_t> destinations = numbers_below(hosts);
    for (uint32_t left = hosts - 1; left > 0; --left)
        std::swap(destinations[left], destinations[random.below(left)]);
    std::vector<uint32_t> senders = numbers_below(hosts);
    if (count < hosts) {
        random.shuffle(std::span(senders));
        senders.resize(count);
        std::sort(senders.begin(), senders.end());
    }
    std::vector<Message> messages;
    messages.reserve(count);
    for (const uint32_t sender : senders) add(messages, sender, destinations[sender], bytes);
    return messages;
}

std::vector<Message> incast(std::span<const uint32_t> sources, uint32_t destination,
                            uint64_t bytes) {
    std::vector<Message> messages;
    messages.reserve(sources.size());
    for (const uint32_t source : sources) {
        TULLE_CHECK(source != destination);
        add(messages, source, destination, bytes);
    }
    return messages;
}

std::vector<Message> shift(uint32_t hosts, uint32_t by, uint64_t bytes) {
    TULLE_CHECK(hosts >= 2 && by % hosts != 0);
    std::vector<Message> messages;
    messages.reserve(hosts);
    for (uint32_t i = 0; i < hosts; ++i)
        add(messages, i, static_cast<uint32_t>((uint64_t{i} + by) % hosts), bytes);
    return messages;
}

std::vector<Message> bisection(uint32_t hosts, uint64_t bytes, base::RandomStream& random) {
    std::vector<uint32_t> order = numbers_below(hosts);
    random.shuffle(std::span(order));
    std::vector<Message> messages;
    messages.reserve(hosts);
    for (uint32_t i = 0; i + 1 < hosts; i += 2) {
        add(messages, order[i], order[i + 1], bytes);
        add(messages, order[i + 1], order[i], bytes);
    }
    return messages;
}

}  // namespace tulle::workload
