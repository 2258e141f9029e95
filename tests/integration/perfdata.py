# SPDX-License-Identifier: Apache-2.0
"""A small reader of perf.data files, written from the format's description (Linux, tools/perf/Documentation/
perf.data-file-format.txt, and include/uapi/linux/perf_event.h), independent of both the writer and perf."""
import struct

MAGIC = b"PERFILE2"
MMAP, LOST, COMM, EXIT, THROTTLE, UNTHROTTLE, FORK, READ, SAMPLE, MMAP2 = range(1, 11)

CPU_MODE, MODE_KERNEL, MODE_USER = 7, 1, 2  # of a record's misc

# Bits of sample_type in the order of the fields in a sample; the type of each plain field.
FIELDS = [("identifier", 1 << 16, "Q"), ("ip", 1 << 0, "Q"), ("pid_tid", 1 << 1, "II"), ("time", 1 << 2, "Q"),
          ("addr", 1 << 3, "Q"), ("id", 1 << 6, "Q"), ("stream_id", 1 << 9, "Q"), ("cpu", 1 << 7, "II"),
          ("period", 1 << 8, "Q")]
READ_BIT, CALLCHAIN_BIT = 1 << 4, 1 << 5
CONTEXT_MAX = (1 << 64) - 4095  # from here on an entry of a chain tells the context


class Fault(Exception):
    pass


class PerfData:
    """attrs: the first fields of each perf_event_attr; records: (type, misc, body); samples: dictionaries."""

    def __init__(self, path):
        with open(path, "rb") as f:
            d = f.read()
        if d[:8] != MAGIC:
            raise Fault("the magic number is missing")
        size, attr_size, attrs_at, attrs_size, data_at, data_size = struct.unpack_from("<6Q", d, 8)
        if size != 104 or attrs_size % attr_size or data_at + data_size > len(d):
            raise Fault("the header does not describe the file")
        self.attrs = [self.attr(d, at) for at in range(attrs_at, attrs_at + attrs_size, attr_size)]
        self.records, self.samples = [], []
        at, end = data_at, data_at + data_size
        while at < end:
            kind, misc, length = struct.unpack_from("<IHH", d, at)
            if length < 8 or length % 8 or at + length > end:
                raise Fault(f"a record of {length} bytes at {at}")
            body = d[at + 8:at + length]
            self.records.append((kind, misc, body))
            if kind == SAMPLE:
                self.samples.append(self.sample(misc, body))
            at += length

    @staticmethod
    def attr(d, at):
        kind, size, config, period, sample_type, read_format, bits = struct.unpack_from("<IIQQQQQ", d, at)
        return {"type": kind, "size": size, "config": config, "period": period, "sample_type": sample_type,
                "read_format": read_format, "bits": bits, "freq": bits >> 10 & 1}

    def sample(self, misc, body):
        attr = self.attrs[0]
        out, at = {"misc": misc, "period": attr["period"]}, 0
        for name, bit, form in FIELDS:
            if attr["sample_type"] & bit:
                values = struct.unpack_from("<" + form, body, at)
                out[name] = values[0] if len(values) == 1 else values
                at += struct.calcsize("<" + form)
        if attr["sample_type"] & READ_BIT:
            raise Fault("samples with counter values are not decoded here")
        if attr["sample_type"] & CALLCHAIN_BIT:
            (n,) = struct.unpack_from("<Q", body, at)
            if 8 * n > len(body) - at - 8:
                raise Fault(f"a call chain of {n} entries in a sample of {len(body)} bytes")
            out["chain"] = struct.unpack_from(f"<{n}Q", body, at + 8)
        return out

    def of_kind(self, kind):
        return [r for r in self.records if r[0] == kind]


def user_chain(sample):
    """Addresses of the user part of a chain, innermost first."""
    user, out = False, []
    for entry in sample["chain"]:
        if entry >= CONTEXT_MAX:
            user = entry == (1 << 64) - 512  # PERF_CONTEXT_USER
        elif user:
            out.append(entry)
    return out
