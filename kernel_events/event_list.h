// SPDX-License-Identifier: Apache-2.0
// Lists of events in which an event takes and leaves its place in constant time (list_head in Linux): an event carries
// one link for each kind of list that it can be in.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <vector>

namespace rkperf::ke {

struct PerfEvent;

/// What an event can be in, each at most once.
enum class EventListKind : unsigned {
    context,  ///< PerfEventContext::event_list (event_entry)
    active,   ///< pinned_active, flexible_active (active_list)
    sibling,  ///< sibling_list of its leader
    child,    ///< child_list of its parent
    owner,    ///< perf_event_list of the task that opened it (owner_entry)
    buffer,   ///< event_list of its ring buffer (rb_entry)
    sideband, ///< pmu_sb_events of its CPU (sb_list)
    hash,     ///< a bucket of software events, or of a tracepoint on its CPU (hlist_entry)
    count
};

struct EventLinks;

struct EventLink {
    EventLinks *prev{}, *next{};
    const void* list{}; ///< the one it is in, or null
};

/// Base of PerfEvent.
struct EventLinks {
    explicit EventLinks(PerfEvent* self) : event(self) {}
    EventLinks(const EventLinks&) = delete;
    EventLinks& operator=(const EventLinks&) = delete;
    EventLink& link(EventListKind kind) { return links[static_cast<std::size_t>(kind)]; }
    bool linked() const {
        for (const EventLink& l : links)
            if (l.list) return true;
        return false;
    }
    PerfEvent* const event;
    std::array<EventLink, static_cast<std::size_t>(EventListKind::count)> links{};
};

template <EventListKind kind>
class EventList {
  public:
    class const_iterator {
      public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = PerfEvent*;
        using difference_type = std::ptrdiff_t;
        using pointer = PerfEvent* const*;
        using reference = PerfEvent*;

        const_iterator() = default;
        const_iterator(const EventList* list, EventLinks* at) : list_(list), at_(at) {}
        PerfEvent* operator*() const { return at_->event; }
        const_iterator& operator++() {
            at_ = at_->link(kind).next;
            return *this;
        }
        const_iterator operator++(int) {
            const const_iterator before = *this;
            ++*this;
            return before;
        }
        const_iterator& operator--() {
            at_ = at_ ? at_->link(kind).prev : list_->tail_;
            return *this;
        }
        const_iterator operator--(int) {
            const const_iterator before = *this;
            --*this;
            return before;
        }
        bool operator==(const const_iterator& o) const { return at_ == o.at_; }

      private:
        const EventList* list_{};
        EventLinks* at_{}; ///< null: the end
    };
    using value_type = PerfEvent*;

    EventList() = default;
    EventList(const EventList&) = delete;
    EventList& operator=(const EventList&) = delete;
    ~EventList() { clear(); }

    const_iterator begin() const { return {this, head_}; }
    const_iterator end() const { return {this, nullptr}; }
    bool empty() const { return !head_; }
    std::size_t size() const { return size_; }
    PerfEvent* front() const { return head_->event; }
    PerfEvent* back() const { return tail_->event; }

    void push_front(EventLinks& e) { insert(e, nullptr, head_); }
    void push_back(EventLinks& e) { insert(e, tail_, nullptr); }
    /// An event that is not in this list is left alone.
    void erase(EventLinks& e) {
        EventLink& l = e.link(kind);
        if (l.list != this) return;
        (l.prev ? l.prev->link(kind).next : head_) = l.next;
        (l.next ? l.next->link(kind).prev : tail_) = l.prev;
        l = {};
        --size_;
    }
    void clear() {
        while (head_) erase(*head_);
    }
    /// The list as it is now, for walks during which it may change.
    operator std::vector<PerfEvent*>() const { return copy(); }
    std::vector<PerfEvent*> copy() const {
        std::vector<PerfEvent*> v;
        v.reserve(size_);
        for (PerfEvent* e : *this) v.push_back(e);
        return v;
    }

  private:
    void insert(EventLinks& e, EventLinks* prev, EventLinks* next) {
        e.link(kind) = {prev, next, this};
        (prev ? prev->link(kind).next : head_) = &e;
        (next ? next->link(kind).prev : tail_) = &e;
        ++size_;
    }
    EventLinks *head_{}, *tail_{};
    std::size_t size_{};
};

} // namespace rkperf::ke
