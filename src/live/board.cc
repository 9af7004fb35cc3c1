#include "live/board.h"

namespace tulle::live {

void put_region(Board& board, uint32_t rkey, uint32_t pd, uint32_t access, uint64_t address,
                uint64_t length, uint64_t host) {
    if (rkey == 0) return;
    for (uint32_t probe = 0; probe < kRegionProbes; ++probe) {
        RegionNote& note = board.regions[region_place(rkey, probe)];
        if (note.rkey.load() != 0) continue;
        note.pd.store(pd);
        note.access.store(access);
        note.address.store(address);
        note.length.store(length);
        note.host.store(host);
        note.rkey.store(rkey);
        return;
    }
}

bool remove_region(Board& board, uint32_t rkey) {
    for (uint32_t probe = 0; probe < kRegionProbes; ++probe) {
        RegionNote& note = board.regions[region_place(rkey, probe)];
        if (rkey == 0 || note.rkey.load() != rkey) continue;
        note.rkey.store(0);
        return true;
    }
    return false;
}

}  // namespace tulle::live
