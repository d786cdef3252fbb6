//! The tables: everything that is counted or timed, with name, unit and help.
//!
//! Rows are only added at the end: their places in the file are their numbers here.

/// Does a value only grow?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Count,
    /// It goes up and down: the present number of something.
    Gauge,
}

/// One row of a table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Lower case words with `_` between: part of a metric's name.
    pub name: &'static str,
    pub kind: Kind,
    /// What is counted, in the plural: "events". Times are in "seconds" where they are shown.
    pub unit: &'static str,
    /// One line, without a full stop.
    pub help: &'static str,
}

macro_rules! table {
    ($(#[$about:meta])* $table:ident { $($variant:ident $name:literal $kind:ident $unit:literal $help:literal;)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum $table { $(#[doc = $help] $variant),* }

        impl $table {
            /// All of them, in the order of the file.
            pub const ALL: &'static [$table] = &[$($table::$variant),*];
            const ROWS: &'static [Row] = &[$(Row {
                name: $name, kind: Kind::$kind, unit: $unit, help: $help,
            }),*];

            /// Name, unit and help.
            pub const fn row(self) -> &'static Row {
                &Self::ROWS[self as usize]
            }

            /// The name alone.
            pub const fn name(self) -> &'static str {
                self.row().name
            }

            /// Looks a name up.
            pub fn by_name(name: &str) -> Option<$table> {
                Self::ALL.iter().copied().find(|r| r.name() == name)
            }
        }
    };
}

table! {
    /// Plain counters.
    Counter {
        ConnectionsOpen "connections_open" Gauge "connections" "Connections that were made and are not over";
        ConnectionsMade "connections_made" Count "connections" "Connections whose ESTABLISHED the program took, on either side";
        ConnectionsFailed "connections_failed" Count "connections" "Connects that ended in REJECTED, UNREACHABLE or CONNECT_ERROR";
        RequestsTaken "requests_taken" Count "requests" "Connect requests that the program took";
        RequestsRefused "requests_refused" Count "requests" "Connect requests that the program refused with rdma_reject";
        EventsUnacked "events_unacked" Gauge "events" "Events that the program took and has not acked";
        Lines "lines" Count "lines" "Findings that were written or counted: failures and warnings";
        Batches "batches" Count "batches" "System calls that brought at least one event from the kernel";
        EventsBatched "events_batched" Count "events" "Events that came in those batches";
        RingFull "ring_full" Count "events" "Times that events stayed in the kernel because the ring was full";
        PoolHits "pool_hits" Count "queue pairs" "Queue pairs that came from the pool";
        PoolMisses "pool_misses" Count "queue pairs" "Queue pairs that the pool could have given, had it had one";
        PoolIdle "pool_idle" Gauge "queue pairs" "Queue pairs that wait in the pool";
        PoolFilled "pool_filled" Count "queue pairs" "Queue pairs that were made for the pool in the background";
        PoolRecycled "pool_recycled" Count "queue pairs" "Queue pairs that came back to the pool after use";
        PoolEvicted "pool_evicted" Count "queue pairs" "Queue pairs of the pool that were destroyed unused";
        TenantsAllowed "tenants_allowed" Count "requests" "Connect requests that the tenant check let through";
        TenantsRefused "tenants_refused" Count "requests" "Connect requests that the tenant check refused";
        TimesLost "times_lost" Count "times" "Starts of phases that were forgotten because too many waited at once";
        TenantsObserved "tenants_observed" Count "requests" "Connect requests that the tenant check would have refused, did the policy not only observe";
        PoolQuarantined "pool_quarantined" Gauge "queue pairs" "Used queue pairs that wait for the end of their quarantine";
        PoolEmpty "pool_empty" Count "queue pairs" "Of pool_misses, those that came when all that were made ahead had been taken; the others were the first of their kind";
        PoolGivenBack "pool_given_back" Count "queue pairs" "Of pool_evicted, those that nobody had needed for a while; the others made room, or what they stood on went away";
    }
}

table! {
    /// Why a call, a channel or a queue pair went past the shim unchanged.
    Bypass {
        Off "off" Count "calls" "The shim is off after an internal error";
        MissingSymbol "missing_symbol" Count "calls" "The installed library does not have the function";
        TapDisabled "tap_disabled" Count "channels" "Batching is off by configuration";
        TapUnproven "tap_unproven" Count "channels" "The library's writes do not come through the shim";
        TapDescriptors "tap_descriptors" Count "channels" "No descriptor was left for batching";
        TapInternal "tap_internal" Count "channels" "The channel belongs to a synchronous id";
        TapBlocking "tap_blocking" Count "reads" "A blocking read was left to the kernel";
        PoolDisabled "pool_disabled" Count "queue pairs" "The pool is off by configuration";
        PoolAttributes "pool_attributes" Count "queue pairs" "Attributes of the extended structure, which the pool does not keep queue pairs for";
        PoolDevice "pool_device" Count "queue pairs" "A device that is gone or failed";
        PoolType "pool_type" Count "queue pairs" "A type that the pool does not keep: neither RC nor UC";
        PoolUnknown "pool_unknown" Count "queue pairs" "A protection domain or queue that was not created through the shim in this process";
        PoolChanged "pool_changed" Count "queue pairs" "The device changed more of the attributes than the capabilities";
        PoolThreads "pool_threads" Count "queue pairs" "Only the program's own threads may: the provider takes no locks (MLX5_SINGLE_THREADED), or the program's functions allocate the buffers";
    }
}

table! {
    /// Where time goes.
    Phase {
        ResolveAddr "resolve_addr" Count "seconds" "From rdma_resolve_addr to ADDR_RESOLVED";
        ResolveRoute "resolve_route" Count "seconds" "From rdma_resolve_route to ROUTE_RESOLVED";
        CreateQpHit "create_qp_hit" Count "seconds" "ibv_create_qp, served by the pool";
        CreateQpMiss "create_qp_miss" Count "seconds" "ibv_create_qp, made by the device";
        Connect "connect" Count "seconds" "From rdma_connect to ESTABLISHED (or to the end of rdma_establish)";
        RequestToAccept "request_to_accept" Count "seconds" "From the hand-over of a connect request to rdma_accept";
        AcceptToEstablished "accept_to_established" Count "seconds" "From rdma_accept to ESTABLISHED";
        Disconnect "disconnect" Count "seconds" "From rdma_disconnect to DISCONNECTED";
        EventWait "event_wait" Count "seconds" "From the system call that read an event ahead until it was handed over";
        EventHold "event_hold" Count "seconds" "From the hand-over of an event to rdma_ack_cm_event";
        Destroy "destroy" Count "seconds" "The call rdma_destroy_id";
        DestroyQpHit "destroy_qp_hit" Count "seconds" "ibv_destroy_qp, kept by the pool for a later one";
        DestroyQpMiss "destroy_qp_miss" Count "seconds" "ibv_destroy_qp, destroyed by the device";
    }
}

macro_rules! entries {
    ($($(#[$loud:ident])? $name:ident)*) => {
        /// The exported symbols, each as the C function is called.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Entry { $($name),* }

        impl Entry {
            /// All of them, in the order of the file.
            pub const ALL: &'static [Entry] = &[$(Entry::$name),*];
            const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];
            const RECORDED: &'static [bool] = &[$(entries!(@recorded $($loud)?)),*];

            /// The C function's name.
            pub const fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }

            /// Does the flight recorder keep calls that went well? (It keeps all that failed.)
            pub const fn recorded(self) -> bool {
                Self::RECORDED[self as usize]
            }

            /// Looks a number of the file up.
            pub fn by_number(number: u16) -> Option<Entry> {
                Self::ALL.get(usize::from(number)).copied()
            }
        }
    };
    (@recorded often) => { false };
    (@recorded) => { true };
}

// `often`: calls of the verbs side and of each event, which would push the history out.
entries! {
    #[often] rdma_create_event_channel
    #[often] rdma_destroy_event_channel
    rdma_create_id
    rdma_destroy_id
    rdma_bind_addr
    rdma_resolve_addr
    rdma_resolve_route
    rdma_create_qp
    rdma_create_qp_ex
    rdma_destroy_qp
    rdma_connect
    rdma_listen
    rdma_accept
    rdma_reject
    rdma_notify
    rdma_disconnect
    rdma_join_multicast
    rdma_leave_multicast
    #[often] rdma_get_cm_event
    #[often] rdma_ack_cm_event
    #[often] rdma_set_option
    rdma_migrate_id
    #[often] rdma_getaddrinfo
    rdma_get_request
    rdma_create_ep
    rdma_destroy_ep
    rdma_create_srq
    rdma_create_srq_ex
    rdma_join_multicast_ex
    rdma_establish
    rdma_reject_ece
    #[often] ibv_create_comp_channel
    #[often] ibv_get_device_list
    #[often] ibv_open_device
    #[often] ibv_alloc_pd
    #[often] ibv_create_cq
    #[often] ibv_create_srq
    #[often] ibv_create_qp
    #[often] ibv_modify_qp
    #[often] ibv_destroy_qp
    #[often] ibv_reg_mr
    #[often] ibv_get_async_event
    #[often] ibv_ack_async_event
    #[often] ibv_reg_mr_iova
    #[often] ibv_reg_mr_iova2
    #[often] ibv_reg_dmabuf_mr
    #[often] ibv_dealloc_pd
    #[often] ibv_destroy_cq
    #[often] ibv_destroy_srq
    #[often] ibv_close_device
    #[often] rdma_init_qp_attr
    rsocket mlx5dv_set_context_attr
}

/// Numbers of events that are told apart; one more item takes all others.
pub const EVENT_KINDS: usize = 20;
/// Batches of 0 to 16 events, and larger ones.
pub const BATCH_SIZES: usize = 18;
/// Records of the flight recorder. A power of two.
pub const RECORDS: usize = 1024;
/// Pairs of code and peer that are told apart.
pub const REASONS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn check(rows: impl Iterator<Item = &'static Row>) {
        let mut names = BTreeSet::new();
        for row in rows {
            let plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(row.name.chars().all(plain), "{}", row.name);
            assert!(names.insert(row.name), "{} stands twice", row.name);
            assert!(!row.help.is_empty() && !row.help.ends_with('.'));
            assert!(!row.unit.is_empty());
        }
    }

    #[test]
    fn rows_are_named_once_and_explained() {
        check(Counter::ALL.iter().map(|c| c.row()));
        check(Bypass::ALL.iter().map(|c| c.row()));
        check(Phase::ALL.iter().map(|c| c.row()));
    }

    #[test]
    fn numbers_are_places() {
        for (place, entry) in Entry::ALL.iter().enumerate() {
            assert_eq!(*entry as usize, place);
            assert_eq!(Entry::by_number(place as u16), Some(*entry));
        }
        assert_eq!(Entry::by_number(Entry::ALL.len() as u16), None);
        assert_eq!(Entry::rdma_connect.name(), "rdma_connect");
        assert!(Entry::rdma_connect.recorded() && !Entry::rdma_ack_cm_event.recorded());
        assert_eq!(Counter::by_name("batches"), Some(Counter::Batches));
        assert_eq!(Phase::by_name("connect"), Some(Phase::Connect));
        assert_eq!(EVENT_KINDS, crate::codes::event::ALL.len());
    }
}
