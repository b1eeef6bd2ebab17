// A process that cannot make threads, as under `ulimit -u` or a container's limit of processes.
#pragma once

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace tapegrad::tests {

// From now on, the system refuses every new thread to this process and its children, also after exec. Returns false if
// it does not support that.
inline bool refuse_threads() {
  constexpr unsigned kLoad = BPF_LD | BPF_W | BPF_ABS, kIfEqual = BPF_JMP | BPF_JEQ | BPF_K,
                     kIfSet = BPF_JMP | BPF_JSET | BPF_K, kReturn = BPF_RET | BPF_K;
  sock_filter code[] = {
      BPF_STMT(kLoad, offsetof(seccomp_data, nr)),   BPF_JUMP(kIfEqual, SYS_clone3, 0, 1),
      BPF_STMT(kReturn, SECCOMP_RET_ERRNO | ENOSYS),  // its flags are in memory; the C library then calls clone
      BPF_JUMP(kIfEqual, SYS_clone, 0, 3),           BPF_STMT(kLoad, offsetof(seccomp_data, args)),
      BPF_JUMP(kIfSet, CLONE_THREAD, 0, 1),          BPF_STMT(kReturn, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(kReturn, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof(code) / sizeof(code[0]), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Whether refuse_threads() works here.
inline bool can_refuse_threads() {
  const pid_t child = fork();
  if (child == 0) _exit(refuse_threads() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace tapegrad::tests
