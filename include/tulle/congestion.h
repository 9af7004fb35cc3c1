/* Congestion control of your own, without rebuilding Tulle: a shared object that exports one
 * structure of functions, named `tulle_congestion`.
 *
 *     cc -O2 -fPIC -shared -I include -o mine.so mine.c
 *     tulle sim examples/congestion/incast.yaml --congestion ./mine.so
 *     tulle compare examples/congestion/incast.yaml --congestion dcqcn,timely,./mine.so
 *     tulle run --listen eth0 --congestion ./mine.so ./program
 *
 * Tulle calls the functions with what happens to one flow, a queue pair, and takes back how fast it
 * may send. All state of a flow lies in memory that Tulle gives it; it is zero at first. A run uses
 * several threads and has to find the same with any number of them, so functions keep nothing in
 * variables of their own, draw no random numbers but from the flow's number, and ask no clock.
 *
 * Times are in picoseconds. docs/EXTENDING.md shows how it is done, examples/congestion has three.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 2 has telemetry and `path`. An object that was made for 1 is taken too: what it knows has not
 * moved. */
#define TULLE_CONGESTION_VERSION 2

/* What has happened. */
enum tulle_cc_kind {
    TULLE_CC_SENT = 1,    /* a packet with data leaves: `bytes` */
    TULLE_CC_ACK = 2,     /* data was acknowledged: `acknowledged_packets`, `marked`, ... */
    TULLE_CC_CNP = 3,     /* a congestion notification packet came (RoCE v2) */
    TULLE_CC_BECN = 4,    /* an answer with the BECN bit came (InfiniBand) */
    TULLE_CC_NACK = 5,    /* the receiver misses a packet */
    TULLE_CC_TIMEOUT = 6, /* nothing came for the time of the retransmission timer */
    TULLE_CC_TIMER = 7    /* `timer_at_ps` of the decision has come */
};

/* What a switch wrote into a packet when it began to leave (in-band telemetry). */
struct tulle_cc_hop {
    int64_t at_ps;
    uint64_t sent_bytes;  /* by this port before the packet; does not wrap */
    uint64_t rate_bps;    /* of its line */
    uint32_t queue_bytes; /* that waited at this port behind the packet */
    uint32_t port;        /* which one; another one at the same place is another path */
};

struct tulle_cc_event {
    uint32_t kind;
    uint32_t bytes;                /* SENT: of the packet on the wire */
    uint32_t acknowledged_packets; /* ACK: that were not acknowledged before */
    uint32_t trimmed_packets;      /* ACK: that came without their payload */
    uint32_t packets_in_flight;    /* ACK and NACK: not acknowledged by now */
    uint32_t marked;               /* ACK: not zero if the network marked what it answers */
    int64_t now_ps;
    int64_t round_trip_ps; /* ACK: of the newest packet that was timed; 0: none was */
    /* ACK, with TULLE_CC_TELEMETRY: the switches on the way of the newest packet that came before
     * the ACK left, in their order. In `tulle run` there is none. Since version 2. */
    const struct tulle_cc_hop* hops;
    uint32_t hop_count;
    uint32_t reserved;
};

/* What a flow may do; it stays so until a function changes it. At first nothing is limited. */
struct tulle_cc_decision {
    double rate_bps;       /* of bits on the wire; INFINITY: not paced */
    double window_packets; /* that may be in flight, at least 1; INFINITY: no window */
    int64_t next_at_ps;    /* with SENT only: when the next packet may go, instead of what the rate
                              says; 0 before each call */
    int64_t
        timer_at_ps; /* when a TIMER event is due, 1 ns later at least; 0: none. It comes before any
                        later event of the flow, with its own `now_ps`, but it wakes nobody: a
                        packet that waits for the rate or the window waits for the next event. */
    uint32_t probe;  /* not zero: the next packet asks for an acknowledgement, so that its
                        round trip is measured. 0 before each SENT. */
    uint32_t path;   /* 0 at first; another number may be another way: switches hash it with
                        the addresses (ECMP). Packets may come out of order then. Since
                        version 2. */
};

/* What an algorithm asks for, in `wants`. */
enum tulle_cc_wants {
    TULLE_CC_TELEMETRY = 1 /* its packets ask switches for telemetry; they are longer for it */
};

/* Where it runs. */
struct tulle_cc_host {
    uint64_t line_rate_bps; /* of the host's link */
    const char* parameters; /* what follows the file: "target=20" of ./mine.so:target=20 */
};

struct tulle_cc_algorithm {
    uint32_t version;      /* TULLE_CONGESTION_VERSION */
    uint32_t wants;        /* of tulle_cc_wants, or 0 */
    const char* name;      /* for sentences and the hash of a run */
    size_t settings_bytes; /* memory that all flows of a host read and none writes */
    size_t flow_bytes;     /* memory of one flow */
    /* Fills the settings. Returns NULL, or what is wrong with the parameters, as one sentence. */
    const char* (*configure)(void* settings, const struct tulle_cc_host* host);
    /* A flow begins; its memory is zero. Its number is the same in every run. */
    void (*start)(const void* settings, void* flow, uint64_t flow_number,
                  struct tulle_cc_decision* decision);
    void (*on_event)(const void* settings, void* flow, const struct tulle_cc_event* event,
                     struct tulle_cc_decision* decision);
};

/* What the shared object exports. Tulle refuses a later version. It ends a run, which is void then,
 * when a rate or a window is no number, or so small that nothing is sent for 100 ms. */
extern const struct tulle_cc_algorithm tulle_congestion;

/* The value of `key` in "key=value:key=value", or `otherwise`; NAN if it is no number. */
static inline double tulle_cc_parameter(const char* parameters, const char* key, double otherwise) {
    const size_t length = strlen(key);
    const char* at = parameters;
    while (at != NULL && *at != '\0') {
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            char* end;
            const double value = strtod(at + length + 1, &end);
            return end != at + length + 1 && (*end == '\0' || *end == ':') ? value : NAN;
        }
        at = strchr(at, ':');
        if (at != NULL) ++at;
    }
    return otherwise;
}

/* Whether "key=value:key=value" has a key that is not among `known`, such as "step part". Let
 * `configure` refuse it: a mistyped key would have no effect. */
static inline int tulle_cc_has_other(const char* parameters, const char* known) {
    while (*parameters != '\0') {
        const size_t length = strcspn(parameters, "=:");
        const char* at = known;
        while (*at != '\0' &&
               (strcspn(at, " ") != length || strncmp(at, parameters, length) != 0)) {
            at += strcspn(at, " ");
            at += strspn(at, " ");
        }
        if (*at == '\0') return 1;
        parameters += strcspn(parameters, ":");
        parameters += strspn(parameters, ":");
    }
    return 0;
}

#ifdef __cplusplus
}
#endif
