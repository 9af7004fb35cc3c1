// Congestion controls that do what they must not; -DWRONG=... says what.
#include <math.h>
#include <tulle/congestion.h>

static const char* configure(void* settings, const struct tulle_cc_host* host) {
    (void)settings;
#ifdef REFUSES
    (void)host;
    return REFUSES;
#endif
    return strcmp(host->parameters, "refused") == 0 ? "it wants no parameters" : NULL;
}

static void start(const void* settings, void* flow, uint64_t number,
                  struct tulle_cc_decision* decision) {
    (void)settings, (void)flow, (void)number, (void)decision;
}

static void on_event(const void* settings, void* flow, const struct tulle_cc_event* event,
                     struct tulle_cc_decision* decision) {
    (void)settings, (void)flow, (void)decision;
    if (event->kind != TULLE_CC_ACK) return;
    WRONG;
}

#ifndef VERSION
#define VERSION TULLE_CONGESTION_VERSION
#endif

#ifndef NAME
#define NAME tulle_congestion
#endif
extern const struct tulle_cc_algorithm NAME;
const struct tulle_cc_algorithm NAME = {VERSION, 0, "bad", 0, 0, configure, start, on_event};
