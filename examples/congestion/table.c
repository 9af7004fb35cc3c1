/* A table that was learned: once in the time of the shortest round trip the rate is multiplied by
 * an entry, which is found by how long the newest round trip is, in parts of the shortest, and by
 * whether a CNP came. The entries are in table.h; learn.py wrote them and says there on what they
 * were learned.
 */
#include <tulle/congestion.h>

#include "table.h"

struct settings {
    double line;
    double factor[2 * ROUND_TRIPS]; /* without a CNP, then with one */
};

struct flow {
    double rate;
    int64_t shortest, moved_at;
    int was_notified;
};

/* "table=105+98+...": percent, while it is being learned. */
static const char* read_table(struct settings* s, const char* text) {
    for (int i = 0; i < 2 * ROUND_TRIPS; ++i) {
        char* end = NULL;
        s->factor[i] = strtod(text, &end) / 100;
        if (end == text || !(s->factor[i] > 0)) return "table is too short";
        text = *end == '+' ? end + 1 : end;
    }
    return NULL;
}

static const char* configure(void* memory, const struct tulle_cc_host* host) {
    struct settings* s = memory;
    if (tulle_cc_has_other(host->parameters, "table")) return "its only parameter is table";
    const char* table = strstr(host->parameters, "table=");
    s->line = (double)host->line_rate_bps;
    return read_table(s, table != NULL ? table + strlen("table=") : LEARNED);
}

static void start(const void* settings, void* memory, uint64_t number,
                  struct tulle_cc_decision* out) {
    struct flow* f = memory;
    (void)number;
    out->rate_bps = f->rate = ((const struct settings*)settings)->line;
}

static int entry_of(const struct flow* f, int64_t round_trip) {
    int bucket = 0;
    while (bucket < ROUND_TRIPS - 1 &&
           (double)round_trip >= kRoundTrips[bucket] * (double)f->shortest)
        ++bucket;
    return bucket + (f->was_notified ? ROUND_TRIPS : 0);
}

static void on_event(const void* settings, void* memory, const struct tulle_cc_event* event,
                     struct tulle_cc_decision* out) {
    const struct settings* s = settings;
    struct flow* f = memory;
    const int64_t round_trip = event->round_trip_ps;
    if (event->kind == TULLE_CC_SENT) out->probe = 1; /* every packet, for want of a better rule */
    if (event->kind == TULLE_CC_CNP || event->kind == TULLE_CC_BECN) f->was_notified = 1;
    if (event->kind != TULLE_CC_ACK || round_trip <= 0) return;
    if (f->shortest == 0 || round_trip < f->shortest) f->shortest = round_trip;
    if (event->now_ps - f->moved_at < f->shortest) return;
    f->moved_at = event->now_ps;
    f->rate *= s->factor[entry_of(f, round_trip)];
    f->was_notified = 0;
    if (f->rate > s->line) f->rate = s->line;
    if (f->rate < s->line / 1000) f->rate = s->line / 1000;
    out->rate_bps = f->rate;
}

const struct tulle_cc_algorithm tulle_congestion = {
    .version = TULLE_CONGESTION_VERSION,
    .name = "learned table",
    .settings_bytes = sizeof(struct settings),
    .flow_bytes = sizeof(struct flow),
    .configure = configure,
    .start = start,
    .on_event = on_event,
};
