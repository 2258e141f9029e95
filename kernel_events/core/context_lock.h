// SPDX-License-Identifier: Apache-2.0
// perf_event_ctx_lock: the mutex of the context an event is in, which may change while one waits for it.
#pragma once

#include "kernel_events/internal.h"

#include <stdexcept>

namespace rkperf::ke {

class EventContextLock {
  public:
    EventContextLock(Perf::Impl& perf, PerfEvent& event) : perf_(perf) {
        for (;;) {
            ctx_ = event.ctx;
            perf_.get_ctx(*ctx_);
            ctx_->mutex->lock();
            if (event.ctx == ctx_) return;
            ctx_->mutex->unlock();
            perf_.put_ctx(*ctx_);
        }
    }
    ~EventContextLock() {
        ctx_->mutex->unlock();
        perf_.put_ctx(*ctx_);
    }
    EventContextLock(const EventContextLock&) = delete;
    EventContextLock& operator=(const EventContextLock&) = delete;
    PerfEventContext& ctx() { return *ctx_; }

  private:
    Perf::Impl& perf_;
    PerfEventContext* ctx_{};
};

} // namespace rkperf::ke
