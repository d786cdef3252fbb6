/* Plays something for every order of up to eight kinds of objects. */
#ifndef ORDERS_H
#define ORDERS_H
#include "pool.h"

typedef void play_order(void *what, const int *order);

HELPER void permute(play_order *play, void *what, int *order, int from, int kinds)
{
    if (from == kinds) {
        play(what, order);
        return;
    }
    for (int i = from; i < kinds; i++) {
        int kept = order[from];
        order[from] = order[i];
        order[i] = kept;
        permute(play, what, order, from + 1, kinds);
        order[i] = order[from];
        order[from] = kept;
    }
}

/* Destroys the kinds in this order, those that fail again and again, and prints each outcome. */
HELPER void destroy_in_order(const int *order, int kinds, const char *const *names, int (*destroy)(void *set, int kind), void *set)
{
    char line[400] = "";
    int gone[8] = {0}, left = kinds;
    for (int pass = 0; left && pass < kinds; pass++)
        for (int i = 0; i < kinds; i++) {
            int kind = order[i];
            if (gone[kind]) continue;
            int rc = destroy(set, kind);
            gone[kind] = rc == 0;
            left -= gone[kind];
            int n = strlen(line);
            snprintf(line + n, sizeof line - n, " %s=%s", names[kind], rc ? errno_name(rc) : "0");
        }
    say("%d left:%s", left, line);
}
#endif
