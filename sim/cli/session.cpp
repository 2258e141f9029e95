// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/session.h"

#include "kernel_events/internal.h"
#include "sim/cli/progress.h"
#include "sim/cli/signals.h"
#include "sim/cli/symbol_cache.h"
#include "sim/gdb/stub.h"
#include "sim/soc/explain_observer.h"
#include "sim/soc/explain_symbols.h"
#include "sim/soc/machine.h"
#include "sim/soc/skid_observer.h"
#include "sim/soc/totals_report.h"
#include "sim/soc/trace_observer.h"
#include "sim/soc/truth_observer.h"

#include <fmt/format.h>

#include <unistd.h>
#include <bitset>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace rkperf::cli {

namespace {

constexpr int kExitTimeout = 124; ///< as timeout(1)
constexpr int kExitStuck = 1;
constexpr int kExitNoSample = 1;
/// Of the perf client: a mistake on its command line, and anything that it could not do, such as write its file.
constexpr int kClientUsageStatus = 129, kClientFailedStatus = 255;
/// What the client may take to finish its file after --timeout-sim.
constexpr Picoseconds kTimeoutGrace{1'000'000'000'000};

/// Tells a failure of the client's own from a program that ended with the same status.
class ClientWatch final : public os::KernelObserver {
  public:
    bool follows_frames() const override { return false; }
    void task_created(const os::Task& t) override {
        if (!client_ && !t.kthread) client_ = t.pid; // the first program
    }
    void task_exited(const os::Task& t) override {
        if (t.pid == client_) return;
        const int sig = t.exit_code & 0x7f;
        of_programs_.set(static_cast<std::size_t>(sig ? 128 + sig : t.exit_code >> 8 & 0xff));
    }
    /// `status` is the client's way to say that it failed, and no program's.
    bool failed(int status) const {
        return (status == kClientUsageStatus || status == kClientFailedStatus) &&
               !of_programs_[static_cast<std::size_t>(status)];
    }

  private:
    int client_{};
    std::bitset<256> of_programs_;
};

void print_kernel_log(const Options& o, const std::vector<std::string>& log) {
    // What the guest wanted and did not get names itself always; the rest is what dmesg would show.
    const bool all = o.log == "info" || o.log == "debug";
    if (o.log == "error") return;
    for (const std::string& line : log) {
        const bool needed = line.find("not implemented") != std::string::npos ||
                            line.find("undefined instruction") != std::string::npos || line.starts_with("cannot start");
        if (all || needed) fmt::print(stderr, "rkperf: kernel: {}\n", line);
    }
}

/// --totals.
void write_text(const std::string& path, const std::string& text) {
    std::FILE* const f = std::fopen(path.c_str(), "w");
    const bool written = f && std::fwrite(text.data(), 1, text.size(), f) == text.size();
    const int error = errno;
    if ((f && std::fclose(f) != 0) || !written)
        throw UserError(fmt::format("--totals {}: {}", path, std::strerror(error)));
}

} // namespace

void print_text(std::string_view text) {
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw UserError(fmt::format("standard output: cannot write: {}", std::strerror(errno)));
}

int run_session(const Options& o) {
    soc::LoadedConfig machine_config = load_machine(o);
    machine_config.config.plain_loop |= o.plain_loop;
    const Start start = prepare_start(o);
    const os::MountConfig& mounts = start.files.mounts();

    std::unique_ptr<soc::TraceFile> trace_file;
    if (!o.trace.empty()) try {
            trace_file = std::make_unique<soc::TraceFile>(o.trace);
        } catch (const std::runtime_error& e) {
            throw UserError(fmt::format("--trace {}", e.what()));
        }
    std::unique_ptr<soc::Machine> machine;
    try {
        // The client is told first, so that it leaves a whole file behind; a program alone just ends.
        const bool tell = start.client && o.timeout < kNever - kTimeoutGrace;
        machine = std::make_unique<soc::Machine>("rk3588", machine_config.config, mounts,
                                                 tell ? o.timeout + kTimeoutGrace : o.timeout);
    } catch (const std::invalid_argument& e) {
        throw UserError(e.what());
    }
    ClientWatch client;
    if (start.client) machine->kernel().add_observer(client);
    std::optional<soc::TruthObserver> truth;
    if (start.client && o.command != Command::explain) truth.emplace(*machine);
    soc::GuestSymbols symbols(machine->kernel(),
                              [&](const std::string& guest) { return start.files.host_path(guest); });
    std::optional<soc::SkidObserver> skid;
    if (o.command == Command::explain && o.skid) skid.emplace(*machine);
    std::optional<soc::ExplainObserver> explain;
    if (o.command == Command::explain && !o.skid)
        explain.emplace(*machine, o.nth_sample,
                        [&](const ke::TaskBase& task, std::uint64_t pc) { return symbols.name(task, pc); });

    std::optional<soc::TraceObserver> trace;
    if (trace_file) trace.emplace(*machine, *trace_file);

    std::optional<gdb::Stub> stub;
    if (!o.gdb.empty()) try {
            stub.emplace(*machine, o.gdb);
            if (o.gdb != "stdio") fmt::print(stderr, "rkperf: gdb: target remote {}\n", stub->address());
        } catch (const std::runtime_error& e) {
            throw UserError(fmt::format("--gdb {}: {}", o.gdb, e.what()));
        }

    os::InitProgram init;
    init.path = start.path;
    init.argv = start.argv;
    init.envp = guest_environment(o, mounts.cwd);
    init.affinity = o.cpus & ((1u << machine->cores()) - 1);

    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    Progress progress(terminal && !o.quiet);
    InterruptWatch interrupts;
    int passed_on = 0;
    bool late = false;
    const auto poll = [&](const soc::RunResult& r) {
        progress.update(r);
        if (stub && !stub->poll()) return false;
        if (interrupts.count() > passed_on) {
            ++passed_on;
            return false;
        }
        // A guest in which everybody sleeps does not notice its timeout.
        late = o.timeout != kNever && r.time >= o.timeout;
        return !late || (start.client && r.time - o.timeout < kTimeoutGrace);
    };
    const soc::RunResult result = machine->run(std::move(init), poll, o.timeout);
    progress.clear();
    std::fflush(stdout);
    if (stub && result.finished) stub->finished(result.status);
    if (truth && !o.quiet) std::fputs(soc::print_truth(truth->finish()).c_str(), stderr);
    if (o.command == Command::record)
        if (const std::string fault = store_kernel_symbols(); !fault.empty() && !o.quiet)
            fmt::print(stderr, "rkperf: {}\n", fault);
    if (explain && explain->result()) {
        print_text(soc::print_explanation(*explain->result(), o.nth_sample, machine_config.config));
    }
    if (skid) print_text(soc::print_skid(*skid, machine_config.config));
    if (!o.totals.empty()) write_text(o.totals, soc::print_totals(*machine));
    if (trace) trace->finish();
    const std::string trace_fault = trace_file ? trace_file->close() : "";
    print_kernel_log(o, machine->kernel().log());
    if (o.stats || (terminal && !o.quiet && o.command == Command::run))
        fmt::print(stderr, "rkperf: {}\n", progress.summary(result));
    if (o.stats) {
        // Nothing once all programs have ended, whatever they did.
        const ke::Perf::Impl& perf = machine->kernel().perf().impl();
        fmt::print(stderr, "rkperf: perf has {} events, {} contexts, {} buffers and {} references to tasks left\n",
                   perf.nr_live_events, perf.nr_live_contexts, perf.nr_live_buffers(),
                   machine->kernel().perf_task_refs());
    }

    if (!trace_fault.empty()) throw UserError(trace_fault);
    if (result.timed_out || late) {
        fmt::print(stderr, "rkperf: ended after {} of simulated time (--timeout-sim)\n", human_time(o.timeout));
        return kExitTimeout;
    }
    if (!result.finished && result.interrupted) return 128 + SIGINT;
    if (!result.finished) {
        fmt::print(stderr,
                   "rkperf: nothing can happen any more: every task waits, and no timer or device will wake one\n");
        return kExitStuck;
    }
    const int status = result.exit_code();
    if (start.client && client.failed(status)) return kExitUsage;
    if (explain && !explain->result() && !status) {
        fmt::print(stderr, "rkperf: there is no sample {}: only {} were written\n", o.nth_sample, explain->samples());
        return kExitNoSample;
    }
    return status;
}

} // namespace rkperf::cli
