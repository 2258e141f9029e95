// SPDX-License-Identifier: Apache-2.0
#include "sim/gdb/stub.h"

namespace rkperf::gdb {

Stub::Stub(soc::Machine& machine, std::string_view where)
    : transport_(where), target_(machine, [this](const Stop& stop) { serve(stop); }), server_(target_) {
    target_.stop_at_start();
}

void Stub::send(std::string_view data) {
    last_sent_ = make_packet(data);
    if (!transport_.write(last_sent_)) leave();
}

void Stub::leave() {
    if (!gone_) target_.detach();
    gone_ = true;
    transport_.close();
}

void Stub::serve(const Stop& stop) {
    if (gone_) return;
    const bool first = !transport_.connected() || stop.why == Stop::Why::start;
    if (!transport_.accept()) return leave();
    const std::string reply = server_.stopped(stop);
    if (!first) send(reply); // at the start gdb asks for it
    while (!gone_) {
        // One byte at a time from the kernel's buffer: what follows a "continue" belongs to the next stop.
        std::uint8_t byte = 0;
        if (!transport_.read(&byte, 1)) return leave();
        switch (reader_.feed(byte)) {
            case PacketReader::Event::none:
            case PacketReader::Event::ack: break;
            case PacketReader::Event::nak:
                if (!last_sent_.empty() && !transport_.write(last_sent_)) return leave();
                break;
            case PacketReader::Event::interrupt: break; // it stands already
            case PacketReader::Event::bad:
                if (acks_ && !transport_.write("-")) return leave();
                break;
            case PacketReader::Event::packet: {
                if (acks_ && !transport_.write("+")) return leave();
                const Server::Reply r = server_.handle(reader_.data());
                if (r.send) send(r.text);
                if (r.no_ack) acks_ = false;
                if (r.gone) return leave();
                if (r.running) return;
                break;
            }
        }
    }
}

bool Stub::poll() {
    if (gone_) return !target_.killed();
    bool interrupted = false;
    while (!gone_ && transport_.readable()) {
        std::uint8_t byte = 0;
        if (!transport_.read(&byte, 1)) {
            leave();
            break;
        }
        // While the machine runs only Ctrl-C and acknowledgements are meant to come; packets are too early.
        if (reader_.feed(byte) == PacketReader::Event::interrupt) interrupted = true;
    }
    if (interrupted) {
        Stop stop;
        stop.why = Stop::Why::interrupt;
        stop.cpu = target_.busy_cpu();
        serve(stop);
    }
    return !target_.killed();
}

void Stub::finished(int status) {
    if (gone_ || !transport_.connected()) return;
    Stop stop;
    stop.why = Stop::Why::exited;
    stop.status = status;
    send(server_.stopped(stop));
    leave();
}

} // namespace rkperf::gdb
