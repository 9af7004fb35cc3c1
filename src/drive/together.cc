#include "drive/together.h"

#include <algorithm>
#include <mutex>

#include "drive/crew.h"

namespace tulle::drive {

std::vector<std::optional<base::Result<sim::Result>>> run_together(
    std::span<const sim::Setup> setups, const TogetherOptions& options) {
    std::vector<std::optional<base::Result<sim::Result>>> results(setups.size());
    std::atomic<size_t> next{0};
    std::mutex reports;
    const auto is_interrupted = [&] {
        return options.interrupt != nullptr && options.interrupt->load(std::memory_order_relaxed);
    };
    const auto work = [&] {
        for (size_t mine = next++; mine < setups.size() && !is_interrupted(); mine = next++) {
            Options how;
            how.interrupt = options.interrupt;
            how.explains = options.explains;
            how.on_begin = [&] {
                const std::scoped_lock lock(reports);
                if (options.on_begin) options.on_begin(mine);
            };
            how.on_progress = [&](const Progress& progress) {
                const std::scoped_lock lock(reports);
                if (options.on_progress) options.on_progress(mine, progress);
            };
            results[mine] = run(setups[mine], how);
            const std::scoped_lock lock(reports);
            if (options.on_end)
                options.on_end(mine, results[mine]->ok() ? &**results[mine] : nullptr);
        }
    };
    const size_t most = std::clamp<size_t>(options.workers, 1, std::max<size_t>(setups.size(), 1));
    work_together(static_cast<uint32_t>(most), [&](uint32_t, uint32_t) { work(); });
    return results;
}

}  // namespace tulle::drive
