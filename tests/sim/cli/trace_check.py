#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a trace file: decodes the protocol buffers without any library and looks whether the trace makes sense.

usage: trace_check.py FILE

Prints a summary. Exit status 1 and the fault if the file is not a trace as Perfetto reads it: every event on a declared
track, names interned before they are used, slices closed and nested, times of a track not going back.
"""
import sys

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4


class Fault(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Fault(f"a number is cut off at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: number -> list of values."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            if size > len(data) - at:
                raise Fault(f"a field of {size} bytes is cut off at byte {at}")
            value, at = data[at:at + size], at + size
        else:
            raise Fault(f"wire type {kind} is not one that the writer uses")
        out.setdefault(key >> 3, []).append(value)
    return out


class Track:
    def __init__(self, name, parent, is_counter):
        self.name, self.parent, self.is_counter = name, parent, is_counter
        self.open, self.last = [], 0
        self.slices, self.instants, self.values = [], [], []


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def load(path):
    """The tracks of a trace, by uuid."""
    with open(path, "rb") as f:
        data = f.read()
    tracks, names = {}, {}
    packets = fields(data)
    if set(packets) != {1}:
        raise Fault(f"the file has fields other than packets: {sorted(packets)}")
    for number, raw in enumerate(packets[1]):
        packet = fields(raw)
        if number == 0 and packet.get(13) != [1]:
            raise Fault("the first packet does not start the sequence's state")
        for descriptor in packet.get(60, []):
            d = fields(descriptor)
            uuid, parent = d[1][0], d.get(5, [0])[0]
            if uuid in tracks:
                raise Fault(f"track {uuid} is declared twice")
            if parent and parent not in tracks:
                raise Fault(f"track {uuid} has an unknown parent {parent}")
            tracks[uuid] = Track(d[2][0].decode(), parent, 8 in d)
        for interned in packet.get(12, []):
            for entry in fields(interned).get(2, []):
                e = fields(entry)
                if e[1][0] in names:
                    raise Fault(f"name {e[1][0]} is interned twice")
                names[e[1][0]] = e[2][0].decode()
        for event in packet.get(11, []):
            take(fields(event), packet[8][0], tracks, names)
    for track in tracks.values():
        if track.open:
            raise Fault(f"track '{track.name}' has {len(track.open)} slices without an end, first '{track.open[0][0]}'")
    return tracks


def take(e, when, tracks, names):
    track = tracks.get(e[11][0])
    if track is None:
        raise Fault(f"an event is on the undeclared track {e[11][0]}")
    if when < track.last:
        raise Fault(f"track '{track.name}' goes back in time, from {track.last} to {when}")
    track.last = when
    kind = e[9][0]
    if (kind == COUNTER) != track.is_counter:
        raise Fault(f"event type {kind} does not fit track '{track.name}'")
    if kind == COUNTER:
        track.values.append((when, signed(e[30][0])))
    elif kind == SLICE_END:
        if not track.open:
            raise Fault(f"track '{track.name}': a slice ends at {when} that never began")
        name, start = track.open.pop()
        track.slices.append((name, start, when, len(track.open)))
    else:
        name = names.get(e[10][0])
        if name is None:
            raise Fault(f"name {e[10][0]} is used before it is interned")
        if kind == SLICE_BEGIN:
            track.open.append((name, when))
        elif kind == INSTANT:
            track.instants.append((name, when))
        else:
            raise Fault(f"unknown event type {kind}")


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    try:
        tracks = load(sys.argv[1])
    except (Fault, KeyError) as fault:
        print(f"trace_check: {sys.argv[1]}: {fault}", file=sys.stderr)
        return 1
    for track in tracks.values():
        path, at = track.name, track
        while at.parent:
            at = tracks[at.parent]
            path = f"{at.name} / {path}"
        parts = [(len(track.slices), "slices"), (len(track.instants), "instants"), (len(track.values), "values")]
        text = ", ".join(f"{n} {what}" for n, what in parts if n)
        if text:
            print(f"{path}: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
