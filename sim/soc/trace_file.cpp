// SPDX-License-Identifier: Apache-2.0
#include "sim/soc/trace_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace rkperf::soc {

namespace {

// Field numbers of the Perfetto messages.
namespace trace {
constexpr unsigned packet = 1;
}
namespace trace_packet {
constexpr unsigned timestamp = 8, trusted_packet_sequence_id = 10, track_event = 11, interned_data = 12,
                   sequence_flags = 13, track_descriptor = 60;
}
namespace interned_data {
constexpr unsigned event_names = 2;
}
namespace event_name {
constexpr unsigned iid = 1, name = 2;
}
namespace track_descriptor {
constexpr unsigned uuid = 1, name = 2, parent_uuid = 5, counter = 8, child_ordering = 11, sibling_order_rank = 12;
constexpr unsigned explicit_order = 3;
} // namespace track_descriptor
namespace track_event {
constexpr unsigned type = 9, name_iid = 10, track_uuid = 11, counter_value = 30;
constexpr unsigned slice_begin = 1, slice_end = 2, instant = 3, counter = 4;
} // namespace track_event

constexpr unsigned kSequence = 1;
constexpr unsigned kIncrementalStateCleared = 1, kNeedsIncrementalState = 2;
constexpr std::size_t kBufferBytes = 1u << 20;

} // namespace

TraceFile::TraceFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) throw std::runtime_error(fmt::format("{}: cannot write the trace: {}", path, std::strerror(errno)));
    buffer_.reserve(kBufferBytes + 4096);
}

TraceFile::~TraceFile() { close(); }

void TraceFile::flush() {
    if (file_ && !error_ && std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size())
        error_ = errno;
    buffer_.clear();
}

std::string TraceFile::close() {
    if (!file_) return {};
    flush();
    if (std::fclose(file_.release()) && !error_) error_ = errno;
    return error_ ? fmt::format("{}: cannot write the trace: {}", path_, std::strerror(error_)) : std::string();
}

void TraceFile::put_packet(const ProtoMessage& packet) {
    ProtoMessage head;
    head.message(trace::packet, packet);
    buffer_ += head.bytes();
    if (buffer_.size() >= kBufferBytes) flush();
}

TrackId TraceFile::new_track(std::string_view name, TrackId parent, int rank, bool counter) {
    const TrackId id = ++last_track_;
    ProtoMessage d, p;
    d.number(track_descriptor::uuid, id);
    d.text(track_descriptor::name, name);
    if (parent) d.number(track_descriptor::parent_uuid, parent);
    if (counter) d.message(track_descriptor::counter, ProtoMessage());
    d.number(track_descriptor::child_ordering, track_descriptor::explicit_order);
    d.number(track_descriptor::sibling_order_rank, static_cast<std::uint64_t>(static_cast<std::int64_t>(rank)));
    p.number(trace_packet::trusted_packet_sequence_id, kSequence);
    if (std::exchange(first_, false)) p.number(trace_packet::sequence_flags, kIncrementalStateCleared);
    p.message(trace_packet::track_descriptor, d);
    put_packet(p);
    return id;
}

TrackId TraceFile::track(std::string_view name, TrackId parent, int rank) {
    return new_track(name, parent, rank, false);
}

TrackId TraceFile::counter_track(std::string_view name, TrackId parent, int rank) {
    return new_track(name, parent, rank, true);
}

std::uint64_t TraceFile::intern(std::string_view name) {
    if (const auto it = names_.find(name); it != names_.end()) return it->second;
    const std::uint64_t iid = names_.size() + 1;
    names_.emplace(name, iid);
    ProtoMessage entry, data;
    entry.number(event_name::iid, iid);
    entry.text(event_name::name, name);
    data.message(interned_data::event_names, entry);
    packet_.message(trace_packet::interned_data, data);
    return iid;
}

void TraceFile::event(TrackId t, Picoseconds when, unsigned type, std::uint64_t name_iid) {
    event_.number(track_event::type, type);
    event_.number(track_event::track_uuid, t);
    if (name_iid) event_.number(track_event::name_iid, name_iid);
    packet_.number(trace_packet::timestamp, when.v / 1000);
    packet_.number(trace_packet::trusted_packet_sequence_id, kSequence);
    packet_.number(trace_packet::sequence_flags, kNeedsIncrementalState);
    packet_.message(trace_packet::track_event, event_);
    put_packet(packet_);
    event_.clear();
    packet_.clear();
}

void TraceFile::begin(TrackId t, Picoseconds when, std::string_view name) {
    event(t, when, track_event::slice_begin, intern(name));
}
void TraceFile::end(TrackId t, Picoseconds when) { event(t, when, track_event::slice_end, 0); }
void TraceFile::instant(TrackId t, Picoseconds when, std::string_view name) {
    event(t, when, track_event::instant, intern(name));
}
void TraceFile::counter(TrackId t, Picoseconds when, std::int64_t value) {
    event_.number(track_event::counter_value, static_cast<std::uint64_t>(value));
    event(t, when, track_event::counter, 0);
}

} // namespace rkperf::soc
