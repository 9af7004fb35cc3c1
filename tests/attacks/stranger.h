// A program that speaks the handshake of processes, and need not keep to it.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "live/board.h"
#include "live/meeting.h"
#include "live/record.h"
#include "live/ring.h"
#include "live/shared_memory.h"

namespace tulle::live {

class Stranger {
public:
    explicit Stranger(const Realm& its_world) : world(its_world), door(Door::open(world)) {
        using Peers = SharedMemory::Peers;
        board_memory = SharedMemory::create(sizeof(Board), Peers::read);
        grants_memory = SharedMemory::create(sizeof(Grants), Peers::read);
        bell = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        card.instance = 0x5712'a46e'0000'0001 + static_cast<uint64_t>(getpid());
        card.slot = door ? door->slot() : 0;
        card.board = board_memory.file();
        card.grants = grants_memory.file();
        card.bell = bell.get();
        board().magic = kBoardMagic;
        board().instance = card.instance;
        board().gid_count = 1;
        board().port_count = 1;
        grants().magic = kGrantsMagic;
        new_ring();
    }

    Board& board() { return *reinterpret_cast<Board*>(board_memory.data()); }
    Grants& grants() { return *reinterpret_cast<Grants*>(grants_memory.data()); }
    RingMemory& ring() { return *reinterpret_cast<RingMemory*>(ring_memory.data()); }

    void new_ring() {
        ring_memory = SharedMemory::create(sizeof(RingMemory), SharedMemory::Peers::write);
        card.ring = ring_memory.file();
        writer = RingWriter(&ring());
    }
    // Whoever listens in this slot gets the card; what it answers with.
    std::optional<Introduction> call(uint32_t slot, bool gives_all = true) {
        auto line = reach(world, slot);
        if (!line || !send_card(line->socket.get(), card, gives_all)) return std::nullopt;
        const int socket = line->socket.get();
        await_answers(std::span(&socket, 1), base::Duration{5'000'000'000'000});
        return read_answer(std::move(line->socket));
    }
    void answer_callers() {
        while (Descriptor caller = door->accept(card)) callers.push_back(std::move(caller));
    }
    // The next one has a millisecond to come.
    void await_callers() {
        pollfd waits{door->socket(), POLLIN, 0};
        poll(&waits, 1, 1);
        answer_callers();
    }

    void put(std::span<const std::byte> record) {
        std::byte* place = writer.reserve(record.size());
        if (place == nullptr) return;
        std::memcpy(place, record.data(), record.size());
        writer.publish();
    }
    // A WRITE into the reader's memory, as if it had been allowed.
    void put_write(uint64_t address, std::span<const std::byte> bytes) {
        const WriteRecord head{{RecordKind::write}, address};
        std::vector<std::byte> record(sizeof head + bytes.size());
        std::memcpy(record.data(), &head, sizeof head);
        std::memcpy(record.data() + sizeof head, bytes.data(), bytes.size());
        put(record);
    }

    Realm world;
    std::optional<Door> door;
    SharedMemory board_memory;
    SharedMemory grants_memory;
    SharedMemory ring_memory;
    Descriptor bell;
    Card card;
    RingWriter writer;
    std::vector<Descriptor> callers;
};

}  // namespace tulle::live
