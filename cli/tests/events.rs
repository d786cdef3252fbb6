//! `cmshim events` on made-up files.

mod common;

use cmshim_core::stats::{Entry, What, RUNNING};
use common::stats_file::StatsFile;
use common::{ask, Scratch};

const SERVER: &str = "10.77.0.1:7174";

/// A client that is refused beside a server that took a request, and dies while it destroys an id.
fn example() -> StatsFile {
    let call = What::Call;
    StatsFile::new(4711, "both")
        .record(0, 0xa0, call(Entry::rdma_create_id), 0, "")
        .record(20, 0xb0, call(Entry::rdma_create_id), 0, "")
        .record(22, 0xb0, call(Entry::rdma_listen), 0, "0.0.0.0:0")
        .record(1_020, 0xa0, call(Entry::rdma_resolve_addr), 0, "")
        .record(1_320, 0xa0, What::Event(0), 0, SERVER)
        .record(2_000, 0xa0, call(Entry::rdma_connect), 0, SERVER)
        .record(3_500, 0xc0, What::Event(4), 0, "10.77.0.2:49109")
        .record(3_900, 0xa0, What::Event(8), 8, SERVER)
        .record(4_000, 0xa0, call(Entry::rdma_destroy_id), RUNNING, SERVER)
        .record(4_100, 0, call(Entry::rdma_create_ep), 12, "")
}

fn shown(file: &StatsFile) -> String {
    let dir = Scratch::new();
    let path = file.write(&dir.path("copy"));
    let (status, out, err) = ask(&["events", path.to_str().unwrap()]);
    assert_eq!((status, err.as_str()), (0, ""));
    out
}

#[test]
fn each_connection_has_its_own_timeline() {
    let out = shown(&example());
    let (_, body) = out.split_once("\n10 records\n\n").expect(&out);
    let (client, rest) = body.split_once("\n\n").unwrap();
    let lines: Vec<&str> = client.lines().collect();
    assert_eq!(
        lines[..5],
        [
            "id 0xa0, peer 10.77.0.1:7174",
            "  03:04:05.000000            rdma_create_id",
            "  03:04:05.001020     +1 ms  rdma_resolve_addr",
            "  03:04:05.001320   +300 µs  ADDR_RESOLVED",
            "  03:04:05.002000   +680 µs  rdma_connect",
        ]
    );
    assert!(
        lines[5]
            .starts_with("  03:04:05.003900   +1.9 ms  REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID: "),
        "{client}"
    );
    assert_eq!(
        lines[6],
        "  03:04:05.004000   +100 µs  rdma_destroy_id: had not returned"
    );
    assert_eq!(
        rest,
        "id 0xb0\n  \
         03:04:05.000020            rdma_create_id\n  \
         03:04:05.000022     +2 µs  rdma_listen\n\n\
         id 0xc0, peer 10.77.0.2:49109\n  \
         03:04:05.003500            CONNECT_REQUEST\n\n\
         no id\n  \
         03:04:05.004100            rdma_create_ep: Cannot allocate memory (ENOMEM 12)\n"
    );
}

#[test]
fn a_live_process_may_still_return() {
    let dir = Scratch::new();
    let _held = example().write_alive(&dir.path("copy"));
    let (status, out, _) = ask(&["events", dir.path("copy").to_str().unwrap()]);
    assert_eq!(status, 0);
    assert!(out.contains("rdma_destroy_id: under way\n"), "{out}");
}

#[test]
fn overwritten_records_are_told() {
    let mut file = example();
    for n in 0..1100 {
        file = file.record(5_000 + n, 0xd0, What::Event(9), 0, SERVER);
    }
    let out = shown(&file);
    assert!(
        out.contains("\n1024 records; 86 more were overwritten, or never finished\n"),
        "{out}"
    );
    assert!(!out.contains("rdma_create_id"), "{out}");
}

#[test]
fn a_name_of_a_file_does_not_fool_a_terminal() {
    let dir = Scratch::new();
    let path = example().write(&dir.path("a\x1b[2Jb"));
    for command in ["events", "stat"] {
        let (status, out, _) = ask(&[command, path.to_str().unwrap()]);
        assert_eq!(status, 0);
        assert!(out.contains("/a\\u{1b}[2Jb\n"), "{out}");
    }
}

#[test]
fn nothing_recorded_is_nothing_found() {
    let dir = Scratch::new();
    let path = StatsFile::new(1, "idle").write(&dir.path("idle"));
    let (status, out, _) = ask(&["events", path.to_str().unwrap()]);
    assert_eq!(status, 1);
    assert!(out.ends_with("\n0 records\n"), "{out}");
    let damaged = dir.file("damaged", "CMSHSTAT");
    let (status, out, err) = ask(&["events", damaged.to_str().unwrap()]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.contains("damaged: this is not a statistics file"),
        "{err}"
    );
    assert_eq!(ask(&["events"]).0, 2);
}
