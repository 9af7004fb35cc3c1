// The list of algorithms of congestion control. To add one, write a file beside this one, include
// it here, and give it a line; docs/EXTENDING.md shows it step by step. Scenarios, their reference,
// the report and the queue pair follow from the line, and what the class lacks does not compile.
#pragma once

#include "transport/congestion/dcqcn.h"
#include "transport/congestion/dctcp.h"
#include "transport/congestion/fixed_rate.h"
#include "transport/congestion/ib_cc.h"
#include "transport/congestion/nscc.h"
#include "transport/congestion/pcc_rtt.h"
#include "transport/congestion/plugin.h"
#include "transport/congestion/swift.h"
#include "transport/congestion/timely.h"

// Its name in scenarios, and its class.
#define TULLE_ALGORITHMS(ALGORITHM)  \
    ALGORITHM(fixed_rate, FixedRate) \
    ALGORITHM(dcqcn, Dcqcn)          \
    ALGORITHM(ib_cc, IbCc)           \
    ALGORITHM(timely, Timely)        \
    ALGORITHM(dctcp, Dctcp)          \
    ALGORITHM(swift, Swift)          \
    ALGORITHM(nscc, Nscc)            \
    ALGORITHM(pcc_rtt, PccRtt)       \
    ALGORITHM(plugin, Plugin)
