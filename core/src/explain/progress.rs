//! How far an id has come: what many calls depend on, and the kernel answers EINVAL for.

/// As its calls and events were seen. The names follow the states of the kernel (`enum rdma_cm_state`, rdma_cm.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Progress {
    /// It was made where cmshim did not see it.
    #[default]
    Unknown,
    New,
    Bound,
    Listening,
    ResolvingAddress,
    AddressResolved,
    AddressFailed,
    ResolvingRoute,
    RouteResolved,
    Connecting,
    /// CONNECT_RESPONSE came.
    Answered,
    /// It came with CONNECT_REQUEST, and nobody has answered yet.
    Request,
    /// Of a request: our rdma_accept failed.
    AcceptFailed,
    Accepted,
    Rejected,
    Established,
    Ended,
}

impl Progress {
    /// What a call can say that wants another state: "it is a listener".
    pub(super) fn phrase(self) -> &'static str {
        match self {
            Progress::Unknown => "its state is not known",
            Progress::New => "it is new and has no address",
            Progress::Bound => "it is bound, and has no peer",
            Progress::Listening => "it is a listener",
            Progress::ResolvingAddress => "its address is still being resolved",
            Progress::AddressResolved => "its address is resolved, and its route is not",
            Progress::AddressFailed => "its address was not resolved",
            Progress::ResolvingRoute => "its route is still being resolved",
            Progress::RouteResolved => "its route is resolved, and it is not connected",
            Progress::Connecting => "it is connecting already",
            Progress::Answered => "it is connecting already, and the peer has accepted",
            Progress::Request => "it is a connect request that nobody has answered yet",
            Progress::AcceptFailed => "it is a connect request, and an accept of it failed before",
            Progress::Accepted => "it is a connect request that was accepted before",
            Progress::Rejected => "it is a connect request that was rejected before",
            Progress::Established => "it is connected already",
            Progress::Ended => "its connection has ended",
        }
    }

    pub(super) fn is_known(self) -> bool {
        self != Progress::Unknown
    }

    /// Was it never on its way to a peer, nor asked by one?
    pub(super) fn is_before_connect(self) -> bool {
        matches!(
            self,
            Progress::New
                | Progress::Bound
                | Progress::Listening
                | Progress::ResolvingAddress
                | Progress::AddressResolved
                | Progress::AddressFailed
                | Progress::ResolvingRoute
                | Progress::RouteResolved
        )
    }
}
