// Visits the fields of a plain struct in the order of their declaration, so that a function over
// all fields needs no list that could miss a new one.
//
// C++20 has no reflection, but an aggregate of n fields can be initialised from n values and not
// from n + 1, and a structured binding names exactly n fields or does not compile. A wrong count is
// therefore a compile error, never a missed field. Such an error means one of two things. A field
// has a type that cannot be made from one value of any type (std::optional, C arrays): visit that
// struct by hand. Or the struct has more fields than there are branches below: add branches.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tulle::base {
namespace detail {

struct AnyValue {
    template <class T>
    operator T() const;  // NOLINT: implicit on purpose, and never defined
};

template <class T, size_t... kIndex>
constexpr bool takes(std::index_sequence<kIndex...>) {
    return requires {
        T{(static_cast<void>(kIndex), AnyValue{})...};
    };
}

template <class T, size_t kCount = 0>
constexpr size_t field_count() {
    if constexpr (takes<T>(std::make_index_sequence<kCount + 1>{}))
        return field_count<T, kCount + 1>();
    else
        return kCount;
}

}  // namespace detail

template <class T>
inline constexpr size_t kFieldCount = detail::field_count<T>();

inline constexpr size_t kMostFields = 48;

// clang-format off
template <class T, class Visitor>
constexpr void visit_fields(const T& of, Visitor&& visit) {
    static_assert(std::is_aggregate_v<T>, "visit it by hand: its fields are its own affair");
    constexpr size_t kCount = kFieldCount<T>;
    static_assert(kCount <= kMostFields, "add branches for more fields");
    const auto each = [&](const auto&... fields) { (visit(fields), ...); };
    if constexpr (kCount == 1) {
        const auto& [f0] = of;
        each(f0);
    } else if constexpr (kCount == 2) {
        const auto& [f0, f1] = of;
        each(f0, f1);
    } else if constexpr (kCount == 3) {
        const auto& [f0, f1, f2] = of;
        each(f0, f1, f2);
    } else if constexpr (kCount == 4) {
        const auto& [f0, f1, f2, f3] = of;
        each(f0, f1, f2, f3);
    } else if constexpr (kCount == 5) {
        const auto& [f0, f1, f2, f3, f4] = of;
        each(f0, f1, f2, f3, f4);
    } else if constexpr (kCount == 6) {
        const auto& [f0, f1, f2, f3, f4, f5] = of;
        each(f0, f1, f2, f3, f4, f5);
    } else if constexpr (kCount == 7) {
        const auto& [f0, f1, f2, f3, f4, f5, f6] = of;
        each(f0, f1, f2, f3, f4, f5, f6);
    } else if constexpr (kCount == 8) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7);
    } else if constexpr (kCount == 9) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8);
    } else if constexpr (kCount == 10) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9);
    } else if constexpr (kCount == 11) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10);
    } else if constexpr (kCount == 12) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11);
    } else if constexpr (kCount == 13) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12);
    } else if constexpr (kCount == 14) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13);
    } else if constexpr (kCount == 15) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14);
    } else if constexpr (kCount == 16) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15);
    } else if constexpr (kCount == 17) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15,
            f16] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16);
    } else if constexpr (kCount == 18) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17);
    } else if constexpr (kCount == 19) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18);
    } else if constexpr (kCount == 20) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19);
    } else if constexpr (kCount == 21) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20);
    } else if constexpr (kCount == 22) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21);
    } else if constexpr (kCount == 23) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22);
    } else if constexpr (kCount == 24) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23);
    } else if constexpr (kCount == 25) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24);
    } else if constexpr (kCount == 26) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25);
    } else if constexpr (kCount == 27) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26);
    } else if constexpr (kCount == 28) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27);
    } else if constexpr (kCount == 29) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28);
    } else if constexpr (kCount == 30) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29);
    } else if constexpr (kCount == 31) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30);
    } else if constexpr (kCount == 32) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31);
    } else if constexpr (kCount == 33) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32);
    } else if constexpr (kCount == 34) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32,
            f33] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33);
    } else if constexpr (kCount == 35) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34);
    } else if constexpr (kCount == 36) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35);
    } else if constexpr (kCount == 37) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36);
    } else if constexpr (kCount == 38) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37);
    } else if constexpr (kCount == 39) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38);
    } else if constexpr (kCount == 40) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39);
    } else if constexpr (kCount == 41) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39, f40] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39, f40);
    } else if constexpr (kCount == 42) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39, f40, f41] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39, f40, f41);
    } else if constexpr (kCount == 43) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39, f40, f41, f42] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39, f40, f41, f42);
    } else if constexpr (kCount == 44) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39, f40, f41, f42, f43] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39, f40, f41, f42, f43);
    } else if constexpr (kCount == 45) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39, f40, f41, f42, f43, f44);
    } else if constexpr (kCount == 46) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39, f40, f41, f42, f43, f44, f45);
    } else if constexpr (kCount == 47) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46);
    } else if constexpr (kCount == 48) {
        const auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
            f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33,
            f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47] = of;
        each(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18,
            f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35,
            f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47);
    }
}
// clang-format on

}  // namespace tulle::base
