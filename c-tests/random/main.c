/* usage: play SEED [COUNT]            plays COUNT programs, each in a process of its own
 *        play SEED 1 STEP,STEP…      only these steps of the program
 * Variables: RANDOM_STEPS=N (of each program, 150), RANDOM_LIMIT=SECONDS (12: what a program takes at most in an idle guest),
 *   RANDOM_ALL=1 (also what is a known limit of cmshim) */
#include "random.h"
#include <dlfcn.h>
#include <sys/resource.h>

#define KIND(weight, name) {weight, #name, name}
static const struct { int weight; const char *name; play *play; } kinds[] = {
    KIND(6, open_channel), KIND(2, close_channel), KIND(3, change_flags), KIND(4, look_empty), KIND(2, copy_channel), KIND(2, drop_copy),
    KIND(2, open_set), KIND(5, add_to_set), KIND(1, take_from_set), KIND(6, wait_at_set), KIND(1, close_set), KIND(2, number),
    KIND(12, create_id), KIND(4, destroy_id), KIND(4, bind_id), KIND(5, listen_id), KIND(14, resolve_id), KIND(10, route_id), KIND(10, connect_id),
    KIND(16, take_event), KIND(6, take_all), KIND(9, accept_id), KIND(3, refuse_id), KIND(4, disconnect_id), KIND(6, ack_id),
    KIND(8, migrate_id), KIND(2, migrate_away), KIND(3, wrong_call), KIND(2, destroy_late), KIND(1, fork_child), KIND(1, cancel_reader),
    KIND(1, jump_away), KIND(1, interrupt), KIND(1, restart_reader), KIND(1, two_readers), KIND(1, change_cred), KIND(1, fill_descriptors),
    KIND(1, late_poll), KIND(6, serve),
};
enum { KINDS_ = sizeof kinds / sizeof kinds[0], MOST_STEPS = 1000 };

/* A difference is told of once: what comes after it would only follow from it. */
void give_up(const char *format, ...)
{
    char line[300];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    say("NOT AS IT HAS TO BE: %s", line);
    _exit(3);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static int any_kind(unsigned number)
{
    int sum = 0, kind = 0;
    for (int i = 0; i < KINDS_; i++) sum += kinds[i].weight;
    for (int left = number % sum; left >= kinds[kind].weight; kind++) left -= kinds[kind].weight;
    return kind;
}

static int make_steps(uint64_t seed, struct step *steps)
{
    uint64_t state = seed * 0x2545f4914f6cdd1dULL + 1;
    int n = number_of("RANDOM_STEPS", 150);
    for (int i = 0; i < n && i < MOST_STEPS; i++) {
        int kind = i < 2 ? 0 : any_kind(next_random(&state));
        steps[i] = (struct step){kind, next_random(&state), next_random(&state), next_random(&state)};
    }
    return n < MOST_STEPS ? n : MOST_STEPS;
}

static int chosen(int step, const char *list)
{
    if (!list) return 1;
    for (const char *at = list; *at;) {
        char *end;
        if (strtol(at, &end, 10) == step) return 1;
        at = *end ? end + 1 : end;
    }
    return 0;
}

/* Everything is given back; what waits is taken first, so that nothing is left out of the comparison. */
static void end_all(void)
{
    say("the end");
    for (int i = 0; i < IDS; i++) ack_all(i);
    for (int round = 0; round < 2; round++)
        for (int c = 0; c < CHANNELS; c++)
            if (chan_waits(c)) take_everything(c);
    for (int i = 0; i < IDS; i++)
        if (cmids[i].state != FREE) destroy_slot(i);
    for (int k = 0; k < COPIES; k++)
        if (copies[k].fd > 0) close(copies[k].fd);
    for (int s = 0; s < SETS; s++)
        if (sets[s].fd > 0) close(sets[s].fd);
    for (int c = 0; c < CHANNELS; c++)
        if (chans[c].ch) rdma_destroy_event_channel(chans[c].ch);
}

static void one_program(uint64_t seed, const char *list)
{
    struct step steps[MOST_STEPS];
    struct rlimit few = {256, 256};
    int n = make_steps(seed, steps);
    end_if_hung(number_of("RANDOM_LIMIT", 12));
    setrlimit(RLIMIT_NOFILE, &few);
    settle(); /* opens the device */
    settle_begin();
    for (int i = 0; i < n; i++) {
        if (!chosen(i, list)) continue;
        char name[40];
        snprintf(name, sizeof name, "%d %s", i, kinds[steps[i].kind].name);
        if (getenv("RANDOM_TELL")) say("-- %s", name);
        kinds[steps[i].kind].play(&steps[i]);
        for (int id = 0; id < IDS; id++) { /* before the kernel tells that its time-wait is over */
            struct cmid *c = &cmids[id];
            if (c->state != OVER || c->held || events_of(id)) continue;
            if (++c->age > 6) destroy_slot(id);
        }
    }
    end_all();
    say("done");
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    uint64_t first = strtoull(argv[1], NULL, 10);
    int count = argc > 2 ? atoi(argv[2]) : 1, status;
    on_null_kernel = dlsym(RTLD_DEFAULT, "null_kernel") != NULL;
    for (uint64_t seed = first; seed < first + count; seed++) {
        say("== seed %llu", (unsigned long long)seed);
        pid_t child = fork();
        if (!child) {
            one_program(seed, argc > 3 ? argv[3] : NULL);
            _exit(0);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) { }
        if (WIFSIGNALED(status)) say("ended by signal %d%s", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": it hung" : "");
        else say("exit status %d", WEXITSTATUS(status));
    }
    return 0;
}
