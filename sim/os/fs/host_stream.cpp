// SPDX-License-Identifier: Apache-2.0
// The host command's standard streams as the guest's.
#include "sim/os/fs/dev_files.h"
#include "sim/os/fs/host_fs.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <csignal>
#include <cstring>

namespace rkperf::os {

namespace {

/// struct termios of arm64 (asm-generic/termbits.h): what TCGETS fills.
struct KernelTermios {
    std::uint32_t c_iflag, c_oflag, c_cflag, c_lflag;
    std::uint8_t c_line, c_cc[19];
};
static_assert(sizeof(KernelTermios) == 36);

class HostStream final : public File {
  public:
    HostStream(FsServices& s, int fd, std::uint32_t open_flags) : File(s.kernel()), s_(s), fd_(fd) {
        flags = open_flags;
        tty_ = ::isatty(fd) != 0;
        if (tty_) flags = (flags & ~abi::o_accmode) | abi::o_rdwr;
        struct ::stat st {};
        if (::fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fd == STDIN_FILENO) {
            regular_ = true;
            const off_t at = ::lseek(fd, 0, SEEK_CUR);
            pos = at < 0 ? 0 : static_cast<std::uint64_t>(at);
        }
    }

    std::int64_t read(std::span<std::uint8_t> to) override {
        if (to.empty()) return 0;
        if (regular_) {
            const std::int64_t n = pread(to, pos);
            if (n > 0) pos += static_cast<std::uint64_t>(n);
            return n;
        }
        if (nonblock() && !(host_poll(POLLIN, 0) & (POLLIN | POLLHUP | POLLERR))) return -EAGAIN;
        for (;;) {
            const ssize_t n = ::read(fd_, to.data(), to.size());
            if (n >= 0) return n;
            if (errno == EAGAIN) {
                host_poll(POLLIN, -1);
            } else if (errno != EINTR) {
                return -errno;
            }
            s_.charge(1);                         // an interrupt of the whole run gets its chance
            if (s_.signal_pending()) return -512; // ERESTARTSYS
        }
    }
    std::int64_t pread(std::span<std::uint8_t> to, std::uint64_t offset) override {
        if (!regular_) return -ESPIPE;
        return host_result(::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset)));
    }
    std::int64_t lseek(std::int64_t offset, int whence) override {
        if (!regular_) return -ESPIPE;
        const std::int64_t to = generic_lseek(pos, host_size(), offset, whence);
        if (to >= 0) pos = static_cast<std::uint64_t>(to);
        return to;
    }
    std::int64_t write(std::span<const std::uint8_t> from) override {
        FsFrame f(s_, KernelSymbol::tty_write);
        std::size_t done = 0;
        while (done < from.size()) {
            const ssize_t n = ::write(fd_, from.data() + done, from.size() - done);
            if (n > 0) {
                done += static_cast<std::size_t>(n);
            } else if (n < 0 && errno == EAGAIN) {
                host_poll(POLLOUT, -1);
            } else if (n < 0 && errno != EINTR) {
                const int err = errno;
                if (err == EPIPE) s_.send_signal(SIGPIPE);
                return done ? static_cast<std::int64_t>(done) : -err;
            }
        }
        return static_cast<std::int64_t>(done);
    }
    std::int64_t ioctl(std::uint32_t cmd, std::uint64_t arg) override {
        if (cmd == FIONREAD && readable()) {
            int n = 0;
            if (::ioctl(fd_, FIONREAD, &n) != 0) return -errno;
            return s_.put_user(arg, &n, sizeof n);
        }
        return tty_ ? tty_ioctl(cmd, arg) : -ENOTTY;
    }
    ke::PollMask poll(WaitQueueHead*& wq) override {
        wq = nullptr;
        ke::PollMask m = writable() ? abi::epollout | abi::epollwrnorm : 0;
        if (!readable()) return m;
        const short r = host_poll(POLLIN, 0);
        if (r & POLLIN) m |= abi::epollin | abi::epollrdnorm;
        if (r & POLLHUP) m |= abi::epollhup;
        if (r & POLLERR) m |= abi::epollerr;
        return m;
    }
    bool host_polled() const override { return readable() && !regular_; }
    void host_wait(int ms) override { host_poll(POLLIN, ms); }
    bool pollable() const override { return !regular_; }
    std::int64_t fsync() override { return regular_ ? 0 : -EINVAL; }
    int stat(FileStat& st) override {
        st = FileStat{};
        st.dev = abi::make_dev(0, tty_ ? 20 : 13); // devpts, pipefs
        st.ino = static_cast<std::uint64_t>(fd_) + 3;
        st.uid = s_.cred().fsuid;
        st.gid = s_.cred().fsgid;
        st.mode = tty_ ? S_IFCHR | 0620 : regular_ ? S_IFREG | 0644 : S_IFIFO | 0600;
        st.blksize = tty_ ? 1024 : 4096;
        if (tty_) st.rdev = abi::make_dev(136, 0);
        if (regular_) st.size = static_cast<std::int64_t>(host_size());
        return 0;
    }
    std::string path() const override {
        if (tty_) return "/dev/pts/0";
        return "pipe:[" + std::to_string(fd_ + 3) + "]";
    }
    int reopen(std::uint32_t new_flags, FileHandle& out) override {
        out = std::make_shared<HostStream>(s_, fd_, new_flags);
        return 0;
    }

  private:
    short host_poll(short events, int ms) const {
        pollfd p{fd_, events, 0};
        return ::poll(&p, 1, ms) > 0 ? p.revents : short{0};
    }
    std::uint64_t host_size() const {
        struct ::stat st {};
        return ::fstat(fd_, &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
    }
    std::int64_t tty_ioctl(std::uint32_t cmd, std::uint64_t arg) {
        switch (cmd) {
            case TCGETS: {
                termios t{};
                if (::tcgetattr(fd_, &t) != 0) return -errno;
                KernelTermios k{};
                k.c_iflag = t.c_iflag, k.c_oflag = t.c_oflag, k.c_cflag = t.c_cflag, k.c_lflag = t.c_lflag;
                k.c_line = t.c_line;
                std::memcpy(k.c_cc, t.c_cc, sizeof k.c_cc);
                return s_.put_user(arg, &k, sizeof k);
            }
            case TCSETS:
            case TCSETSW:
            case TCSETSF: {
                KernelTermios k{};
                if (s_.get_user(&k, arg, sizeof k)) return -EFAULT;
                termios t{};
                if (::tcgetattr(fd_, &t) != 0) return -errno;
                t.c_iflag = k.c_iflag, t.c_oflag = k.c_oflag, t.c_cflag = k.c_cflag, t.c_lflag = k.c_lflag;
                std::memcpy(t.c_cc, k.c_cc, sizeof k.c_cc);
                const int how = cmd == TCSETS ? TCSANOW : cmd == TCSETSW ? TCSADRAIN : TCSAFLUSH;
                return host_result(::tcsetattr(fd_, how, &t));
            }
            case TIOCGWINSZ: {
                winsize w{};
                if (::ioctl(fd_, TIOCGWINSZ, &w) != 0) return -errno;
                return s_.put_user(arg, &w, sizeof w);
            }
            default: return -ENOTTY;
        }
    }

    FsServices& s_;
    int fd_;
    bool tty_{}, regular_{};
};

} // namespace

FileHandle make_host_stream(FsServices& s, int host_fd) {
    return std::make_shared<HostStream>(s, host_fd, host_fd == STDIN_FILENO ? abi::o_rdonly : abi::o_wronly);
}

} // namespace rkperf::os
