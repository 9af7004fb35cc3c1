#include "control/subnet/sa/administration.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "control/subnet/sa/paths.h"

namespace tulle::control {
namespace {

constexpr base::Duration kReportInterval{500'000'000'000};  // 500 ms; chosen
constexpr uint8_t kReportTries = 4;                         // chosen
constexpr base::Duration kSecond{1'000'000'000'000};
constexpr uint32_t kForEver = 0xffff'ffff;
// Limits on what requests can make it store; chosen, well above what a fabric needs.
constexpr size_t kMostReceivers = 256;
constexpr base::Duration kReceiverLife{10'000'000'000'000};  // 10 s
constexpr size_t kMostServices = 4'096;
constexpr size_t kMostSubscriptions = 65'536;
// Components of ServiceRecord that name a service: the identifier, the GID and the partition.
constexpr uint64_t kServiceNames = 0x7;

std::vector<Component> components_of_group() {
    std::vector<Component> list;
    add_components<wire::McMemberRecord>(list);
    return list;
}

std::vector<Component> components_of_service() {
    std::vector<Component> list;
    add_components<wire::ServiceRecord>(list);
    return list;
}

bool wants(const wire::InformInfo& info, const wire::Notice& notice) {
    const uint16_t lid = notice.issuer_lid.value;
    const bool is_any_lid = info.lid_range_begin.value == 0xffff;
    return (is_any_lid || (lid >= info.lid_range_begin.value && lid <= info.lid_range_end.value)) &&
           (info.type.value == 0xffff || info.type.value == notice.type) &&
           (info.trap_number == 0xffff || info.trap_number == notice.trap_number) &&
           (info.producer_type.value == 0xff'ffff ||
            info.producer_type.value == notice.producer_type);
}

}  // namespace

void Administration::on_mad(base::Instant now, uint16_t from, const MadBytes& mad) {
    if (mad.method() == wire::kMethodReportResp) {
        std::erase_if(reports_, [&](const Report& report) {
            return report.out.mad.transaction() == mad.transaction() && report.out.to == from;
        });
        return;
    }
    if (is_rmpp(mad)) return take_segment(now, from, mad);
    if ((mad.method() & wire::kMethodResponse) != 0) return;
    serve(now, from, mad, mad.bytes().subspan(wire::kSaDataOffset));
}

void Administration::take_segment(base::Instant now, uint16_t from, const MadBytes& mad) {
    const Place place{from, mad.transaction()};
    if (rmpp_of(mad).type != wire::kRmppData) {
        const auto sender = senders_.find(place);
        if (sender == senders_.end()) return;
        sender->second.on_answer(now, mad);
        if (sender->second.is_done() && !sender->second.can_send()) senders_.erase(sender);
        return;
    }
    std::erase_if(receivers_, [&](const auto& entry) { return entry.second.ends <= now; });
    if ((mad.method() & wire::kMethodResponse) != 0 || receivers_.size() >= kMostReceivers) return;
    Arriving& arriving = receivers_[place];
    arriving.ends = now + kReceiverLife;
    RmppReceiver& receiver = arriving.receiver;
    const bool was_complete = receiver.is_complete();
    if (auto back = receiver.take(mad)) out_.push_back({from, *back});
    if (receiver.has_failed()) {
        receivers_.erase(place);
    } else if (receiver.is_complete() && !was_complete) {
        const MadBytes head = receiver.head();
        const std::vector<std::byte> data = receiver.data();
        serve(now, from, head, data);
    }
}

void Administration::serve(base::Instant now, uint16_t from, const MadBytes& mad,
                           wire::Bytes data) {
    if (!manager_.plan().is_made() || manager_.fabric().size() == 0)
        return answer_with(from, mad, wire::kStatusBusy, {});
    const uint8_t method = mad.method();
    const bool changes = method == wire::kMethodSet || method == wire::kMethodDelete;
    switch (mad.attribute()) {
        case wire::kSaMcMemberRecord:
            if (changes) return serve_group(from, mad, data);
            break;
        case wire::kSaServiceRecord:
            if (changes) return serve_service(now, from, mad, data);
            break;
        case wire::kSaInformInfo:
            if (method == wire::kMethodSet) return subscribe(from, mad, data);
            break;
        case wire::kSaClassPortInfo: {
            if (method != wire::kMethodGet) break;
            wire::ClassPortInfo info;
            info.base_version = 1;
            info.class_version = 2;
            info.response_time = 18;  // about a second
            std::array<std::byte, wire::ClassPortInfo::kSize> bytes{};
            wire::write(info, bytes);
            return answer_with(from, mad, wire::kStatusOk, bytes);
        }
        case wire::kSaNodeRecord:
        case wire::kSaPortInfoRecord:
        case wire::kSaLinkRecord:
        case wire::kSaPathRecord:
        case wire::kSaMultiPathRecord: break;
        default: return answer_with(from, mad, wire::kStatusMethodAttributeUnsupported, {});
    }
    const bool is_multi = mad.attribute() == wire::kSaMultiPathRecord;
    const bool is_table =
        method == wire::kMethodGetTable || (method == wire::kMethodGetMulti && is_multi);
    if ((!is_table && method != wire::kMethodGet) || mad.attribute() == wire::kSaInformInfo ||
        mad.attribute() == wire::kSaClassPortInfo)
        return answer_with(from, mad, wire::kStatusMethodAttributeUnsupported, {});
    RecordList records = find(mad, data);
    if (is_table) return answer(from, mad, wire::kStatusOk, records);
    // Of several paths any one is a valid answer; other records must be unique for a Get.
    if (records.count == 0) return answer_with(from, mad, wire::kStatusSaNoRecords, {});
    if (records.count > 1 && mad.attribute() != wire::kSaPathRecord)
        return answer_with(from, mad, wire::kStatusSaTooManyRecords, {});
    answer_with(from, mad, wire::kStatusOk, wire::Bytes(records.bytes).first(records.stride));
}

RecordList Administration::find(const MadBytes& mad, wire::Bytes data) const {
    const uint64_t mask = sa_header_of(mad).component_mask.value;
    // A query that came in segments may be shorter than its record.
    std::vector<std::byte> query(data.begin(), data.end());
    query.resize(std::max(query.size(), wire::kSaDataSize));
    switch (mad.attribute()) {
        case wire::kSaNodeRecord: return node_records(manager_, mask, query);
        case wire::kSaPortInfoRecord: return port_records(manager_, mask, query);
        case wire::kSaLinkRecord: return link_records(manager_, mask, query);
        case wire::kSaPathRecord: return path_records(manager_, mask, query);
        case wire::kSaMultiPathRecord: return multi_path_records(manager_, mask, query);
        case wire::kSaServiceRecord: return service_records(mask, query);
        default: return group_records(mask, query);
    }
}

RecordList Administration::service_records(uint64_t mask, wire::Bytes query) const {
    RecordList list(wire::ServiceRecord::kSize);
    const auto components = components_of_service();
    for (const Service& service : services_) {
        wire::ServiceRecord shown = service.record;
        shown.service_key = {};  // a secret of the service's owner
        list.add_if(components, mask, query, shown);
    }
    return list;
}

RecordList Administration::group_records(uint64_t mask, wire::Bytes query) const {
    RecordList list(wire::McMemberRecord::kSize);
    const auto components = components_of_group();
    for (const wire::McMemberRecord& record : groups_.members())
        list.add_if(components, mask, query, record);
    return list;
}

// A table uses RMPP, however short it is (15.4.5).
void Administration::answer(uint16_t to, const MadBytes& request, uint16_t status,
                            const RecordList& records) {
    auto head = *wire::parse<wire::SaMad>(request.bytes());
    head.header.status.value = status;
    head.header.method.value = static_cast<uint8_t>(request.method() | wire::kMethodResponse);
    head.sa.attribute_offset = static_cast<uint16_t>(records.stride / 8);
    if (request.attribute() == wire::kSaMultiPathRecord)
        head.header.attribute_id.value = wire::kSaPathRecord;
    MadBytes bytes;
    wire::write(head, bytes.bytes());
    senders_.insert_or_assign({to, request.transaction()}, RmppSender(bytes, records.bytes));
}

void Administration::answer_with(uint16_t to, const MadBytes& request, uint16_t status,
                                 wire::Bytes record) {
    auto mad = *wire::parse<wire::SaMad>(request.bytes());
    mad.header.status.value = status;
    mad.header.method.value = request.method() == wire::kMethodSet
                                  ? uint8_t{wire::kMethodGetResp}
                                  : static_cast<uint8_t>(request.method() | wire::kMethodResponse);
    mad.rmpp = {};
    mad.sa.attribute_offset = static_cast<uint16_t>((record.size() + 7) / 8);
    mad.data = {};
    std::ranges::copy(record.first(std::min(record.size(), mad.data.size())),
                      std::as_writable_bytes(std::span(mad.data)).begin());
    GmpOut out{to, {}};
    wire::write(mad, out.mad.bytes());
    out_.push_back(out);
}

void Administration::serve_group(uint16_t from, const MadBytes& mad, wire::Bytes data) {
    auto record = *wire::parse<wire::McMemberRecord>(data);
    const uint64_t mask = sa_header_of(mad).component_mask.value;
    bool made = false;
    bool ended = false;
    const uint16_t status = mad.method() == wire::kMethodSet ? groups_.join(mask, record, made)
                                                             : groups_.leave(mask, record, ended);
    if (made) report_gid(wire::kTrapMulticastGroupCreated, record.mgid);
    if (ended) report_gid(wire::kTrapMulticastGroupDeleted, record.mgid);
    std::array<std::byte, 56> bytes{};
    wire::write(record, bytes);
    answer_with(from, mad, status, bytes);
}

void Administration::serve_service(base::Instant now, uint16_t from, const MadBytes& mad,
                                   wire::Bytes data) {
    const auto record = *wire::parse<wire::ServiceRecord>(data);
    const uint64_t mask = sa_header_of(mad).component_mask.value;
    const auto known = std::ranges::find_if(services_, [&](const Service& service) {
        return service.record.service_id == record.service_id &&
               service.record.service_gid == record.service_gid &&
               service.record.service_pkey == record.service_pkey;
    });
    uint16_t status = wire::kStatusOk;
    const bool is_known = known != services_.end();
    if ((mask & kServiceNames) != kServiceNames)
        status = wire::kStatusSaInsufficientComponents;
    else if (manager_.fabric().node_of(guid_in(record.service_gid)) == kNone)
        status = wire::kStatusSaInvalidGid;
    else if (is_known && known->record.service_key != record.service_key)
        status = wire::kStatusSaDenied;
    else if (mad.method() == wire::kMethodDelete)
        is_known ? static_cast<void>(services_.erase(known))
                 : static_cast<void>(status = wire::kStatusSaNoRecords);
    else if (!is_known && services_.size() >= kMostServices)
        status = wire::kStatusSaNoResources;
    else {
        Service& service = is_known ? *known : services_.emplace_back();
        service.record = record;
        service.ends = record.service_lease == kForEver
                           ? base::Instant::never()
                           : now + static_cast<int64_t>(record.service_lease) * kSecond;
    }
    std::array<std::byte, wire::ServiceRecord::kSize> bytes{};
    wire::write(record, bytes);
    answer_with(from, mad, status, bytes);
}

void Administration::subscribe(uint16_t from, const MadBytes& mad, wire::Bytes data) {
    const auto info = *wire::parse<wire::InformInfo>(data);
    const auto same = [&](const Subscription& known) {
        return known.lid == from && known.info.type == info.type &&
               known.info.trap_number == info.trap_number &&
               known.info.producer_type == info.producer_type &&
               known.info.lid_range_begin == info.lid_range_begin;
    };
    uint16_t status = wire::kStatusOk;
    const bool is_known = std::ranges::any_of(subscriptions_, same);
    if (info.subscribe == 0) {
        if (std::erase_if(subscriptions_, same) == 0) status = wire::kStatusSaRequestInvalid;
    } else if (!is_known && subscriptions_.size() >= kMostSubscriptions) {
        status = wire::kStatusSaNoResources;
    } else if (!is_known) {
        subscriptions_.push_back({from, info});
    }
    std::array<std::byte, 40> bytes{};
    wire::write(info, bytes);
    answer_with(from, mad, status, bytes);
}

// --- reports -------------------------------------------------------------------------------------

void Administration::on_sweep(base::Instant) {
    std::set<uint64_t> now;
    for (const FoundNode& found : manager_.fabric().nodes())
        if (!found.is_switch) now.insert(found.port_guid());
    for (const uint64_t guid : now)
        if (!ports_.contains(guid)) report_gid(wire::kTrapInService, port_gid(guid));
    for (const uint64_t guid : ports_)
        if (!now.contains(guid)) report_gid(wire::kTrapOutOfService, port_gid(guid));
    ports_ = std::move(now);
}

void Administration::report_gid(uint16_t trap, const wire::Gid& gid) {
    wire::Notice notice;
    notice.is_generic = true;
    notice.type = wire::kNoticeSubnetManagement;
    notice.producer_type = wire::kNodeChannelAdapter;
    notice.trap_number = trap;
    const auto own = manager_.lids().find(manager_.settings().port_guid);
    notice.issuer_lid.value = own == manager_.lids().end() ? uint16_t{0} : own->second;
    wire::TrapGid details;
    details.gid = gid;
    std::array<std::byte, wire::TrapGid::kSize> bytes{};
    wire::write(details, bytes);
    std::memcpy(notice.details.data(), bytes.data(), bytes.size());
    report(notice, port_gid(manager_.settings().port_guid));
}

void Administration::report(const wire::Notice& notice, const wire::Gid& issuer) {
    for (const Subscription& subscription : subscriptions_) {
        if (!wants(subscription.info, notice)) continue;
        wire::SaMad mad;
        mad.header.base_version = 1;
        mad.header.class_version = 2;
        mad.header.management_class.value = wire::kClassSubnetAdministration;
        mad.header.method.value = wire::kMethodReport;
        mad.header.transaction_id.value = ++transaction_;
        mad.header.attribute_id.value = wire::kSaNotice;
        wire::ForwardedNotice forwarded{notice, issuer};
        wire::put_attribute(forwarded, mad.data);
        Report entry{{subscription.lid, {}}};
        wire::write(mad, entry.out.mad.bytes());
        reports_.push_back(entry);
    }
}

// --- time and sending ----------------------------------------------------------------------------

void Administration::on_timer(base::Instant now) {
    std::erase_if(services_, [&](const Service& service) { return service.ends <= now; });
    std::erase_if(reports_, [&](const Report& report) {
        return report.at <= now && report.tries >= kReportTries;
    });
    for (auto& [place, sender] : senders_) sender.on_timer(now);
}

std::optional<GmpOut> Administration::poll_transmit(base::Instant now) {
    if (!out_.empty()) {
        const GmpOut out = out_.front();
        out_.pop_front();
        return out;
    }
    for (auto sender = senders_.begin(); sender != senders_.end();) {
        if (auto mad = sender->second.poll(now)) return GmpOut{sender->first.first, *mad};
        sender = sender->second.is_done() ? senders_.erase(sender) : std::next(sender);
    }
    for (Report& report : reports_) {
        if (report.at > now || report.tries >= kReportTries) continue;
        report.at = now + kReportInterval;
        ++report.tries;
        return report.out;
    }
    return std::nullopt;
}

base::Instant Administration::next_deadline() const {
    base::Instant next = base::Instant::never();
    for (const Service& service : services_) next = std::min(next, service.ends);
    for (const Report& report : reports_) next = std::min(next, report.at);
    for (const auto& [place, sender] : senders_) next = std::min(next, sender.next_deadline());
    return next;
}

}  // namespace tulle::control
