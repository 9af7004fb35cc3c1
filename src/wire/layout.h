// A header is described once; everything else is derived from the description.
//
// A header is a plain struct with a list of its fields in wire order and their widths in bits:
//
//     struct Aeth {
//         static constexpr size_t kSize = 4;
//         uint8_t syndrome = 0;
//         uint32_t msn = 0;
//         static constexpr auto kFields =
//             fields(field<&Aeth::syndrome, 8>("syndrome"), field<&Aeth::msn, 24>("msn"));
//     };
//
// The offset of a field is the sum of the widths before it, so fields cannot overlap. A header
// whose widths do not add up to kSize does not compile: every bit on the wire, reserved ones
// included, is in a member. Parsing and writing therefore lose nothing. Both, and every printer of
// fields, are derived from the list: parse<H>(), write(), for_each_field().
//
// All offsets are compile-time constants; a field costs a load, a byte swap, a shift and a mask.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace tulle::wire {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

template <auto Member, unsigned Bits>
struct Field {
    static constexpr unsigned kBits = Bits;
    static constexpr auto kMember = Member;
    const char* name;
};

template <auto Member, unsigned Bits>
constexpr Field<Member, Bits> field(const char* name) {
    return {name};
}

// Flat inheritance: with a std::tuple the management datagrams took 40 % longer to compile.
template <class... F>
struct FieldList : F... {};

template <class... F>
constexpr FieldList<F...> fields(F... list) {
    return {list...};
}

template <class H>
concept Header = requires {
    H::kSize;
    H::kFields;
};

// The only entry for bytes from outside: nothing if they are too few for the header.
template <Header H>
std::optional<H> parse(Bytes bytes);

// The same in place, for the hot path: false, and the header unchanged, if they are too few.
template <Header H>
bool parse_into(H& header, Bytes bytes);

// Writes the header into the first kSize bytes; the caller provides them.
template <Header H>
void write(const H& header, MutableBytes bytes);

// Calls visit(name, value) for each field in wire order.
template <Header H, class Visitor>
void for_each_field(const H& header, Visitor&& visit);

// ---------------------------------------------------------------------------------------------

namespace layout {

template <class T>
struct IsArray : std::false_type {};
template <class T, size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};

template <class T>
concept HasBytes = requires(T t) {
    IsArray<decltype(t.bytes)>::value;
};
template <class T>
concept HasValue = requires(T t) {
    t.value;
};

// The first bit of each field, and the end of the last.
template <class... F>
constexpr std::array<unsigned, sizeof...(F) + 1> kBegins = [] {
    std::array<unsigned, sizeof...(F) + 1> begins{};
    size_t i = 0;
    ((begins[i + 1] = begins[i] + F::kBits, ++i), ...);
    return begins;
}();

// The bytes with bits [Offset, Offset + Bits), most significant first.
template <unsigned Offset, unsigned Bits>
struct Place {
    static_assert(Bits >= 1 && Bits <= 64);
    static constexpr unsigned kFirst = Offset / 8;
    static constexpr unsigned kCount = (Offset + Bits - 1) / 8 - kFirst + 1;
    static_assert(kCount <= 8, "a field may touch eight bytes at the most");
    static constexpr unsigned kShift = 8 * kCount - Offset % 8 - Bits;
    static constexpr uint64_t kMask = Bits == 64 ? ~uint64_t{0} : (uint64_t{1} << Bits) - 1;
};

// Loads and stores whole words; the compiler does not find that by itself.
template <unsigned Count>
using WordOf = std::conditional_t<
    Count == 2, uint16_t,
    std::conditional_t<Count == 4, uint32_t, std::conditional_t<Count == 8, uint64_t, void>>>;

template <class Word>
constexpr Word big_endian(Word word) {
    if constexpr (std::endian::native == std::endian::big) return word;
    if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
    if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
    if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
}

template <unsigned Offset, unsigned Bits>
uint64_t read_bits(const std::byte* from) {
    using P = Place<Offset, Bits>;
    using Word = WordOf<P::kCount>;
    uint64_t whole = 0;
    if constexpr (!std::is_void_v<Word>) {
        Word word;
        std::memcpy(&word, from + P::kFirst, sizeof word);
        whole = big_endian(word);
    } else {
        [&]<size_t... I>(std::index_sequence<I...>) {
            ((whole = whole << 8 | std::to_integer<uint64_t>(from[P::kFirst + I])), ...);
        }
        (std::make_index_sequence<P::kCount>{});
    }
    return (whole >> P::kShift) & P::kMask;
}

// The target bytes are zero before the first write, so fields that share a byte are or-ed in.
template <unsigned Offset, unsigned Bits>
void write_bits(std::byte* to, uint64_t value) {
    using P = Place<Offset, Bits>;
    using Word = WordOf<P::kCount>;
    const uint64_t whole = (value & P::kMask) << P::kShift;
    if constexpr (Bits == 8 * P::kCount && !std::is_void_v<Word>) {
        const Word word = big_endian(static_cast<Word>(whole));
        std::memcpy(to + P::kFirst, &word, sizeof word);
    } else {
        [&]<size_t... I>(std::index_sequence<I...>) {
            ((to[P::kFirst + I] |= static_cast<std::byte>(whole >> (8 * (P::kCount - 1 - I)))),
             ...);
        }
        (std::make_index_sequence<P::kCount>{});
    }
}

template <Header H, unsigned Offset>
void read_header(const std::byte* from, H& header);
template <Header H, unsigned Offset>
void write_header(std::byte* to, const H& header);

template <unsigned Offset, unsigned Bits, class T>
void read_value(const std::byte* from, T& value) {
    if constexpr (Header<T>) {
        static_assert(Bits == 8 * T::kSize);
        read_header<T, Offset>(from, value);
    } else if constexpr (HasBytes<T>) {
        read_value<Offset, Bits>(from, value.bytes);
    } else if constexpr (HasValue<T>) {
        read_value<Offset, Bits>(from, value.value);
    } else if constexpr (IsArray<T>::value) {
        constexpr size_t kCount = std::tuple_size_v<T>;
        static_assert(Bits % kCount == 0);
        if constexpr (Bits == 8 * sizeof(T) && sizeof(value[0]) == 1 && Offset % 8 == 0) {
            std::memcpy(value.data(), from + Offset / 8, sizeof(T));
        } else if constexpr (Offset % 8 == 0 && Bits / kCount % 8 == 0) {
            constexpr unsigned kStride = Bits / kCount / 8;
            for (size_t i = 0; i < kCount; ++i)
                read_value<0, Bits / kCount>(from + Offset / 8 + i * kStride, value[i]);
        } else {
            [&]<size_t... I>(std::index_sequence<I...>) {
                (read_value<Offset + I*(Bits / kCount), Bits / kCount>(from, value[I]), ...);
            }
            (std::make_index_sequence<kCount>{});
        }
    } else {
        value = static_cast<T>(read_bits<Offset, Bits>(from));
    }
}

template <unsigned Offset, unsigned Bits, class T>
void write_value(std::byte* to, const T& value) {
    if constexpr (Header<T>) {
        static_assert(Bits == 8 * T::kSize);
        write_header<T, Offset>(to, value);
    } else if constexpr (HasBytes<T>) {
        write_value<Offset, Bits>(to, value.bytes);
    } else if constexpr (HasValue<T>) {
        write_value<Offset, Bits>(to, value.value);
    } else if constexpr (IsArray<T>::value) {
        constexpr size_t kCount = std::tuple_size_v<T>;
        static_assert(Bits % kCount == 0);
        if constexpr (Bits == 8 * sizeof(T) && sizeof(value[0]) == 1 && Offset % 8 == 0) {
            std::memcpy(to + Offset / 8, value.data(), sizeof(T));
        } else if constexpr (Offset % 8 == 0 && Bits / kCount % 8 == 0) {
            constexpr unsigned kStride = Bits / kCount / 8;
            for (size_t i = 0; i < kCount; ++i)
                write_value<0, Bits / kCount>(to + Offset / 8 + i * kStride, value[i]);
        } else {
            [&]<size_t... I>(std::index_sequence<I...>) {
                (write_value<Offset + I*(Bits / kCount), Bits / kCount>(to, value[I]), ...);
            }
            (std::make_index_sequence<kCount>{});
        }
    } else {
        write_bits<Offset, Bits>(to, static_cast<uint64_t>(value));
    }
}

template <unsigned Offset, class H, class... F>
void read_fields(const std::byte* from, H& header, const FieldList<F...>&) {
    static_assert(kBegins<F...>.back() == 8 * H::kSize, "the fields must cover the whole header");
    [&]<size_t... I>(std::index_sequence<I...>) {
        (read_value<Offset + kBegins<F...>[I], F::kBits>(from, header.*F::kMember), ...);
    }
    (std::index_sequence_for<F...>{});
}

template <unsigned Offset, class H, class... F>
void write_fields(std::byte* to, const H& header, const FieldList<F...>&) {
    static_assert(kBegins<F...>.back() == 8 * H::kSize, "the fields must cover the whole header");
    [&]<size_t... I>(std::index_sequence<I...>) {
        (write_value<Offset + kBegins<F...>[I], F::kBits>(to, header.*F::kMember), ...);
    }
    (std::index_sequence_for<F...>{});
}

template <Header H, unsigned Offset>
void read_header(const std::byte* from, H& header) {
    read_fields<Offset>(from, header, H::kFields);
}

template <Header H, unsigned Offset>
void write_header(std::byte* to, const H& header) {
    write_fields<Offset>(to, header, H::kFields);
}

template <class H, class Visitor, class... F>
void visit_fields(const H& header, Visitor& visit, const FieldList<F...>& list) {
    (visit(static_cast<const F&>(list).name, header.*F::kMember), ...);
}

}  // namespace layout

template <Header H>
bool parse_into(H& header, Bytes bytes) {
    if (bytes.size() < H::kSize) return false;
    layout::read_header<H, 0>(bytes.data(), header);
    return true;
}

template <Header H>
std::optional<H> parse(Bytes bytes) {
    std::optional<H> header(std::in_place);
    if (!parse_into(*header, bytes)) header.reset();
    return header;
}

template <Header H>
void write(const H& header, MutableBytes bytes) {
    TULLE_CHECK(bytes.size() >= H::kSize);
    std::memset(bytes.data(), 0, H::kSize);
    layout::write_header<H, 0>(bytes.data(), header);
}

template <Header H, class Visitor>
void for_each_field(const H& header, Visitor&& visit) {
    layout::visit_fields(header, visit, H::kFields);
}

}  // namespace tulle::wire
