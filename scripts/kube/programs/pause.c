// The process that holds the namespaces of a pod. It does nothing until it is terminated, and reaps orphans.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void terminate(int number) { _exit(0); }

static void reap(int number) {
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main() {
  struct sigaction end = {.sa_handler = terminate};
  struct sigaction child = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
  sigaction(SIGINT, &end, NULL);
  sigaction(SIGTERM, &end, NULL);
  sigaction(SIGCHLD, &child, NULL);
  for (;;) pause();
}
