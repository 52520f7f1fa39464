#include "vyre/base/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace vyre {
namespace {

// 0, or why it does not start.
int start(char* const arguments[], int input, int output, pid_t& process) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return errno;
  const pid_t parent = getpid();
  process = fork();
  if (process == 0) {
    // Comes when the thread ends that waits for the answer.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(input, 0) == 0 && dup2(output, 1) == 1) {
      execvp(arguments[0], arguments);
    }
    const int reason = errno;
    (void)!write(failure[1], &reason, sizeof reason);
    _exit(127);
  }
  int reason = process < 0 ? errno : 0;
  close(failure[1]);
  if (process > 0 && read(failure[0], &reason, sizeof reason) > 0) waitpid(process, nullptr, 0);
  close(failure[0]);
  return reason;
}

std::string read_to_end(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
    got = read(file, buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

ProcessResult run_process(std::vector<std::string> arguments, std::string_view input) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return {{}, std::strerror(errno)};
  const bool written = std::fwrite(input.data(), 1, input.size(), file) == input.size() &&
                       std::fflush(file) == 0 && std::fseek(file, 0, SEEK_SET) == 0;
  int output[2];
  if (!written || pipe2(output, O_CLOEXEC) != 0) {
    std::fclose(file);
    return {{}, "there is no room for its input"};
  }
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t process = 0;
  const int failed = start(words.data(), fileno(file), output[1], process);
  close(output[1]);
  ProcessResult result{read_to_end(output[0]), {}};
  close(output[0]);
  std::fclose(file);
  int status = 0;
  if (failed != 0) {
    result.failure = std::strerror(failed);
    return result;
  }
  waitpid(process, &status, 0);
  if (WIFSIGNALED(status)) {
    result.failure = "it was ended by signal " + std::to_string(WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    result.failure = "it ended with " + std::to_string(WEXITSTATUS(status));
  }
  return result;
}

}  // namespace vyre
