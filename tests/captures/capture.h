// Reading a capture file into memory, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "wire/frame.h"

namespace tulle::wire {

using Captured = std::vector<std::byte>;

inline std::vector<Captured> read_capture(const std::filesystem::path& path) {
    char problem[PCAP_ERRBUF_SIZE] = {};
    const std::unique_ptr<pcap_t, decltype(&pcap_close)> capture(
        pcap_open_offline(path.c_str(), problem), pcap_close);
    EXPECT_TRUE(capture) << problem;
    std::vector<Captured> packets;
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    while (capture && pcap_next_ex(capture.get(), &header, &data) == 1) {
        const Bytes bytes = std::as_bytes(std::span(data, header->caplen));
        packets.emplace_back(bytes.begin(), bytes.end());
    }
    return packets;
}

}  // namespace tulle::wire
