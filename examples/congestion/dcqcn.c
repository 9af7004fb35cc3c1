/* DCQCN as adapters do it ("Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015):
 * what Tulle has as `dcqcn`, as a plug-in. With the same values a run finds the same, to the
 * picosecond; tests/cli/plugin_test.py holds that. The values are those of
 * profiles/roce-v2-400g.yaml.
 *
 * A CNP lowers the rate by half of alpha, an average of how often CNPs come. Without them alpha
 * falls, and a timer and a byte counter raise the rate: half way back to the target, then the
 * target rises too. No timer ticks: what was missed is made up for when a packet leaves or a CNP
 * comes.
 */
#include <tulle/congestion.h>

#define ALPHA_ONE (1u << 30)
#define GAIN_ONE (1u << 16)
#define NEVER INT64_MAX
#define MOST_STAGE 255

struct settings {
    uint64_t line, least, first, additive, hyper; /* bits a second */
    int64_t alpha_interval, decrease_interval, increase_interval;
    uint32_t increase_bytes, gain, initial_alpha, fast_steps;
};

struct flow {
    uint64_t rate, target;
    int64_t next_alpha, next_check, next_increase;
    uint32_t alpha, bytes_left, time_stage, byte_stage;
    int is_active, is_pending, raises_alpha;
};

static const char* configure(void* memory, const struct tulle_cc_host* host) {
    struct settings* s = memory;
    const char* p = host->parameters;
    const double us = 1e6;
    if (tulle_cc_has_other(p, "min_rate first_rate additive hyper alpha_interval_us "
                              "decrease_interval_us increase_interval_us increase_bytes gain "
                              "fast_recovery_steps"))
        return "one of its parameters is unknown; dcqcn.c lists them";
    s->line = host->line_rate_bps;
    s->least = (uint64_t)tulle_cc_parameter(p, "min_rate", 1e6);
    s->first = (uint64_t)tulle_cc_parameter(p, "first_rate", (double)(s->line / 100 * 85));
    s->additive = (uint64_t)tulle_cc_parameter(p, "additive", 5e6);
    s->hyper = (uint64_t)tulle_cc_parameter(p, "hyper", 50e6);
    s->alpha_interval = (int64_t)(tulle_cc_parameter(p, "alpha_interval_us", 1) * us);
    s->decrease_interval = (int64_t)(tulle_cc_parameter(p, "decrease_interval_us", 4) * us);
    s->increase_interval = (int64_t)(tulle_cc_parameter(p, "increase_interval_us", 300) * us);
    s->increase_bytes = (uint32_t)tulle_cc_parameter(p, "increase_bytes", 32767 * 64);
    s->gain = (uint32_t)(tulle_cc_parameter(p, "gain", 5.0 / 1024) * GAIN_ONE);
    s->initial_alpha = ALPHA_ONE / 1024 * 1023;
    s->fast_steps = (uint32_t)tulle_cc_parameter(p, "fast_recovery_steps", 1);
    if (s->least == 0 || s->least > s->line) return "min_rate is not above 0 and within the line's";
    if (s->alpha_interval <= 0 || s->decrease_interval <= 0 || s->increase_interval <= 0 ||
        s->increase_bytes == 0)
        return "intervals are above 0";
    return NULL;
}

static void start(const void* settings, void* memory, uint64_t number,
                  struct tulle_cc_decision* out) {
    const struct settings* s = settings;
    struct flow* f = memory;
    (void)number;
    f->rate = f->target = s->line;
    f->next_increase = NEVER;
    out->rate_bps = (double)f->rate;
}

static uint32_t later_stage(uint32_t stage, int64_t steps) {
    return stage + steps < MOST_STAGE ? stage + (uint32_t)steps : MOST_STAGE;
}

/* Ticks from `next` on that are not after `until`. */
static int64_t ticks_until(int64_t next, int64_t until, int64_t interval) {
    return until < next ? 0 : (until - next) / interval + 1;
}

static void move_alpha(const struct settings* s, struct flow* f, int up) {
    const uint64_t kept = (uint64_t)f->alpha * (GAIN_ONE - s->gain) / GAIN_ONE;
    f->alpha = (uint32_t)kept + (up ? s->gain * (ALPHA_ONE / GAIN_ONE) : 0);
}

static void advance_alpha(const struct settings* s, struct flow* f, int64_t now) {
    const int64_t ticks = ticks_until(f->next_alpha, now, s->alpha_interval);
    if (ticks == 0) return;
    f->next_alpha += s->alpha_interval * ticks;
    move_alpha(s, f, f->raises_alpha);
    f->raises_alpha = 0;
    for (int64_t i = 1; i < ticks && f->alpha != 0; ++i) move_alpha(s, f, 0);
}

static void decrease(const struct settings* s, struct flow* f, int64_t at) {
    advance_alpha(s, f, at);
    if (f->time_stage != 0) f->target = f->rate;
    const unsigned __int128 kept = (unsigned __int128)f->rate * (2ull * ALPHA_ONE - f->alpha);
    const uint64_t rate = (uint64_t)(kept / (2ull * ALPHA_ONE));
    f->rate = rate > s->least ? rate : s->least;
    f->time_stage = f->byte_stage = 0;
    f->bytes_left = s->increase_bytes;
    f->next_increase = at + s->increase_interval;
    f->next_check = at + s->decrease_interval;
    f->is_pending = 0;
}

static void increase(const struct settings* s, struct flow* f) {
    const uint32_t least = f->time_stage < f->byte_stage ? f->time_stage : f->byte_stage;
    const uint32_t most = f->time_stage > f->byte_stage ? f->time_stage : f->byte_stage;
    if (least > s->fast_steps)
        f->target += s->hyper;
    else if (most >= s->fast_steps)
        f->target += s->additive;
    if (f->target > s->line) f->target = s->line;
    f->rate = (f->rate + f->target + 1) / 2;
}

static int64_t check_due(const struct flow* f) { return f->is_pending ? f->next_check : NEVER; }

static void advance(const struct settings* s, struct flow* f, int64_t now) {
    const int increase_first = s->increase_interval > s->decrease_interval;
    for (;;) {
        const int64_t check = check_due(f);
        const int increases =
            f->next_increase < check || (f->next_increase == check && increase_first);
        if ((increases ? f->next_increase : check) > now || (!increases && check == NEVER)) return;
        if (!increases) {
            decrease(s, f, check);
        } else if (f->rate == s->line) { /* ticks count stages, and change nothing else */
            const int64_t before = increase_first ? check : check - 1;
            const int64_t ticks = ticks_until(f->next_increase, now < before ? now : before,
                                              s->increase_interval);
            f->next_increase += s->increase_interval * ticks;
            f->time_stage = later_stage(f->time_stage, ticks);
        } else {
            f->next_increase += s->increase_interval;
            increase(s, f);
            f->time_stage = later_stage(f->time_stage, 1);
        }
    }
}

static void on_cnp(const struct settings* s, struct flow* f, int64_t now) {
    if (!f->is_active) { /* the first one starts all timers */
        f->is_active = f->is_pending = 1;
        f->alpha = s->initial_alpha;
        f->next_alpha = now + s->alpha_interval;
        f->rate = f->target = s->first < s->line ? s->first : s->line;
        f->next_check = now + s->decrease_interval;
        return;
    }
    advance_alpha(s, f, now);
    if (!f->is_pending) {
        f->next_check +=
            s->decrease_interval * ticks_until(f->next_check, now, s->decrease_interval);
        f->is_pending = 1;
    }
    f->raises_alpha = 1;
}

/* When the bits of a packet have passed at the rates of the ticks to come. */
static int64_t paced_through_ticks(const struct settings* s, const struct flow* f, int64_t now,
                                   uint32_t bytes) {
    struct flow later = *f;
    unsigned __int128 left = (unsigned __int128)bytes * 8000000000000ull;
    for (int64_t at = now;;) {
        const int64_t end = at + (int64_t)(left / later.rate);
        const int64_t check = check_due(&later);
        const int64_t tick = later.next_increase < check ? later.next_increase : check;
        if (end <= tick || later.rate == s->line) return end;
        left -= (unsigned __int128)(uint64_t)(tick - at) * later.rate;
        at = tick;
        advance(s, &later, at);
    }
}

static void on_sent(const struct settings* s, struct flow* f, int64_t now, uint32_t bytes,
                    struct tulle_cc_decision* out) {
    if (f->bytes_left != 0) {
        if (bytes < f->bytes_left) {
            f->bytes_left -= bytes;
        } else {
            f->bytes_left = s->increase_bytes;
            increase(s, f);
            f->byte_stage = later_stage(f->byte_stage, 1);
        }
    }
    const int64_t next = now + (int64_t)(bytes * 8000000000000ull / f->rate);
    out->next_at_ps = next > f->next_increase ? paced_through_ticks(s, f, now, bytes) : next;
}

static void on_event(const void* settings, void* memory, const struct tulle_cc_event* event,
                     struct tulle_cc_decision* out) {
    const struct settings* s = settings;
    struct flow* f = memory;
    switch (event->kind) {
        case TULLE_CC_SENT:
            advance(s, f, event->now_ps);
            on_sent(s, f, event->now_ps, event->bytes, out);
            break;
        case TULLE_CC_CNP:
        case TULLE_CC_BECN:
            advance(s, f, event->now_ps);
            on_cnp(s, f, event->now_ps);
            break;
        default: return;
    }
    out->rate_bps = (double)f->rate;
}

const struct tulle_cc_algorithm tulle_congestion = {
    .version = TULLE_CONGESTION_VERSION,
    .name = "dcqcn",
    .settings_bytes = sizeof(struct settings),
    .flow_bytes = sizeof(struct flow),
    .configure = configure,
    .start = start,
    .on_event = on_event,
};
