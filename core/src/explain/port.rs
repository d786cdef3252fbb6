//! The local port of a connection, as its state tells who is to blame for silence.

/// A port of an RDMA device when something failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// "rxe0/1", as `rdma link` writes it.
    pub name: String,
    /// "ACTIVE", "DOWN"; `None`: the device is gone.
    pub state: Option<String>,
    /// The network device below it. InfiniBand has none.
    pub netdev: Option<String>,
}

impl Port {
    /// Can nothing be sent by this port?
    pub fn unusable(&self) -> bool {
        !self
            .state
            .as_deref()
            .is_some_and(|s| s.starts_with("ACTIVE"))
    }

    /// For a line that names the device elsewhere: "port is DOWN, netdev v0".
    pub fn phrase(&self) -> String {
        match (&self.state, &self.netdev) {
            (None, _) => format!("{} is gone", self.name),
            (Some(state), None) => format!("port is {state}"),
            (Some(state), Some(netdev)) => format!("port is {state}, netdev {netdev}"),
        }
    }

    /// For a sentence: "port rxe0/1 (netdev v0) is DOWN".
    pub fn sentence(&self) -> String {
        let netdev = match &self.netdev {
            Some(netdev) => format!(" (netdev {netdev})"),
            None => String::new(),
        };
        let state = self.state.as_deref().unwrap_or("gone");
        format!("port {}{netdev} is {state}", self.name)
    }

    /// What shows more of it.
    pub(super) fn next(&self) -> String {
        match &self.netdev {
            Some(netdev) => format!("ip link show {netdev}; rdma link show; dmesg"),
            None => "rdma link show; dmesg".to_owned(),
        }
    }
}
