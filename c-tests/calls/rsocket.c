/* rsocket: what it takes, and a stream from one end to the other. */
#include "cm.h"
#include <rdma/rsocket.h>

static int listener;

static void *serve(void *unused)
{
    char text[6] = "";
    int s = raccept(listener, NULL, NULL);
    MUST(s >= 0 && rrecv(s, text, 5, MSG_WAITALL) == 5);
    say("server: %s", text);
    MUST(rsend(s, "there", 5, 0) == 5);
    char end;
    rrecv(s, &end, 1, 0);
    rclose(s);
    return unused;
}

int main(void)
{
    struct sockaddr_in sa = cm_addr(lab_addr(), lab_port());
    pthread_t thread;
    char text[6] = "";
    end_if_hung(20);
    TRY(rsocket(AF_UNIX, SOCK_STREAM, 0));
    TRY(rsocket(AF_INET, SOCK_RAW, 0));
    errno = UNTOUCHED;
    listener = rsocket(AF_INET, SOCK_STREAM, 0);
    say("made: %d", listener >= 0);
    if (listener < 0) say("errno %s", errno_name(errno));
    if (listener < 0) return 0;
    MUST(!rbind(listener, (struct sockaddr *)&sa, sizeof sa) && !rlisten(listener, 4));
    MUST(!pthread_create(&thread, NULL, serve, NULL));
    int s = rsocket(AF_INET, SOCK_STREAM, 0);
    MUST(!rconnect(s, (struct sockaddr *)&sa, sizeof sa));
    MUST(rsend(s, "hello", 5, 0) == 5 && rrecv(s, text, 5, MSG_WAITALL) == 5);
    say("client: %s", text);
    rclose(s);
    pthread_join(thread, NULL);
    rclose(listener);
    return 0;
}
