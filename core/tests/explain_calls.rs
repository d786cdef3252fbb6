//! Failed calls: the words that the facts allow.

use cmshim_core::explain::{self, Blocked, CallQuery, Facts, Limit, Progress};
use cmshim_core::model::{Explanation, Role, Severity, Transport, Who};
use std::time::Duration;

fn call_with(name: &str, errno: i32, facts: &Facts) -> Explanation {
    explain::call(&CallQuery {
        call: name,
        errno,
        facts,
        role: Role::Client,
        transport: Transport::Roce,
    })
}

fn call(name: &str, errno: i32) -> Explanation {
    call_with(name, errno, &Facts::default())
}

#[test]
fn code_and_number() {
    let e = call("rdma_bind_addr", libc::EADDRINUSE);
    assert_eq!(e.code, "rdma_bind_addr errno 98, EADDRINUSE");
    assert_eq!(e.numbers.errno, Some(98));
    assert_eq!(e.who, Who::ThisProcess);
}

#[test]
fn set_up() {
    assert!(call("rdma_create_event_channel", libc::ENOENT)
        .next
        .contains("modprobe rdma_ucm"));
    assert!(call("rdma_create_event_channel", libc::ENODEV)
        .summary
        .contains("no RDMA device"));
    assert!(call("rdma_create_event_channel", libc::EMFILE)
        .summary
        .contains("descriptors"));
    assert!(call("rdma_bind_addr", libc::ENODEV)
        .summary
        .contains("no RDMA device"));

    assert!(call("rdma_resolve_addr", libc::ENETUNREACH)
        .summary
        .contains("no route"));
    assert!(call("rdma_resolve_addr", libc::EINVAL)
        .cause
        .contains("scope"));
    assert!(call("ibv_create_qp", libc::EAGAIN)
        .summary
        .contains("cgroup"));
}

#[test]
fn names_that_do_not_resolve() {
    let e = call("rdma_getaddrinfo", -2);
    assert_eq!(e.code, "rdma_getaddrinfo -2, EAI_NONAME");
    assert_eq!(e.numbers.errno, None);
}

#[test]
fn private_data_that_does_not_fit() {
    let facts = Facts {
        private_data_len: Some(57),
        private_data_max: Some(56),
        ..Facts::default()
    };
    let e = call_with("rdma_connect", libc::EINVAL, &facts);
    assert_eq!(e.summary, "57 bytes of private data are too much, 56 fit");
    assert_eq!(e.who, Who::ThisProcess);
    let fits = Facts {
        private_data_len: Some(56),
        private_data_max: Some(56),
        ..Facts::default()
    };
    let e = call_with("rdma_connect", libc::EINVAL, &fits);
    assert!(e.summary.contains("not ready to connect"));
}

#[test]
fn an_accept_that_came_too_late() {
    let facts = Facts {
        age: Some(Duration::from_millis(6_200)),
        progress: Progress::Request,
        ..Facts::default()
    };
    let e = call_with("rdma_accept", libc::EINVAL, &facts);
    assert_eq!(e.severity, Severity::Warn);
    assert!(
        e.summary.contains("too late") && e.summary.contains("6.2 s"),
        "{}",
        e.summary
    );
    let inside = Facts {
        nested: Some(("rdma_init_qp_attr", libc::EINVAL)),
        ..facts
    };
    let e = call_with("rdma_accept", libc::EINVAL, &inside);
    assert!(e.summary.contains("too late"), "{}", e.summary);
    let e = call("rdma_reject", libc::EINVAL);
    assert_eq!(e.severity, Severity::Info);
}

#[test]
fn harmless_failures_are_quiet() {
    for (name, errno) in [
        ("rdma_disconnect", libc::EINVAL),
        ("rdma_disconnect", libc::ENOTCONN),
        ("rdma_get_cm_event", libc::EAGAIN),
        ("rdma_get_cm_event", libc::EINTR),
        ("rdma_get_request", libc::EAGAIN),
        ("ibv_get_async_event", libc::EAGAIN),
        ("rdma_notify", libc::EINVAL),
    ] {
        assert_eq!(
            call(name, errno).severity,
            Severity::Debug,
            "{name} {errno}"
        );
    }
}

#[test]
fn more_than_the_device_has() {
    let facts = Facts {
        wanted: vec![
            Limit {
                name: "max_send_wr",
                wanted: 100_000,
                max: 16_384,
            },
            Limit {
                name: "max_send_sge",
                wanted: 2,
                max: 30,
            },
        ],
        ..Facts::default()
    };
    for name in ["rdma_create_qp", "ibv_create_qp"] {
        let e = call_with(name, libc::EINVAL, &facts);
        assert_eq!(
            e.summary,
            "more was asked for than the device has: max_send_wr 100000 (the device gives 16384)"
        );
    }
}

/// What fails rdma_create_qp for a client that was killed meanwhile.
#[test]
fn attributes_of_a_connection_that_is_gone() {
    let facts = Facts {
        nested: Some(("rdma_init_qp_attr", libc::EINVAL)),
        ..Facts::default()
    };
    let told = |role| {
        explain::call(&CallQuery {
            call: "rdma_create_qp",
            errno: libc::EINVAL,
            facts: &Facts {
                progress: match role {
                    Role::Server => Progress::Request,
                    _ => Progress::Unknown,
                },
                ..facts.clone()
            },
            role,
            transport: Transport::Roce,
        })
    };
    let (server, client) = (told(Role::Server), told(Role::Client));
    let summary = "rdma_init_qp_attr inside it failed: the kernel has no attributes for this queue pair state";
    assert_eq!(server.summary, summary);
    assert!(
        server.cause.starts_with("Its client has gone"),
        "{}",
        server.cause
    );
    assert!(server.next.starts_with("Destroy the id"), "{}", server.next);
    assert_eq!(client.summary, summary);
    assert!(
        client.cause.starts_with("Possible: the peer has ended"),
        "{}",
        client.cause
    );
}

#[test]
fn the_limit_of_locked_memory() {
    let facts = Facts {
        length: Some(1 << 30),
        memlock: Some(8 << 20),
        locked: Some(1 << 20),
        ..Facts::default()
    };
    let e = call_with("ibv_reg_mr", libc::ENOMEM, &facts);
    assert_eq!(
        e.summary,
        "the limit of locked memory is too small: 1 GiB to register, limit 8 MiB, 1 MiB of it in use"
    );
    assert!(e.next.starts_with("ulimit -l"));
    let unlimited = Facts {
        memlock: Some(u64::MAX),
        ..facts.clone()
    };
    let e = call_with("ibv_reg_mr", libc::ENOMEM, &unlimited);
    assert!(!e.summary.contains("limit of locked"), "{}", e.summary);
    // 4096 bytes that begin in the middle of a page pin two pages.
    let border = Facts {
        addr: Some(0x1800),
        length: Some(4096),
        memlock: Some(8192 + 4095),
        locked: Some(4096),
        ..Facts::default()
    };
    let e = call_with("ibv_reg_mr", libc::ENOMEM, &border);
    assert!(e.summary.contains("too small"), "{}", e.summary);
    let enough = Facts {
        memlock: Some(1 << 20),
        ..border
    };
    let e = call_with("ibv_reg_mr", libc::ENOMEM, &enough);
    assert!(e.summary.contains("seems enough"), "{}", e.summary);
}

#[test]
fn bad_memory() {
    let region = Facts {
        addr: Some(0x7f00_0000_0000),
        length: Some(65_536),
        access: Some(1),
        ..Facts::default()
    };
    let e = call_with("ibv_reg_mr", libc::EFAULT, &region);
    assert!(
        e.summary.starts_with("the 64 KiB at 0x7f0000000000 are"),
        "{}",
        e.summary
    );
    assert!(e.cause.contains("read-only"));
    let huge = Facts {
        huge_page: Some(2 << 20),
        ..region.clone()
    };
    let e = call_with("ibv_reg_mr", libc::EINVAL, &huge);
    assert!(e.next.contains("RDMAV_HUGEPAGES_SAFE=1") && e.summary.contains("2 MiB"));
    let remote = Facts {
        access: Some(2),
        ..region.clone()
    };
    let e = call_with("ibv_reg_mr", libc::EINVAL, &remote);
    assert!(e.summary.contains("local write"));
    let odp = Facts {
        access: Some(1 | 1 << 6),
        ..region.clone()
    };
    let e = call_with("ibv_reg_mr", libc::EOPNOTSUPP, &odp);
    assert!(e.summary.contains("on-demand"));
    let wraps = Facts {
        length: Some(u64::MAX),
        ..region
    };
    let e = call_with("ibv_reg_mr", libc::EINVAL, &wraps);
    assert!(e.summary.contains("end of memory"));
}

#[test]
fn an_inner_call_speaks_for_the_outer_one() {
    let facts = Facts {
        nested: Some(("ibv_modify_qp", libc::ETIMEDOUT)),
        qp_state: Some(("INIT", "RTR")),
        ..Facts::default()
    };
    let e = call_with("rdma_accept", libc::ETIMEDOUT, &facts);
    assert_eq!(
        e.summary,
        "ibv_modify_qp inside it failed: the queue pair did not go from INIT to RTR"
    );
    assert_eq!(
        e.code,
        "rdma_accept errno 110, ETIMEDOUT; inside ibv_modify_qp errno 110, ETIMEDOUT"
    );
    assert_eq!(e.who, Who::Network);
}

#[test]
fn a_channel_fails_by_itself_and_not_by_what_it_tries() {
    let facts = Facts {
        nested: Some(("rdma_create_id", libc::ENOMEM)),
        ..Facts::default()
    };
    let e = call_with("rdma_create_event_channel", libc::EACCES, &facts);
    assert_eq!(e.summary, "/dev/infiniband/rdma_cm may not be opened");
    assert_eq!(e.code, "rdma_create_event_channel errno 13, EACCES");
}

#[test]
fn a_dead_queue_pair_is_not_an_error() {
    let facts = Facts {
        qp_state: Some(("RTS", "ERR")),
        disconnected: true,
        ..Facts::default()
    };
    assert_eq!(
        call_with("ibv_modify_qp", libc::EINVAL, &facts).severity,
        Severity::Debug
    );
}

#[test]
fn any_call_and_errno_gives_well_formed_words() {
    let calls = [
        "rdma_create_event_channel",
        "rdma_create_id",
        "rdma_bind_addr",
        "rdma_listen",
        "rdma_resolve_addr",
        "rdma_resolve_route",
        "rdma_create_qp",
        "rdma_create_qp_ex",
        "rdma_connect",
        "rdma_accept",
        "rdma_reject",
        "rdma_establish",
        "rdma_notify",
        "rdma_disconnect",
        "rdma_join_multicast",
        "rdma_join_multicast_ex",
        "rdma_leave_multicast",
        "rdma_set_option",
        "rdma_migrate_id",
        "rdma_getaddrinfo",
        "rdma_get_request",
        "rdma_create_ep",
        "rdma_create_srq",
        "rdma_create_srq_ex",
        "rdma_get_cm_event",
        "ibv_open_device",
        "ibv_alloc_pd",
        "ibv_create_cq",
        "ibv_create_comp_channel",
        "ibv_create_srq",
        "ibv_create_qp",
        "ibv_modify_qp",
        "ibv_reg_mr",
        "ibv_reg_mr_iova",
        "ibv_reg_mr_iova2",
        "ibv_reg_dmabuf_mr",
        "ibv_something_new",
        "",
    ];
    for name in calls {
        for errno in (-15..140).chain([524, i32::MIN, i32::MAX]) {
            let e = call(name, errno);
            assert!(
                !e.summary.is_empty() && !e.code.is_empty(),
                "{name} {errno}"
            );
            assert!(!e.summary.ends_with('.'), "{}", e.summary);
            assert!(
                e.cause.is_empty() || e.cause.ends_with(['.', '?']),
                "{}",
                e.cause
            );
            assert!(!e.next.ends_with('.'), "{}", e.next);
            let loud = e.severity <= Severity::Warn;
            assert!(
                !loud || !e.next.is_empty() || !e.cause.is_empty(),
                "{name} {errno}"
            );
        }
    }
}

#[test]
fn what_no_code_tells() {
    let e = explain::no_answer_yet(Duration::from_secs(5), Transport::Roce);
    assert!(e.summary.contains("for about 97 s more"));
    assert!(e.cause.contains("was resolved before") && e.cause.ends_with('.'));
    assert_eq!(e.severity, Severity::Warn);
    let blocked = Blocked {
        call: "rdma_destroy_id",
        events: &[8, 10],
        asynchronous: false,
        count: 2,
    };
    let e = explain::unacked(&blocked, Duration::from_secs(1));
    assert_eq!(
        e.summary,
        "rdma_destroy_id has waited 1 s for the program to ack 2 events: REJECTED, DISCONNECTED"
    );
    assert_eq!(e.who, Who::ThisProcess);
    let of_the_device = Blocked {
        call: "ibv_destroy_qp",
        events: &[1],
        asynchronous: true,
        count: 1,
    };
    let e = explain::unacked(&of_the_device, Duration::from_secs(1));
    assert!(
        e.summary.ends_with("to ack 1 event: IBV_EVENT_QP_FATAL"),
        "{}",
        e.summary
    );
    assert!(e.cause.contains("ibv_ack_async_event"));
    let slow = |ms| explain::slow_connect(Duration::from_millis(ms)).summary;
    assert_eq!(slow(4_200), "connected, but slowly");
    assert!(slow(4_800).ends_with("long enough for 1 repeated connect request"));
    assert!(slow(44_800).ends_with("for 10 repeated connect requests"));
    assert!(explain::backlog_overflow(4)
        .summary
        .contains("backlog of 4"));
    assert_eq!(explain::async_event(1).numbers.async_event, Some(1));
}

#[test]
fn a_search_for_the_inline_limit_is_not_told_as_an_error() {
    let severity = |call, inline, wanted: &[Limit]| {
        let facts = Facts {
            inline,
            wanted: wanted.to_vec(),
            ..Facts::default()
        };
        explain::call(&CallQuery {
            call,
            errno: 22,
            facts: &facts,
            role: Role::None,
            transport: Transport::Roce,
        })
        .severity
    };
    let over = [Limit {
        name: "max_send_wr",
        wanted: 9,
        max: 8,
    }];
    assert_eq!(severity("ibv_create_qp", Some(512), &[]), Severity::Info);
    assert!(severity("ibv_create_qp", None, &[]) < Severity::Info);
    assert!(severity("ibv_create_qp", Some(512), &over) < Severity::Info);
}
