// Carry-less multiplication turns the CRC of a long buffer into a few multiplications. A CRC is the
// remainder of a polynomial, and remainders can be taken early: 128 bits at a distance of D bits
// from the end of the buffer may be replaced by their product with x^D mod P, added (xor) to the
// 128 bits there. Four such accumulators run side by side to hide the latency of the multiplier,
// and are then folded into one. The remaining 16 bytes and the tail go through the tables. That
// avoids the usual Barrett reduction, and costs two table steps per packet.
//
// Debian's isa-l is faster still, but exists only as a shared library, and the verbs drop-ins may
// depend only on the C library.
#include "wire/crc.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tulle::wire {
namespace {

constexpr uint32_t kPolynomial32 = 0xedb8'8320;  // 0x04c11db7, least significant bit first
constexpr uint16_t kPolynomial16 = 0xd008;       // 0x100b, least significant bit first

template <class Word>
constexpr Word shift_bits(Word state, Word polynomial, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
        state = static_cast<Word>((state >> 1) ^ ((state & 1) != 0 ? polynomial : 0));
    return state;
}

// kTable32[k][b]: the effect of byte b on the register when k more bytes follow in the same step.
constexpr auto kTable32 = [] {
    std::array<std::array<uint32_t, 256>, 8> table{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        table[0][byte] = shift_bits(byte, kPolynomial32, 8);
        for (size_t k = 1; k < 8; ++k)
            table[k][byte] = shift_bits(table[k - 1][byte], kPolynomial32, 8);
    }
    return table;
}();

constexpr auto kTable16 = [] {
    std::array<uint16_t, 256> table{};
    for (uint16_t byte = 0; byte < 256; ++byte) table[byte] = shift_bits(byte, kPolynomial16, 8);
    return table;
}();

uint64_t load_little_endian(const std::byte* from) {
    uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

uint32_t step_eight(uint32_t state, const std::byte* from) {
    const uint64_t word = load_little_endian(from) ^ state;
    uint32_t next = 0;
    for (size_t k = 0; k < 8; ++k) next ^= kTable32[7 - k][word >> (8 * k) & 0xff];
    return next;
}

#if defined(__x86_64__)

// x^n mod P, least significant bit first, shifted by the one bit that a product of two such numbers
// loses.
constexpr uint64_t fold_constant(unsigned n) {
    return uint64_t{shift_bits(uint32_t{0x8000'0000}, kPolynomial32, n)} << 1;
}

// The multipliers that move 128 bits forward by `Distance` bits: for the first half, and for the
// half 64 bits later.
template <unsigned Distance>
__attribute__((target("sse2"))) inline __m128i fold_constants() {
    return _mm_set_epi64x(static_cast<int64_t>(fold_constant(Distance - 32)),
                          static_cast<int64_t>(fold_constant(Distance + 32)));
}
static_assert(fold_constant(512 + 32) == 0x1'5444'2bd4);  // as in Intel's paper of 2009
static_assert(fold_constant(128 - 32) == 0x0'ccaa'009e);

__attribute__((target("sse2"))) inline __m128i load16(const std::byte* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

__attribute__((target("pclmul,sse2"))) inline __m128i fold(__m128i early, __m128i constants,
                                                           __m128i late) {
    const __m128i first = _mm_clmulepi64_si128(early, constants, 0x00);
    const __m128i second = _mm_clmulepi64_si128(early, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(first, second), late);
}

constexpr size_t kFoldMinimum = 64;

// The folded remainder and the tail.
__attribute__((target("pclmul,sse2"))) uint32_t finish_folding(__m128i sum, Bytes bytes) {
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
    const __m128i by_one = fold_constants<128>();
    for (; left >= 16; at += 16, left -= 16) sum = fold(sum, by_one, load16(at));
    std::array<std::byte, 16> rest;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), sum);
    return crc32_update_portable(crc32_update_portable(0, rest), Bytes(at, left));
}

__attribute__((target("pclmul,sse2"))) uint32_t update_folding(uint32_t state, Bytes bytes) {
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
    const __m128i by_four = fold_constants<512>();
    const __m128i by_one = fold_constants<128>();

    __m128i a = _mm_xor_si128(load16(at), _mm_cvtsi32_si128(static_cast<int>(state)));
    __m128i b = load16(at + 16);
    __m128i c = load16(at + 32);
    __m128i d = load16(at + 48);
    for (at += 64, left -= 64; left >= 64; at += 64, left -= 64) {
        a = fold(a, by_four, load16(at));
        b = fold(b, by_four, load16(at + 16));
        c = fold(c, by_four, load16(at + 32));
        d = fold(d, by_four, load16(at + 48));
    }
    b = fold(a, by_one, b);
    c = fold(b, by_one, c);
    return finish_folding(fold(c, by_one, d), Bytes(at, left));
}

// The same with registers of 512 bits, each of which holds four of those: a packet of 4 KiB takes a
// third of the time.
constexpr size_t kWideMinimum = 256;
#define TULLE_WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul,sse2")))

TULLE_WIDE inline __m512i load64(const std::byte* from) {
    return _mm512_loadu_si512(from);
}

template <unsigned Distance>
TULLE_WIDE inline __m512i fold_constants_wide() {
    constexpr auto kLate = static_cast<int64_t>(fold_constant(Distance - 32));
    constexpr auto kEarly = static_cast<int64_t>(fold_constant(Distance + 32));
    return _mm512_set4_epi64(kLate, kEarly, kLate, kEarly);
}

TULLE_WIDE inline __m512i fold_wide(__m512i early, __m512i constants, __m512i late) {
    constexpr int kXorOfThree = 0x96;
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(early, constants, 0x00),
                                     _mm512_clmulepi64_epi128(early, constants, 0x11), late,
                                     kXorOfThree);
}

// Extracts from the register without a variable on the stack: g++ 13 misaligns such variables under
// AddressSanitizer's use-after-return check (gcc bug 110027). The mask avoids a warning of g++ 12
// about its own header.
template <int Lane>
TULLE_WIDE inline __m128i lane_of(__m512i from) {
    return _mm512_maskz_extracti32x4_epi32(0xf, from, Lane);
}

TULLE_WIDE uint32_t update_folding_wide(uint32_t state, Bytes bytes) {
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
    const __m512i by_four = fold_constants_wide<4 * 512>();
    const __m512i by_one = fold_constants_wide<512>();

    const __m512i start = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state)));
    __m512i a = _mm512_xor_si512(load64(at), start);
    __m512i b = load64(at + 64);
    __m512i c = load64(at + 128);
    __m512i d = load64(at + 192);
    for (at += 256, left -= 256; left >= 256; at += 256, left -= 256) {
        a = fold_wide(a, by_four, load64(at));
        b = fold_wide(b, by_four, load64(at + 64));
        c = fold_wide(c, by_four, load64(at + 128));
        d = fold_wide(d, by_four, load64(at + 192));
    }
    b = fold_wide(a, by_one, b);
    c = fold_wide(b, by_one, c);
    d = fold_wide(c, by_one, d);
    for (; left >= 64; at += 64, left -= 64) d = fold_wide(d, by_one, load64(at));

    const __m128i by_lane = fold_constants<128>();
    __m128i sum = lane_of<0>(d);
    sum = fold(sum, by_lane, lane_of<1>(d));
    sum = fold(sum, by_lane, lane_of<2>(d));
    sum = fold(sum, by_lane, lane_of<3>(d));
    return finish_folding(sum, Bytes(at, left));
}
#undef TULLE_WIDE

bool has_wide_folding() {
    static const bool has = __builtin_cpu_supports("avx512f") != 0 &&
                            __builtin_cpu_supports("vpclmulqdq") != 0 && crc32_is_accelerated();
    return has;
}

#endif

}  // namespace

bool crc32_is_accelerated() {
#if defined(__x86_64__)
    static const bool supported = __builtin_cpu_supports("pclmul") != 0;
    return supported;
#else
    return false;
#endif
}

uint32_t crc32_update(uint32_t state, Bytes bytes) {
#if defined(__x86_64__)
    if (bytes.size() >= kWideMinimum && has_wide_folding())
        return update_folding_wide(state, bytes);
    if (bytes.size() >= kFoldMinimum && crc32_is_accelerated()) return update_folding(state, bytes);
#endif
    return crc32_update_portable(state, bytes);
}

uint32_t crc32_update_portable(uint32_t state, Bytes bytes) {
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) state = step_eight(state, bytes.data());
    for (const std::byte byte : bytes)
        state = (state >> 8) ^ kTable32[0][(state ^ std::to_integer<uint32_t>(byte)) & 0xff];
    return state;
}

uint16_t crc16_update(uint16_t state, Bytes bytes) {
    for (const std::byte byte : bytes)
        state = static_cast<uint16_t>((state >> 8) ^
                                      kTable16[(state ^ std::to_integer<uint16_t>(byte)) & 0xff]);
    return state;
}

}  // namespace tulle::wire
