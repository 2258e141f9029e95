// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace rkperf::cli {

namespace {

using sv = std::string_view;

struct OptionRow {
    sv name; ///< without dashes
    bool takes_value;
};
constexpr std::array kOwnOptions{
    OptionRow{"machine", true},     OptionRow{"set", true},     OptionRow{"seed", true},
    OptionRow{"cpus", true},        OptionRow{"root", true},    OptionRow{"bind", true},
    OptionRow{"env", true},         OptionRow{"trace", true},   OptionRow{"gdb", true},
    OptionRow{"log", true},         OptionRow{"quantum", true}, OptionRow{"timing", true},
    OptionRow{"warm-up", true},     OptionRow{"totals", true},  OptionRow{"check-fast", false},
    OptionRow{"timeout-sim", true}, OptionRow{"quiet", false},  OptionRow{"stats", false},
    OptionRow{"help", false},       OptionRow{"skid", false},
};
/// perf's options with a value: where the program begins cannot be told without them.
constexpr sv kClientLetters = "ecFCptomrIDx";
constexpr std::array kClientWithValue{
    sv("event"),           sv("cpu"),        sv("pid"),        sv("tid"),      sv("repeat"), sv("interval-print"),
    sv("interval-count"),  sv("delay"),      sv("timeout"),    sv("output"),   sv("count"),  sv("freq"),
    sv("field-separator"), sv("call-graph"), sv("mmap-pages"), sv("realtime"),
};

struct CommandRow {
    Command command;
    sv name, summary;
    bool client; ///< starts the perf client
};
constexpr std::array kCommands{
    CommandRow{Command::run, "run", "run an AArch64 program", false},
    CommandRow{Command::stat, "stat", "count events while a program runs, and compare with the truth", true},
    CommandRow{Command::record, "record", "sample a program into a perf.data file, and compare with the truth", true},
    CommandRow{Command::explain, "explain", "show the way of one sample, step by step", true},
    CommandRow{Command::machine, "machine", "show the machine description and where each value comes from", false},
};

const OptionRow* own_option(sv token) {
    if (!token.starts_with("--")) return nullptr;
    const sv name = token.substr(2, token.find('=') == sv::npos ? sv::npos : token.find('=') - 2);
    const auto it =
        std::find_if(kOwnOptions.begin(), kOwnOptions.end(), [&](const OptionRow& o) { return o.name == name; });
    return it == kOwnOptions.end() ? nullptr : &*it;
}

/// Does this token of the perf client's take the next one as its value?
bool client_takes_next(sv token) {
    if (token.starts_with("--")) {
        return std::find(kClientWithValue.begin(), kClientWithValue.end(), token.substr(2)) != kClientWithValue.end();
    }
    for (std::size_t i = 1; i < token.size(); ++i)
        if (kClientLetters.find(token[i]) != sv::npos) return i + 1 == token.size();
    return false;
}

struct Split {
    std::vector<std::string> own, client, program;
};

Split split(const std::vector<std::string>& args, const CommandRow& command) {
    Split out;
    std::size_t i = 1;
    const auto take = [&](std::vector<std::string>& to, bool with_value) {
        to.push_back(args[i++]);
        if (with_value && i < args.size()) to.push_back(args[i++]);
    };
    while (i < args.size()) {
        const std::string& a = args[i];
        if (a == "--") {
            ++i;
            break;
        }
        if (a.size() < 2 || a[0] != '-') break;
        const OptionRow* own = own_option(a);
        if (own)
            take(out.own, own->takes_value && a.find('=') == sv::npos);
        else if (a == "-h")
            take(out.own, false);
        else if (command.command == Command::explain && (a == "-n" || a == "--sample"))
            take(out.own, true);
        else if (command.command == Command::explain && (a.starts_with("-n") || a.starts_with("--sample=")))
            take(out.own, false);
        else if (command.client)
            take(out.client, client_takes_next(a));
        else
            take(out.own, false);
    }
    out.program.assign(args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
    return out;
}

constexpr sv kClientHelp =
    "perf's options go to the perf client of the simulated system unchanged, among them:\n"
    "  -e EVENTS  -a  -C CPUS  -p PIDS  -t TIDS  -o FILE  --no-inherit  --all-user  --all-kernel\n"
    "  stat:   -r N  -I MS  -x SEP  -A  -d  --no-scale      record: -c PERIOD  -F FREQUENCY  -g  -m PAGES  -d  -T\n"
    "'rkperf run -- build/workloads/miniperf stat --help' lists all of them.\n";

bool split_bind(const std::string& text, BindOption& out) {
    std::string rest = text;
    if (rest.ends_with(":ro")) out.writable = false, rest.resize(rest.size() - 3);
    const std::size_t colon = rest.find(':');
    out.host = rest.substr(0, colon);
    out.guest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    if (out.host.empty()) return false;
    return colon == std::string::npos || out.guest.starts_with('/');
}

ParseResult fault(std::string text) { return {std::nullopt, kExitUsage, "rkperf: " + std::move(text) + "\n"}; }

/// CLI11 does not know that a program follows the options.
class Usage : public CLI::Formatter {
  public:
    explicit Usage(const CommandRow& row) : row_(row) { column_width(28); }
    std::string make_usage(const CLI::App*, std::string) const override {
        if (row_.command == Command::machine) return "usage: rkperf machine [OPTION]...\n";
        return fmt::format("usage: rkperf {} [OPTION]... {}[--] PROGRAM [ARGUMENT]...\n", row_.name,
                           row_.client ? "[PERF OPTION]... " : "");
    }

  private:
    const CommandRow& row_;
};

/// The texts of options as CLI11 stores them.
struct Raw {
    std::vector<std::string> sets, binds, envs;
    std::string seed, quantum, timing, warm_up, timeout;
    bool version{};
};

void add_own_options(CLI::App& app, const CommandRow& row, Options& o, Raw& raw) {
    app.add_option("--machine", o.machine, "machine description: a file, or a name such as rk3588-mainline");
    app.add_option("--set", raw.sets, "changes one value of it, KEY=VALUE (again and again)")->expected(1)->take_all();
    app.add_option("--seed", raw.seed, "start of all random numbers");
    app.add_option("--quantum", raw.quantum, "how far a core may run ahead of the others, for instance 10us");
    app.add_option("--timing", raw.timing, "full, none (fast-forward), or regions that the program marks");
    app.add_option("--warm-up", raw.warm_up, "instructions of programs to execute without timing first");
    if (row.command == Command::machine) return;
    app.add_option("--cpus", o.cpus_text, "CPUs the program may use, for instance 4 or 0-3,6");
    app.add_option("--root", o.root, "folder of the host that the program sees as /, read-only");
    app.add_option("--bind", raw.binds, "HOST[:GUEST][:ro], a folder or file of the host to be seen, too")
        ->expected(1)
        ->take_all();
    app.add_option("--env", raw.envs, "NAME=VALUE for the program's environment")->expected(1)->take_all();
    app.add_option("--trace", o.trace, "writes what happens to FILE, to be opened in Perfetto");
    app.add_option("--log", o.log, "error, warn, info or debug: what of the kernel's log is shown")
        ->check(CLI::IsMember({"error", "warn", "info", "debug"}));
    app.add_option("--timeout-sim", raw.timeout, "ends the run after this simulated time, for instance 5s");
    app.add_option("--totals", o.totals, "writes the totals of all events on all cores to FILE");
    app.add_flag("--check-fast", o.check_fast,
                 "runs twice, with the plain and the fast loops, and compares all results");
    app.add_flag("--quiet", o.quiet, "prints nothing of its own but faults");
    app.add_flag(row.client ? "--stats" : "--stats,-v", o.stats, "ends with a line of instructions, time and speed");
    if (row.command == Command::run)
        app.add_option("--gdb", o.gdb, "waits for gdb on PORT (of this host only), HOST:PORT, unix:PATH or stdio");
    if (row.command == Command::explain) {
        app.add_option("-n,--sample", o.nth_sample, "which sample, 1 is the first")
            ->check(CLI::Range(1u, 1'000'000'000u));
        app.add_flag("--skid", o.skid, "of all samples, how far each was from the event: tables and histograms");
    }
    if (row.client) app.footer(std::string(kClientHelp));
}

ParseResult finish(Options o, const Raw& raw) {
    for (const std::string& s : raw.sets) {
        const std::size_t eq = s.find('=');
        if (eq == std::string::npos || eq == 0) return fault(fmt::format("--set {}: wants KEY=VALUE", s));
        o.overrides.push_back({"--set", s.substr(0, eq), s.substr(eq + 1)});
    }
    if (!raw.seed.empty()) o.overrides.push_back({"--seed", "seed", raw.seed});
    if (!raw.quantum.empty()) o.overrides.push_back({"--quantum", "sim.quantum", raw.quantum});
    if (!raw.timing.empty()) o.overrides.push_back({"--timing", "sim.timing", raw.timing});
    if (!raw.warm_up.empty()) o.overrides.push_back({"--warm-up", "sim.warm_up", raw.warm_up});
    if (o.check_fast && (!o.gdb.empty() || !o.trace.empty() || !o.totals.empty() || o.stats))
        return fault("--check-fast runs twice, and does not go with --gdb, --trace, --totals or --stats");
    if (!raw.timeout.empty()) {
        const auto t = soc::parse_time(raw.timeout);
        if (!t || *t <= 0) return fault(fmt::format("--timeout-sim {}: wants a time such as 5s or 200ms", raw.timeout));
        o.timeout = Picoseconds(static_cast<std::uint64_t>(*t));
    }
    for (const std::string& b : raw.binds) {
        BindOption bind;
        if (!split_bind(b, bind))
            return fault(fmt::format("--bind {}: wants HOST[:GUEST][:ro] with an absolute GUEST path", b));
        o.binds.push_back(bind);
    }
    for (const std::string& e : raw.envs) {
        if (e.find('=') == std::string::npos || e[0] == '=') return fault(fmt::format("--env {}: wants NAME=VALUE", e));
        o.env.push_back(e);
    }
    if (!o.cpus_text.empty()) {
        const auto mask = parse_cpu_list(o.cpus_text);
        if (!mask) return fault(fmt::format("--cpus {}: wants a list of CPUs such as 4 or 0-3,6", o.cpus_text));
        o.cpus = *mask;
    }
    ParseResult r;
    r.options = std::move(o);
    return r;
}

} // namespace

sv command_name(Command c) {
    return std::find_if(kCommands.begin(), kCommands.end(), [&](const CommandRow& r) { return r.command == c; })->name;
}

std::optional<std::uint32_t> parse_cpu_list(sv text) {
    std::uint32_t mask = 0;
    const auto number = [&](unsigned& v) {
        std::size_t n = 0;
        for (v = 0; n < text.size() && n < 2 && text[n] >= '0' && text[n] <= '9'; ++n)
            v = v * 10 + static_cast<unsigned>(text[n] - '0');
        text.remove_prefix(n);
        return n > 0 && v < 32;
    };
    for (;;) {
        unsigned first = 0, last = 0;
        if (!number(first)) return std::nullopt;
        last = first;
        if (text.starts_with('-')) {
            text.remove_prefix(1);
            if (!number(last) || last < first) return std::nullopt;
        }
        for (unsigned i = first; i <= last; ++i) mask |= 1u << i;
        if (text.empty()) return mask;
        if (text[0] != ',') return std::nullopt;
        text.remove_prefix(1);
    }
}

ParseResult parse_options(const std::vector<std::string>& args) {
    Options o;
    Raw raw;
    CLI::App app("Simulates an RK3588 and shows how events become perf's numbers.", "rkperf");
    app.set_version_flag("--version", kVersion);
    app.require_subcommand(1);
    app.footer("'rkperf COMMAND --help' tells more about each.");
    app.get_formatter()->column_width(28);
    for (const CommandRow& row : kCommands) {
        CLI::App* sub = app.add_subcommand(std::string(row.name), std::string(row.summary));
        add_own_options(*sub, row, o, raw);
        sub->formatter(std::make_shared<Usage>(row));
    }

    const CommandRow* row = nullptr;
    Split parts;
    if (!args.empty()) {
        const auto it =
            std::find_if(kCommands.begin(), kCommands.end(), [&](const CommandRow& r) { return r.name == args[0]; });
        if (it != kCommands.end()) row = &*it;
    }
    std::vector<std::string> own;
    if (row) {
        parts = split(args, *row);
        own = parts.own;
        own.insert(own.begin(), args[0]);
    } else {
        if (args.empty()) return {std::nullopt, kExitUsage, app.help()};
        if (!args[0].starts_with('-'))
            return fault(
                fmt::format("there is no command '{}'; there are run, stat, record, explain and machine", args[0]));
        if (args[0] != "-h" && args[0] != "--help" && args[0] != "--version")
            return fault(fmt::format("there is no option '{}'; 'rkperf --help' tells more", args[0]));
        own = {args[0]};
    }
    try {
        std::reverse(own.begin(), own.end());
        app.parse(own);
    } catch (const CLI::CallForHelp&) {
        return {std::nullopt, 0, row ? app.get_subcommand(std::string(row->name))->help() : app.help()};
    } catch (const CLI::CallForVersion& v) {
        return {std::nullopt, 0, std::string(v.what()) + "\n"};
    } catch (const CLI::ExtrasError& e) {
        const std::vector<std::string> left = app.remaining(true);
        const auto option = std::find_if(left.begin(), left.end(), [](sv a) { return a.starts_with('-'); });
        if (option != left.end())
            return fault(fmt::format("{}: there is no option '{}'; 'rkperf {} --help' lists them", row->name,
                                     option->substr(0, option->find('=')), row->name));
        return fault(fmt::format("{}: {}", row->name, e.what()));
    } catch (const CLI::ParseError& e) {
        return fault(fmt::format("{}: {}", row ? row->name : "rkperf", e.what()));
    }
    o.command = row->command;
    if (o.command == Command::machine && !parts.program.empty())
        return fault(fmt::format("machine: '{}' has no meaning here; 'rkperf machine --help' lists the options",
                                 parts.program[0]));
    o.client_args = std::move(parts.client);
    o.program = std::move(parts.program);
    // The same word is perf's, too.
    if (o.quiet && o.command == Command::record) o.client_args.insert(o.client_args.begin(), "-q");
    return finish(std::move(o), raw);
}

} // namespace rkperf::cli
