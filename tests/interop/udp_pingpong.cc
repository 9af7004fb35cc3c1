// Eight bytes by UDP, there and back, both ends spinning: what a program can reach without RDMA.
//
// usage: udp_pingpong PORT               answers until it is killed
//        udp_pingpong PORT HOST ROUNDS   prints half a round trip in microseconds, the median
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

void receive(int file, sockaddr_in* from) {
    uint64_t word = 0;
    socklen_t length = sizeof *from;
    auto* address = reinterpret_cast<sockaddr*>(from);
    while (recvfrom(file, &word, sizeof word, MSG_DONTWAIT, address, &length) < 0) continue;
}

void send(int file, const sockaddr_in& to) {
    const uint64_t word = 1;
    (void)sendto(file, &word, sizeof word, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

}  // namespace

int main(int count, char** words) {
    if (count != 2 && count != 4) return 2;
    const int file = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_port = htons(static_cast<uint16_t>(std::atoi(words[1])));
    if (count == 2) {
        if (bind(file, reinterpret_cast<sockaddr*>(&peer), sizeof peer) != 0) return 1;
        for (;;) {
            receive(file, &peer);
            send(file, peer);
        }
    }
    inet_pton(AF_INET, words[2], &peer.sin_addr);
    const int rounds = std::atoi(words[3]);
    std::vector<double> halves;
    double before = now();
    for (int i = 0; i < rounds; ++i) {
        sockaddr_in from{};
        send(file, peer);
        receive(file, &from);
        const double after = now();
        halves.push_back((after - before) / 2);
        before = after;
    }
    std::ranges::nth_element(halves, halves.begin() + rounds / 2);
    std::printf("%.3f\n", halves[static_cast<size_t>(rounds / 2)]);
    return 0;
}
