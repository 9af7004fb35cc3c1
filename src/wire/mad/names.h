// Words for the numbers in management datagrams, as the specification spells them (IBTA vol 1, 13.4
// to 13.6, 14.2.5, 15.2.5, 16 and annex A10). A number without a meaning is "unknown". Every name
// ends with a zero, so that its data() is a C string too.
#pragma once

#include <cstdint>
#include <string_view>

namespace tulle::wire {

std::string_view class_name(uint8_t management_class);
std::string_view method_name(uint8_t management_class, uint8_t method);
std::string_view attribute_name(uint8_t management_class, uint16_t attribute_id);

// The first thing that is wrong: the class's own code if there is one, else the common bits. Bit 15
// must be clear: in a directed-route packet it is the direction.
std::string_view status_name(uint8_t management_class, uint16_t status);

std::string_view rmpp_type_name(uint8_t type);
std::string_view rmpp_flags_name(uint8_t flags);
std::string_view rmpp_status_name(uint8_t status);

}  // namespace tulle::wire
