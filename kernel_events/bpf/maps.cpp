// SPDX-License-Identifier: Apache-2.0
// Kinds of maps (kernel/bpf/arraymap.c, hashtab.c).
#include "kernel_events/bpf/bpf.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace rkperf::ke {

namespace {

constexpr std::uint32_t kAccessFlags = BPF_F_RDONLY | BPF_F_RDONLY_PROG | BPF_F_WRONLY | BPF_F_WRONLY_PROG;
constexpr std::uint32_t kArrayFlags = BPF_F_NUMA_NODE | kAccessFlags;
constexpr std::uint32_t kHashFlags =
    BPF_F_NO_PREALLOC | BPF_F_NO_COMMON_LRU | BPF_F_NUMA_NODE | kAccessFlags | BPF_F_ZERO_SEED;
constexpr std::uint64_t kMaxBytes = 1u << 30; ///< of one map; more than the machine would give

std::uint32_t index_of(std::span<const std::uint8_t> key) {
    std::uint32_t i = std::numeric_limits<std::uint32_t>::max();
    if (key.size() == sizeof i) std::memcpy(&i, key.data(), sizeof i);
    return i;
}

int next_index(std::span<const std::uint8_t> key, std::uint32_t max, std::vector<std::uint8_t>& out) {
    const std::uint32_t i = index_of(key);
    if (i < max && i == max - 1) return -ENOENT;
    const std::uint32_t next = i < max ? i + 1 : 0;
    out.resize(sizeof next);
    std::memcpy(out.data(), &next, sizeof next);
    return 0;
}

class ArrayMap final : public BpfMap {
  public:
    ArrayMap(const bpf_attr& attr, std::string name, int cpus)
        : BpfMap(attr, std::move(name)),
          stride_((value_size() + 7u) & ~7u),
          values_(static_cast<std::size_t>(per_cpu() ? cpus : 1) * max_entries() * stride_) {}

    Slot lookup(std::span<const std::uint8_t> key, int cpu) override {
        const std::uint32_t i = index_of(key);
        return i < max_entries() ? Slot{slot(i, cpu), i} : Slot{};
    }
    std::uint8_t* slot(std::uint64_t index, int cpu) override {
        if (index >= max_entries()) return nullptr;
        const std::size_t block = per_cpu() ? static_cast<std::size_t>(cpu) * max_entries() : 0;
        return values_.data() + (block + index) * stride_;
    }
    int update(std::span<const std::uint8_t> key, std::span<const std::uint8_t> value, std::uint64_t flags,
               int cpu) override {
        if (flags > BPF_EXIST) return -EINVAL;
        std::uint8_t* to = lookup(key, cpu).data;
        if (!to) return -E2BIG;
        if (flags == BPF_NOEXIST) return -EEXIST; // all elements are there from the start
        std::copy(value.begin(), value.end(), to);
        return 0;
    }
    int erase(std::span<const std::uint8_t>) override { return -EINVAL; }
    int next_key(std::span<const std::uint8_t> key, std::vector<std::uint8_t>& out) override {
        return next_index(key, max_entries(), out);
    }

  private:
    std::size_t stride_;
    std::vector<std::uint8_t> values_;
};

/// Elements lie in slots; a slot that was freed is taken again last, so that a program that still looks at it sees no other.
class HashMap final : public BpfMap {
  public:
    HashMap(const bpf_attr& attr, std::string name, int cpus)
        : BpfMap(attr, std::move(name)), cpus_(per_cpu() ? cpus : 1), stride_((value_size() + 7u) & ~7u) {}

    Slot lookup(std::span<const std::uint8_t> key, int cpu) override {
        const auto it = index_.find(key_of(key));
        if (it == index_.end()) return {};
        if (type() == BPF_MAP_TYPE_LRU_HASH) elements_[it->second].used = ++clock_;
        return {slot(it->second, cpu), it->second};
    }
    std::uint8_t* slot(std::uint64_t index, int cpu) override {
        if (index >= elements_.size()) return nullptr;
        return elements_[index].value.data() + static_cast<std::size_t>(cpus_ > 1 ? cpu : 0) * stride_;
    }
    int update(std::span<const std::uint8_t> key, std::span<const std::uint8_t> value, std::uint64_t flags,
               int cpu) override {
        if (flags > BPF_EXIST) return -EINVAL;
        const auto it = index_.find(key_of(key));
        if (it != index_.end() && flags == BPF_NOEXIST) return -EEXIST;
        if (it == index_.end() && flags == BPF_EXIST) return -ENOENT;
        std::size_t i;
        if (it != index_.end()) {
            i = it->second;
        } else {
            if (index_.size() >= max_entries()) {
                if (type() != BPF_MAP_TYPE_LRU_HASH) return -E2BIG;
                evict();
            }
            i = take();
            elements_[i].key = key_of(key);
            std::fill(elements_[i].value.begin(), elements_[i].value.end(), std::uint8_t{0});
            index_[elements_[i].key] = i;
        }
        elements_[i].used = ++clock_;
        std::copy(value.begin(), value.end(), slot(i, cpu));
        return 0;
    }
    int erase(std::span<const std::uint8_t> key) override {
        const auto it = index_.find(key_of(key));
        if (it == index_.end()) return -ENOENT;
        free_.push_back(it->second);
        index_.erase(it);
        return 0;
    }
    int next_key(std::span<const std::uint8_t> key, std::vector<std::uint8_t>& out) override {
        // An unknown key leads to the first.
        auto it = key.empty() ? index_.end() : index_.find(key_of(key));
        it = it == index_.end() ? index_.begin() : std::next(it);
        if (it == index_.end()) return -ENOENT;
        out = it->first;
        return 0;
    }

  private:
    struct Element {
        std::vector<std::uint8_t> key, value;
        std::uint64_t used{};
    };
    static std::vector<std::uint8_t> key_of(std::span<const std::uint8_t> key) { return {key.begin(), key.end()}; }
    std::size_t take() {
        if (elements_.size() < max_entries()) {
            elements_.push_back({{}, std::vector<std::uint8_t>(static_cast<std::size_t>(cpus_) * stride_), 0});
            return elements_.size() - 1;
        }
        const std::size_t i = free_.front();
        free_.pop_front();
        return i;
    }
    void evict() {
        const auto oldest = std::min_element(index_.begin(), index_.end(), [&](const auto& a, const auto& b) {
            return elements_[a.second].used < elements_[b.second].used;
        });
        free_.push_back(oldest->second);
        index_.erase(oldest);
    }
    int cpus_;
    std::size_t stride_;
    std::map<std::vector<std::uint8_t>, std::size_t> index_;
    std::deque<Element> elements_;
    std::deque<std::size_t> free_;
    std::uint64_t clock_{};
};

} // namespace

int BpfFdArray::erase(std::span<const std::uint8_t> key) {
    Entry* e = entry(index_of(key));
    if (!e) return -E2BIG;
    if (!*e) return -ENOENT;
    *e = Entry{};
    return 0;
}

int BpfFdArray::next_key(std::span<const std::uint8_t> key, std::vector<std::uint8_t>& out) {
    return next_index(key, max_entries(), out);
}

BpfMapPtr make_bpf_map(const bpf_attr& attr, std::string name, int cpus, int& error) {
    const std::uint32_t key = attr.key_size, value = attr.value_size, n = attr.max_entries;
    const auto fail = [&](int e) {
        error = e;
        return BpfMapPtr{};
    };
    error = 0;
    const std::uint32_t access = attr.map_flags & kAccessFlags;
    constexpr std::uint32_t kUser = BPF_F_RDONLY | BPF_F_WRONLY, kProg = BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG;
    if ((access & kUser) == kUser || (access & kProg) == kProg) return fail(-EINVAL);
    switch (attr.map_type) {
        case BPF_MAP_TYPE_ARRAY:
        case BPF_MAP_TYPE_PERCPU_ARRAY: {
            if (!n || key != 4 || !value || attr.map_flags & ~kArrayFlags) return fail(-EINVAL);
            if (value > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) return fail(-E2BIG);
            if (std::uint64_t{n} * ((value + 7u) & ~7u) > kMaxBytes) return fail(-ENOMEM);
            return std::make_shared<ArrayMap>(attr, std::move(name), cpus);
        }
        case BPF_MAP_TYPE_PROG_ARRAY:
        case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
            if (!n || key != 4 || value != 4 || attr.map_flags & ~(kArrayFlags | BPF_F_PRESERVE_ELEMS))
                return fail(-EINVAL);
            if (access & kProg) return fail(-EINVAL);
            if (std::uint64_t{n} * sizeof(BpfFdArray::Entry) > kMaxBytes) return fail(-ENOMEM);
            return std::make_shared<BpfFdArray>(attr, std::move(name));
        case BPF_MAP_TYPE_HASH:
        case BPF_MAP_TYPE_PERCPU_HASH:
        case BPF_MAP_TYPE_LRU_HASH: {
            const bool lru = attr.map_type == BPF_MAP_TYPE_LRU_HASH;
            if (attr.map_flags & ~kHashFlags || (!lru && attr.map_flags & BPF_F_NO_COMMON_LRU)) return fail(-EINVAL);
            if (lru && attr.map_flags & BPF_F_NO_PREALLOC) return fail(-ENOTSUP);
            if (!n || !key || !value) return fail(-EINVAL);
            if (std::uint64_t{key} + value >= (1u << 22)) return fail(-E2BIG); // KMALLOC_MAX_SIZE
            if (std::uint64_t{n} * (key + value) > kMaxBytes) return fail(-ENOMEM);
            return std::make_shared<HashMap>(attr, std::move(name), cpus);
        }
        default: return fail(-EINVAL);
    }
}

} // namespace rkperf::ke
