// Whether a record matches a query: the components in the mask must be equal (IBTA vol 1,
// 15.2.1.4). Components are numbered as in the specification: a record's fields in order, with the
// fields of its attributes.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "wire/layout.h"

namespace tulle::control {

struct Component {
    uint16_t first_bit = 0;
    uint16_t bits = 0;
};

template <wire::Header H>
void add_components(std::vector<Component>& list, unsigned first_bit = 0);

template <class Pointer>
struct MemberOf;
template <class Class, class Type>
struct MemberOf<Type Class::*> {
    using type = Type;
};

template <class Field>
void add_component(std::vector<Component>& list, unsigned& at) {
    using Member = typename MemberOf<std::remove_const_t<decltype(Field::kMember)>>::type;
    if constexpr (wire::Header<Member>)
        add_components<Member>(list, at);
    else
        list.push_back({static_cast<uint16_t>(at), static_cast<uint16_t>(Field::kBits)});
    at += Field::kBits;
}

template <class... F>
void add_list(const wire::FieldList<F...>&, std::vector<Component>& list, unsigned at) {
    (add_component<F>(list, at), ...);
}

// The components of a record; an attribute in it contributes its own fields.
template <wire::Header H>
void add_components(std::vector<Component>& list, unsigned first_bit) {
    add_list(H::kFields, list, first_bit);
}

inline bool matches(const std::vector<Component>& components, uint64_t mask, wire::Bytes query,
                    wire::Bytes record) {
    const auto bit = [](wire::Bytes bytes, unsigned at) {
        return (std::to_integer<unsigned>(bytes[at / 8]) >> (7 - at % 8) & 1) != 0;
    };
    for (size_t i = 0; i < components.size() && i < 64; ++i) {
        if ((mask >> i & 1) == 0) continue;
        const Component& component = components[i];
        for (unsigned at = component.first_bit; at < component.first_bit + component.bits; ++at)
            if (bit(query, at) != bit(record, at)) return false;
    }
    return true;
}

}  // namespace tulle::control
