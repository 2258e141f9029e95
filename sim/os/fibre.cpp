// SPDX-License-Identifier: Apache-2.0
#include "sim/os/fibre.h"

#include <sys/mman.h>
#include <boost/context/detail/fcontext.hpp>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(RK_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace rkperf::os {

namespace ctx = boost::context::detail;

struct FibreEntry {
    static void run(ctx::transfer_t t) {
        // t.data holds {from, to} of the switch that started us.
        auto** pair = static_cast<Fibre**>(t.data);
        pair[0]->context_ = t.fctx;
        pair[1]->entry_();
        std::abort(); // entry never returns
    }
};

Fibre::Fibre(std::function<void()> entry) : entry_(std::move(entry)) {
    constexpr std::size_t guard = 4096;
    void* p =
        mmap(nullptr, kStackBytes + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    mprotect(p, guard, PROT_NONE);
#if defined(__SANITIZE_ADDRESS__) || defined(RK_ASAN)
    // A fibre that ended in the middle of its frames leaves their marks on addresses that come back with this one.
    __asan_unpoison_memory_region(p, kStackBytes + guard);
#endif
    stack_ = p;
    context_ = ctx::make_fcontext(static_cast<char*>(p) + kStackBytes + guard, kStackBytes, &FibreEntry::run);
}

Fibre::~Fibre() {
    if (stack_) munmap(stack_, kStackBytes + 4096);
}

void Fibre::switch_to(Fibre& from, Fibre& to) {
    Fibre* pair[2] = {&from, &to};
    const ctx::transfer_t t = ctx::jump_fcontext(to.context_, pair);
    static_cast<Fibre**>(t.data)[0]->context_ = t.fctx;
}

} // namespace rkperf::os
