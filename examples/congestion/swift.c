/* A window that follows the round trip, after Swift ("Delay is Simple and Effective for Congestion
 * Control in the Datacenter", SIGCOMM 2020), without flow scaling: below the target the window
 * grows by `increase` packets in a round trip, above it it is cut by how far, once in a round trip.
 *
 * A window below one packet is one packet, and a rate: so much of a packet in a round trip. The
 * defaults are chosen, for hosts under one switch at 400 Gb/s.
 */
#include <math.h>
#include <tulle/congestion.h>

struct settings {
    double target_ps, increase, beta, most_cut, least, most;
    double first;
};

struct flow {
    double window; /* packets */
    double packet_bits;
    int64_t round_trip, cut_at;
};

static const char* configure(void* memory, const struct tulle_cc_host* host) {
    struct settings* s = memory;
    const char* p = host->parameters;
    if (tulle_cc_has_other(p, "target_us increase beta most_cut least most first"))
        return "its parameters are target_us, increase, beta, most_cut, least, most and first";
    s->target_ps = tulle_cc_parameter(p, "target_us", 12) * 1e6;
    s->increase = tulle_cc_parameter(p, "increase", 1);
    s->beta = tulle_cc_parameter(p, "beta", 0.8);
    s->most_cut = tulle_cc_parameter(p, "most_cut", 0.5);
    s->least = tulle_cc_parameter(p, "least", 0.01);
    s->most = tulle_cc_parameter(p, "most", 1000);
    s->first = tulle_cc_parameter(p, "first", 64);
    if (!(s->target_ps > 0)) return "target_us is not above 0";
    if (!(s->least > 0 && s->least <= s->most)) return "least is not above 0 and at most `most`";
    if (!(s->most_cut > 0 && s->most_cut < 1)) return "most_cut is not between 0 and 1";
    return NULL;
}

static void decide(const struct settings* s, struct flow* f, struct tulle_cc_decision* out) {
    f->window = fmin(fmax(f->window, s->least), s->most);
    out->window_packets = fmax(f->window, 1);
    const int is_paced = f->window < 1 && f->round_trip > 0 && f->packet_bits > 0;
    out->rate_bps =
        is_paced ? f->packet_bits * f->window * 1e12 / (double)f->round_trip : INFINITY;
}

static void start(const void* settings, void* memory, uint64_t number,
                  struct tulle_cc_decision* out) {
    struct flow* f = memory;
    (void)number;
    f->window = ((const struct settings*)settings)->first;
    f->cut_at = INT64_MIN / 2;
    decide(settings, f, out);
}

static void cut(const struct settings* s, struct flow* f, int64_t now, double part) {
    if (now - f->cut_at < f->round_trip) return;
    f->cut_at = now;
    f->window *= 1 - fmin(part, s->most_cut);
}

static void on_ack(const struct settings* s, struct flow* f, const struct tulle_cc_event* event) {
    if (event->round_trip_ps > 0) f->round_trip = event->round_trip_ps;
    if (f->round_trip == 0) return;
    const double delay = (double)f->round_trip;
    if (delay > s->target_ps)
        cut(s, f, event->now_ps, s->beta * (delay - s->target_ps) / delay);
    else
        f->window += s->increase * event->acknowledged_packets / fmax(f->window, 1);
}

static void on_event(const void* settings, void* memory, const struct tulle_cc_event* event,
                     struct tulle_cc_decision* out) {
    const struct settings* s = settings;
    struct flow* f = memory;
    switch (event->kind) {
        case TULLE_CC_SENT: f->packet_bits = 8.0 * event->bytes; break;
        case TULLE_CC_ACK: on_ack(s, f, event); break;
        case TULLE_CC_NACK:
        case TULLE_CC_TIMEOUT: cut(s, f, event->now_ps, s->most_cut); break;
        default: return;
    }
    decide(s, f, out);
}

const struct tulle_cc_algorithm tulle_congestion = {
    .version = TULLE_CONGESTION_VERSION,
    .name = "swift",
    .settings_bytes = sizeof(struct settings),
    .flow_bytes = sizeof(struct flow),
    .configure = configure,
    .start = start,
    .on_event = on_event,
};
