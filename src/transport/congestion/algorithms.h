// The list of congestion control algorithms. To add one, write a file beside this one, include it
// here, and add a line; docs/EXTENDING.md shows it step by step. Scenarios, their reference, the
// report and the queue pair use the line; a class that lacks something does not compile.
#pragma once

#include "transport/congestion/back_pressure.h"
#include "transport/congestion/dcqcn.h"
#include "transport/congestion/dctcp.h"
#include "transport/congestion/fixed_rate.h"
#include "transport/congestion/hpcc.h"
#include "transport/congestion/ib_cc.h"
#include "transport/congestion/nscc.h"
#include "transport/congestion/pcc_rtt.h"
#include "transport/congestion/plugin.h"
#include "transport/congestion/rccc.h"
#include "transport/congestion/swift.h"
#include "transport/congestion/timely.h"

// The name in scenarios, and the class.
#define TULLE_ALGORITHMS(ALGORITHM)  \
    ALGORITHM(fixed_rate, FixedRate) \
    ALGORITHM(dcqcn, Dcqcn)          \
    ALGORITHM(ib_cc, IbCc)           \
    ALGORITHM(timely, Timely)        \
    ALGORITHM(dctcp, Dctcp)          \
    ALGORITHM(swift, Swift)          \
    ALGORITHM(nscc, Nscc)            \
    ALGORITHM(rccc, Rccc)            \
    ALGORITHM(pcc_rtt, PccRtt)       \
    ALGORITHM(plugin, Plugin)        \
    ALGORITHM(hpcc, Hpcc)            \
    ALGORITHM(back_pressure, BackPressure)
