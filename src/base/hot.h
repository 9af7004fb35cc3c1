// The way of a packet is one function to the machine and several to the reader: a call costs as
// much as what most of them do (a third of all instructions a hop).
#pragma once

#define TULLE_HOT [[gnu::always_inline]] inline
