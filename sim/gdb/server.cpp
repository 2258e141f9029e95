// SPDX-License-Identifier: Apache-2.0
#include "sim/gdb/server.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace rkperf::gdb {

namespace {

constexpr const char* kError = "E01";
constexpr const char* kMemoryError = "E0e"; ///< EFAULT
/// Replies are hexadecimal, and the packet has its frame.
constexpr std::uint64_t kMaxBytes = PacketReader::kMaxPacket / 2 - 8;

std::string thread_id(unsigned cpu) { return hex_number(cpu + 1); }

/// Bytes of register n in Registers, and whether it may be written.
struct Slot {
    void* at{};
    bool writable{true};
};
Slot slot(Registers& r, unsigned n) {
    if (n < reg::sp) return {&r.x[n]};
    if (n >= reg::v0 && n < reg::fpsr) return {r.v[n - reg::v0].data()};
    switch (n) {
        case reg::sp: return {&r.sp};
        case reg::pc: return {&r.pc};
        case reg::cpsr: return {&r.cpsr};
        case reg::fpsr: return {&r.fpsr};
        case reg::fpcr: return {&r.fpcr};
        case reg::tpidr: return {&r.tpidr};
        case reg::ttbr0: return {&r.ttbr0, false};
        default: return {&r.currentel, false};
    }
}

std::string xml_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '&')
            out += "&amp;";
        else
            out += static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126 ? '?' : c;
    }
    return out;
}

std::string bytes_of(Registers& r, unsigned n) {
    return to_hex({static_cast<const char*>(slot(r, n).at), register_bytes(n)});
}

} // namespace

std::optional<unsigned> Server::cpu_of(Fields& f) const {
    if (f.skip("p1.")) { // process 1, as in the multiprocess syntax
    }
    if (f.skip("-1")) return cpu_;
    const auto id = f.hex();
    if (!id) return std::nullopt;
    if (*id == 0) return cpu_;
    if (*id > target_.cpus()) return std::nullopt;
    return static_cast<unsigned>(*id - 1);
}

std::string Server::stopped(const Stop& stop) {
    last_ = stop;
    if (stop.why == Stop::Why::exited) {
        const int signo = stop.status & 0x7f;
        return (signo ? "X" : "W") + hex_le(static_cast<std::uint64_t>(signo ? signo : stop.status >> 8 & 0xff), 1);
    }
    cpu_ = stop.cpu;
    std::string text = stop.why == Stop::Why::interrupt ? "T02" : "T05";
    if (stop.why == Stop::Why::watchpoint) {
        text += stop.kind == PointKind::read ? "rwatch:" : stop.kind == PointKind::access ? "awatch:" : "watch:";
        text += hex_number(stop.address) + ";";
    } else if (stop.why == Stop::Why::breakpoint) {
        text += stop.kind == PointKind::hardware ? "hwbreak:;" : "swbreak:;";
    }
    return text + "thread:" + thread_id(stop.cpu) + ";";
}

Server::Reply Server::handle(std::string_view packet) {
    Reply reply;
    if (packet.empty()) return reply;
    Fields f(packet.substr(1));
    switch (packet[0]) {
        case '?': reply.text = stopped(last_); break;
        case 'g': reply.text = all_registers(); break;
        case 'G': reply.text = write_all(f.rest()); break;
        case 'p': {
            const auto n = f.hex();
            reply.text = n ? read_register(static_cast<unsigned>(std::min<std::uint64_t>(*n, reg::count))) : kError;
            break;
        }
        case 'P': {
            const auto n = f.hex();
            reply.text =
                n && *n < reg::count && f.skip('=') ? write_register(static_cast<unsigned>(*n), f.rest()) : kError;
            break;
        }
        case 'm': reply.text = read_memory(f); break;
        case 'M': reply.text = write_memory(f, false); break;
        case 'X': reply.text = write_memory(f, true); break;
        case 'Z': reply.text = point(f, true); break;
        case 'z': reply.text = point(f, false); break;
        case 'H': reply.text = select(f); break;
        case 'T': reply.text = cpu_of(f) ? "OK" : kError; break;
        case 'c':
        case 's':
            if (f.empty()) {
                target_.resume(packet[0] == 's' ? std::optional(cpu_) : std::nullopt,
                               std::vector<bool>(target_.cpus()));
                reply.send = false;
                reply.running = true;
            } else {
                reply.text = kError; // going on at another address: set pc instead
            }
            break;
        case 'D':
            target_.clear_points();
            target_.detach();
            reply.text = "OK";
            reply.gone = true;
            break;
        case 'k':
            target_.kill();
            reply.send = false;
            reply.gone = true;
            break;
        case 'v':
            if (packet == "vCont?") {
                reply.text = "vCont;c;C;s;S";
            } else if (f.skip("Cont;")) {
                resume(f, reply);
            } else if (f.skip("File:")) {
                reply.text = files_.handle(cpu_, f);
            } else if (packet.starts_with("vKill")) {
                target_.kill();
                reply.text = "OK";
                reply.gone = true;
            }
            break;
        case 'q':
        case 'Q': reply.text = query(packet, reply); break;
        default: break;
    }
    return reply;
}

std::string Server::select(Fields f) {
    const bool cont = f.skip('c');
    if (!cont && !f.skip('g')) return kError;
    const auto cpu = cpu_of(f);
    if (!cpu) return kError;
    cpu_ = *cpu;
    return "OK";
}

void Server::resume(Fields f, Reply& reply) {
    // Actions in order of precedence. A CPU that none is for is held (gdb's scheduler-locking).
    std::optional<unsigned> step;
    std::vector<bool> held(target_.cpus(), true);
    bool any = false;
    while (!f.empty()) {
        Fields action(f.until(';'));
        const bool steps = action.skip('s') || action.skip('S');
        if (!steps && !action.skip('c') && !action.skip('C')) {
            reply.text = kError;
            return;
        }
        action.hex(); // a signal for the program: there is no program that it would be for
        std::optional<unsigned> cpu = cpu_;
        bool all = true; // of those that have no action yet
        if (action.skip(':')) {
            Fields id = action;
            id.skip("p1.");
            all = id.skip("-1");
            cpu = cpu_of(action);
        }
        if (all && cpu && !held[*cpu]) {
            const auto next = std::find(held.begin(), held.end(), true);
            cpu = next == held.end() ? *cpu : static_cast<unsigned>(next - held.begin());
        }
        if (!cpu || !action.empty()) {
            reply.text = kError;
            return;
        }
        if (steps && !step && held[*cpu]) step = cpu;
        if (all)
            held.assign(held.size(), false);
        else
            held[*cpu] = false;
        any = true;
    }
    if (!any) {
        reply.text = kError;
        return;
    }
    target_.resume(step, held);
    reply.send = false;
    reply.running = true;
}

std::string Server::query(std::string_view packet, Reply& reply) {
    Fields f(packet);
    if (f.skip("qSupported"))
        return "PacketSize=" + hex_number(PacketReader::kMaxPacket) +
               ";qXfer:features:read+;qXfer:threads:read+;qXfer:auxv:read+;qXfer:exec-file:read+;QStartNoAckMode+;"
               "swbreak+;hwbreak+;vContSupported+";
    if (packet == "QStartNoAckMode") {
        reply.no_ack = true;
        return "OK";
    }
    if (packet == "qfThreadInfo") {
        std::string ids = "m";
        for (unsigned c = 0; c < target_.cpus(); ++c) ids += (c ? "," : "") + thread_id(c);
        return ids;
    }
    if (packet == "qsThreadInfo") return "l";
    if (packet == "qC") return "QC" + thread_id(cpu_);
    if (packet == "qAttached") return "1";
    if (packet.starts_with("qSymbol")) return "OK";
    if (f.skip("qThreadExtraInfo,")) {
        const auto cpu = cpu_of(f);
        return cpu ? to_hex(target_.cpu_text(*cpu)) : kError;
    }
    if (f.skip("qXfer:features:read:target.xml:")) return transfer(target_xml(), f);
    if (f.skip("qXfer:threads:read::")) return thread_list(f);
    if (f.skip("qXfer:auxv:read::")) {
        const std::vector<std::uint8_t> bytes = target_.auxv(cpu_);
        return transfer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, f);
    }
    if (f.skip("qXfer:exec-file:read:")) {
        f.until(':'); // the process: there is one
        const std::string path = target_.exec_file(cpu_);
        return path.empty() ? kError : transfer(path, f);
    }
    if (f.skip("qRcmd,")) {
        const auto command = from_hex(f.rest());
        if (!command) return kError;
        std::string text = target_.monitor(cpu_, *command);
        if (text.empty()) return "OK";
        if (text.size() > kMaxBytes) text.resize(kMaxBytes);
        return to_hex(text);
    }
    return "";
}

std::string Server::transfer(std::string_view document, Fields f) {
    const auto offset = f.hex();
    const bool comma = f.skip(',');
    const auto length = f.hex();
    if (!offset || !comma || !length) return kError;
    if (*offset >= document.size()) return "l";
    const std::string_view part = document.substr(*offset, std::min(*length, kMaxBytes));
    return (*offset + part.size() < document.size() ? "m" : "l") + std::string(part);
}

std::string Server::thread_list(Fields f) {
    std::string xml = "<?xml version=\"1.0\"?><threads>";
    for (unsigned c = 0; c < target_.cpus(); ++c)
        xml += "<thread id=\"" + thread_id(c) + "\" core=\"" + std::to_string(c) + "\" name=\"cpu" + std::to_string(c) +
               "\">" + xml_text(target_.cpu_text(c)) + "</thread>";
    return transfer(xml + "</threads>", f);
}

// --- registers and memory ---

std::string Server::read_register(unsigned n) {
    if (n >= reg::count) return kError;
    Registers r = target_.registers(cpu_);
    return bytes_of(r, n);
}

std::string Server::all_registers() {
    Registers r = target_.registers(cpu_);
    std::string out;
    for (unsigned n = 0; n < reg::count; ++n) out += bytes_of(r, n);
    return out;
}

std::string Server::write_register(unsigned n, std::string_view hex) {
    const auto bytes = from_hex(hex);
    if (!bytes || bytes->size() != register_bytes(n)) return kError;
    Registers r = target_.registers(cpu_);
    const Slot s = slot(r, n);
    if (!s.writable) return kError;
    std::memcpy(s.at, bytes->data(), bytes->size());
    return target_.set_registers(cpu_, r) ? "OK" : kError;
}

std::string Server::write_all(std::string_view hex) {
    const auto bytes = from_hex(hex);
    if (!bytes) return kError;
    Registers r = target_.registers(cpu_);
    std::size_t at = 0;
    for (unsigned n = 0; n < reg::count; at += register_bytes(n), ++n) {
        if (at + register_bytes(n) > bytes->size()) return kError;
        const Slot s = slot(r, n);
        if (s.writable) std::memcpy(s.at, bytes->data() + at, register_bytes(n));
    }
    if (at != bytes->size()) return kError;
    return target_.set_registers(cpu_, r) ? "OK" : kError;
}

std::string Server::read_memory(Fields f) {
    const auto address = f.hex();
    const bool comma = f.skip(',');
    const auto length = f.hex();
    if (!address || !comma || !length || !f.empty()) return kError;
    std::vector<std::uint8_t> bytes(std::min(*length, kMaxBytes));
    const std::size_t n = target_.read_memory(cpu_, *address, bytes);
    if (!n && *length) return kMemoryError;
    return to_hex({reinterpret_cast<const char*>(bytes.data()), n});
}

std::string Server::write_memory(Fields f, bool binary) {
    const auto address = f.hex();
    const bool comma = f.skip(',');
    const auto length = f.hex();
    if (!address || !comma || !length || !f.skip(':')) return kError;
    const auto bytes = binary ? std::optional(std::string(f.rest())) : from_hex(f.rest());
    if (!bytes || bytes->size() != *length) return kError;
    const std::span from(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
    return target_.write_memory(cpu_, *address, from) == bytes->size() ? "OK" : kMemoryError;
}

std::string Server::point(Fields f, bool set) {
    const auto kind = f.hex();
    const bool comma = f.skip(',');
    const auto address = f.hex();
    if (!kind || !comma || !address || !f.skip(',')) return kError;
    const auto length = f.hex();
    if (!length) return kError;
    if (*kind > 4) return "";      // not a kind that is known
    if (!f.empty()) return kError; // conditions and commands were not offered
    return target_.set_point(static_cast<PointKind>(*kind), *address, *length, set) ? "OK" : kError;
}

} // namespace rkperf::gdb
