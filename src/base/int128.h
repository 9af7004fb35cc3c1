// 128-bit integers, for products of two 64-bit numbers that must not overflow. Both compilers have
// them, the standard does not; only this file uses the extension.
#pragma once

namespace tulle::base {

__extension__ typedef unsigned __int128 uint128_t;

}  // namespace tulle::base
