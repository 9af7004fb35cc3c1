// Settings of congestion control: the description of each algorithm becomes rows of the table.
#include <fmt/format.h>

#include "scenario/setting_tables.h"

namespace tulle::scenario {
namespace {

using base::Duration;
using transport::Algorithm;
using transport::AlgorithmSettings;

// Receives the description of one algorithm, whose settings are the member `all` of the settings of
// all algorithms.
template <class Settings>
class AlgorithmTable {
public:
    AlgorithmTable(std::string_view name, Algorithm algorithm, Settings AlgorithmSettings::*all,
                   std::vector<Setting>& settings)
        : name_(name), algorithm_(algorithm), all_(all), settings_(settings) {}

    using Meaning = std::string_view;
    void duration(std::string_view key, Duration Settings::*member, Meaning meaning) {
        add(key, scenario::duration(at(member)), meaning);
    }
    void positive_duration(std::string_view key, Duration Settings::*member, Meaning meaning) {
        add(key, scenario::positive_duration(at(member)), meaning);
    }
    void duration_or_off(std::string_view key, Duration Settings::*member, Meaning meaning) {
        add(key, scenario::duration_or_off(at(member)), meaning);
    }
    void bits_per_second(std::string_view key, uint64_t Settings::*member, Meaning meaning) {
        add(key, scenario::bits_per_second(at(member)), meaning);
    }
    void bits_per_second_or_off(std::string_view key, uint64_t Settings::*member, Meaning meaning) {
        add(key, scenario::bits_per_second_or_off(at(member)), meaning);
    }
    void size(std::string_view key, uint32_t Settings::*member, Meaning meaning) {
        add(key, size32(at(member)), meaning);
    }
    void yes_no(std::string_view key, bool Settings::*member, Meaning meaning) {
        add(key, scenario::yes_no(at(member)), meaning);
    }
    void part(std::string_view key, uint32_t Settings::*member, uint32_t one, Meaning meaning) {
        add(key, part32(at(member), one), meaning);
    }
    void part(std::string_view key, int64_t Settings::*member, int64_t one, Meaning meaning) {
        add(key, part_signed(at(member), one), meaning);
    }
    template <class T>
    void number(std::string_view key, T Settings::*member, uint64_t least, uint64_t most,
                Meaning meaning) {
        add(key, scenario::number<T>(at(member), least, most), meaning);
    }
    template <class T>
    void choice(std::string_view key, T Settings::*member, std::type_identity_t<Choices<T>> choices,
                Meaning meaning) {
        add(key, scenario::choice<T>(at(member), std::move(choices)), meaning);
    }
    void delays(std::string_view key, std::vector<uint16_t> Settings::*member, Meaning meaning) {
        add(key, congestion_table(at(member)), meaning);
    }

private:
    template <class T>
    At<T> at(T Settings::*member) {
        return [all = all_, member](Target& target) -> T& {
            return target.host.algorithms.*all.*member;
        };
    }
    void add(std::string_view key, Field field, Meaning meaning) {
        settings_.push_back({fmt::format("hosts.congestion.{}.{}", name_, key), Use::algorithm,
                             std::move(field), meaning, algorithm_});
    }

    std::string_view name_;
    Algorithm algorithm_;
    Settings AlgorithmSettings::*all_;
    std::vector<Setting>& settings_;
};

}  // namespace

std::vector<Setting> algorithm_settings() {
    std::vector<Setting> settings;
    transport::for_each_algorithm([&]<class A>(std::string_view name, Algorithm algorithm,
                                               typename A::Settings AlgorithmSettings::*all,
                                               std::type_identity<A>) {
        AlgorithmTable<typename A::Settings> table(name, algorithm, all, settings);
        A::describe(table);
    });
    return settings;
}

}  // namespace tulle::scenario
