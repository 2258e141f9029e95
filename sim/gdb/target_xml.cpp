// SPDX-License-Identifier: Apache-2.0
// The target description (gdb manual, appendix G): the features that gdb knows for aarch64, and one of our own for what
// only a machine has.
#include "sim/gdb/server.h"

namespace rkperf::gdb {

unsigned register_bytes(unsigned n) {
    if (n >= reg::v0 && n < reg::fpsr) return 16;
    return n == reg::cpsr || n == reg::fpsr || n == reg::fpcr || n == reg::currentel ? 4 : 8;
}

std::string target_xml() {
    std::string s =
        "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
        "<architecture>aarch64</architecture><osabi>GNU/Linux</osabi>"
        "<feature name=\"org.gnu.gdb.aarch64.core\">";
    const auto add = [&s](const std::string& name, unsigned bits, const char* type, unsigned number) {
        s += "<reg name=\"" + name + "\" bitsize=\"" + std::to_string(bits) + "\"";
        if (*type) s += std::string(" type=\"") + type + "\"";
        s += " regnum=\"" + std::to_string(number) + "\"/>";
    };
    for (unsigned i = 0; i < 31; ++i) add("x" + std::to_string(i), 64, "", reg::x0 + i);
    add("sp", 64, "data_ptr", reg::sp);
    add("pc", 64, "code_ptr", reg::pc);
    s += "<flags id=\"cpsr_flags\" size=\"4\"><field name=\"SS\" start=\"21\" end=\"21\"/>"
         "<field name=\"V\" start=\"28\" end=\"28\"/><field name=\"C\" start=\"29\" end=\"29\"/>"
         "<field name=\"Z\" start=\"30\" end=\"30\"/><field name=\"N\" start=\"31\" end=\"31\"/></flags>";
    add("cpsr", 32, "cpsr_flags", reg::cpsr);
    s += "</feature><feature name=\"org.gnu.gdb.aarch64.fpu\">"
         "<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/><vector id=\"v2u\" type=\"uint64\" count=\"2\"/>"
         "<vector id=\"v2i\" type=\"int64\" count=\"2\"/><vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>"
         "<vector id=\"v4u\" type=\"uint32\" count=\"4\"/><vector id=\"v4i\" type=\"int32\" count=\"4\"/>"
         "<vector id=\"v8u\" type=\"uint16\" count=\"8\"/><vector id=\"v8i\" type=\"int16\" count=\"8\"/>"
         "<vector id=\"v16u\" type=\"uint8\" count=\"16\"/><vector id=\"v16i\" type=\"int8\" count=\"16\"/>"
         "<vector id=\"v1u\" type=\"uint128\" count=\"1\"/><vector id=\"v1i\" type=\"int128\" count=\"1\"/>"
         "<union id=\"vnd\"><field name=\"f\" type=\"v2d\"/><field name=\"u\" type=\"v2u\"/>"
         "<field name=\"s\" type=\"v2i\"/></union>"
         "<union id=\"vns\"><field name=\"f\" type=\"v4f\"/><field name=\"u\" type=\"v4u\"/>"
         "<field name=\"s\" type=\"v4i\"/></union>"
         "<union id=\"vnh\"><field name=\"u\" type=\"v8u\"/><field name=\"s\" type=\"v8i\"/></union>"
         "<union id=\"vnb\"><field name=\"u\" type=\"v16u\"/><field name=\"s\" type=\"v16i\"/></union>"
         "<union id=\"vnq\"><field name=\"u\" type=\"v1u\"/><field name=\"s\" type=\"v1i\"/></union>"
         "<union id=\"aarch64v\"><field name=\"d\" type=\"vnd\"/><field name=\"s\" type=\"vns\"/>"
         "<field name=\"h\" type=\"vnh\"/><field name=\"b\" type=\"vnb\"/><field name=\"q\" type=\"vnq\"/></union>";
    for (unsigned i = 0; i < 32; ++i) add("v" + std::to_string(i), 128, "aarch64v", reg::v0 + i);
    add("fpsr", 32, "int", reg::fpsr);
    add("fpcr", 32, "int", reg::fpcr);
    s += "</feature><feature name=\"org.gnu.gdb.aarch64.tls\">";
    add("tpidr", 64, "data_ptr", reg::tpidr);
    s += "</feature><feature name=\"org.rkperf.system\">";
    add("ttbr0_el1", 64, "uint64", reg::ttbr0);
    add("currentel", 32, "int", reg::currentel);
    return s + "</feature></target>";
}

} // namespace rkperf::gdb
