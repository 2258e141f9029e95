// SPDX-License-Identifier: Apache-2.0
// A trace file in Perfetto's format: TracePackets with TrackEvents (protos/perfetto/trace of the Perfetto project). Times
// are simulated nanoseconds.
#pragma once

#include "sim/base/types.h"
#include "sim/soc/trace_proto.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace rkperf::soc {

/// Numbers of tracks, given out by TraceFile.
using TrackId = std::uint64_t;

class TraceFile {
  public:
    /// Throws std::runtime_error with one sentence if the file cannot be created.
    explicit TraceFile(const std::string& path);
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    /// A track of slices, or one that only groups others. `parent` 0: none. Children stand in the order of `rank`.
    TrackId track(std::string_view name, TrackId parent, int rank);
    TrackId counter_track(std::string_view name, TrackId parent, int rank);

    void begin(TrackId t, Picoseconds when, std::string_view name);
    void end(TrackId t, Picoseconds when);
    void instant(TrackId t, Picoseconds when, std::string_view name);
    void counter(TrackId t, Picoseconds when, std::int64_t value);

    /// Writes what is left; the reason if anything could not be written, otherwise empty.
    std::string close();

  private:
    struct Closer {
        void operator()(std::FILE* f) const { std::fclose(f); }
    };
    TrackId new_track(std::string_view name, TrackId parent, int rank, bool counter);
    std::uint64_t intern(std::string_view name);
    void event(TrackId t, Picoseconds when, unsigned type, std::uint64_t name_iid);
    void put_packet(const ProtoMessage& packet);
    void flush();

    std::string path_;
    std::unique_ptr<std::FILE, Closer> file_;
    std::string buffer_;
    std::map<std::string, std::uint64_t, std::less<>> names_;
    TrackId last_track_{};
    bool first_{true};
    int error_{};
    ProtoMessage event_, packet_; ///< kept for their memory
};

} // namespace rkperf::soc
