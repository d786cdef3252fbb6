//! What a line is about: read from the id once, while the program's call keeps it alive.

use crate::abi::cm::{port_space, RdmaAddrInfo, RdmaCmId};
use crate::abi::verbs::{IbvContext, TRANSPORT_IWARP};
use crate::abi::IdPtr;
use crate::sys::addresses::{given_address, socket_address};
use crate::sys::device;
use cmshim_core::explain::Port;
use cmshim_core::model::Transport;
use cmshim_core::report::Device;
use libc::{c_char, c_int};
use std::ffi::CStr;
use std::net::{Ipv6Addr, SocketAddr};

/// A light copy of what an id says of itself.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    pub id: Option<IdPtr>,
    pub src: Option<SocketAddr>,
    pub dst: Option<SocketAddr>,
    pub port_space: Option<&'static str>,
    pub device: Option<DeviceName>,
    pub qp_num: Option<u32>,
    /// What was looked up, in words.
    pub asked: Option<String>,
}

/// A device, its port, and the GID in use there.
#[derive(Debug, Clone)]
pub struct DeviceName {
    pub name: String,
    /// 0 while no port is bound.
    pub port: u8,
    pub gid: [u8; 16],
    pub iwarp: bool,
}

impl Subject {
    /// Copies what the id says.
    ///
    /// # Safety
    /// `id` is null or an rdma_cm_id that stays valid during this call, as the program promises
    /// librdmacm when it passes the id (or acks its event only later).
    pub unsafe fn of(id: *const RdmaCmId) -> Subject {
        // SAFETY: valid or null, see above.
        let Some(cm) = (unsafe { id.as_ref() }) else {
            return Subject::default();
        };
        Subject {
            id: Some(IdPtr(id as usize)),
            src: named(socket_address(&cm.route.addr.src)),
            dst: named(socket_address(&cm.route.addr.dst)),
            port_space: port_space::name(cm.ps),
            // SAFETY: librdmacm sets verbs to a device that it holds open while the id lives.
            device: unsafe { DeviceName::of(cm.verbs) }.map(|d| DeviceName {
                port: cm.port_num,
                gid: cm.route.addr.ib.sgid.raw,
                ..d
            }),
            ..Subject::default()
        }
    }

    /// Only the device is known.
    ///
    /// # Safety
    /// `context` is null or an open device context.
    pub unsafe fn of_context(context: *const IbvContext) -> Subject {
        Subject {
            // SAFETY: see above.
            device: unsafe { DeviceName::of(context) },
            ..Subject::default()
        }
    }

    /// Only the addresses are known.
    ///
    /// # Safety
    /// `info` is null or a result of rdma_getaddrinfo.
    pub unsafe fn of_info(info: *const RdmaAddrInfo) -> Subject {
        // SAFETY: see above; a result's addresses are null or whole.
        unsafe {
            info.as_ref().map_or_else(Subject::default, |info| Subject {
                src: given_address(info.ai_src_addr),
                dst: given_address(info.ai_dst_addr),
                port_space: port_space::name(info.ai_port_space),
                ..Subject::default()
            })
        }
    }

    /// Only a name is known.
    ///
    /// # Safety
    /// Both are null or NUL-terminated.
    pub unsafe fn of_name(node: *const c_char, service: *const c_char) -> Subject {
        let text = |what: &str, s: *const c_char| {
            // SAFETY: see above.
            let s = (!s.is_null()).then(|| unsafe { CStr::from_ptr(s) })?;
            Some(format!("{what} {:?}", s.to_string_lossy()))
        };
        let parts = [text("node", node), text("service", service)];
        let asked = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Subject {
            asked: Some(asked).filter(|a| !a.is_empty()),
            ..Subject::default()
        }
    }

    /// Only the port space is known: by name, or by the number that is none.
    pub fn of_port_space(ps: c_int) -> Subject {
        let name = port_space::name(ps);
        Subject {
            port_space: name,
            asked: name.is_none().then(|| format!("port space {ps:#x}")),
            ..Subject::default()
        }
    }

    /// How the connection is carried, from sysfs.
    pub fn transport(&self) -> Transport {
        match &self.device {
            Some(d) => device::transport(&d.name, d.port, d.iwarp),
            None => Transport::Unknown,
        }
    }

    /// The port in use, as it is now.
    pub fn port(&self) -> Option<Port> {
        let d = self.device.as_ref().filter(|d| d.port != 0)?;
        device::port(&d.name, d.port)
    }

    /// Is the peer's address one that no RDMA port has?
    pub fn loopback(&self) -> bool {
        self.dst.is_some_and(|dst| dst.ip().is_loopback())
    }

    /// The transport, where a status has to be read by it.
    pub fn transport_if(&self, needed: bool) -> Transport {
        if needed {
            self.transport()
        } else {
            Transport::Unknown
        }
    }

    /// The device as a line shows it; which RoCE is added when the line is written.
    pub fn shown_device(&self) -> Option<Device> {
        let d = self.device.as_ref()?;
        let bound = d.port != 0;
        let has_gid = bound && d.gid != [0; 16];
        Some(Device {
            name: d.name.clone(),
            port: bound.then_some(d.port),
            gid: has_gid.then(|| gid_text(&d.gid)),
            roce: None,
            transport: self.transport(),
        })
    }
}

impl DeviceName {
    /// # Safety
    /// `context` is null or an open device context.
    unsafe fn of(context: *const IbvContext) -> Option<DeviceName> {
        // SAFETY: see above; a context's device outlives it, and its name is NUL-terminated
        // within 64 bytes, which bounds the copy.
        let device = unsafe { context.as_ref()?.device.as_ref()? };
        let name = device
            .name
            .iter()
            .take_while(|c| **c != 0)
            .map(|c| *c as u8)
            .collect();
        Some(DeviceName {
            name: String::from_utf8(name).ok()?,
            port: 0,
            gid: [0; 16],
            iwarp: device.transport_type == TRANSPORT_IWARP,
        })
    }
}

/// A GID in the short IPv6 form: "::ffff:10.77.0.1".
fn gid_text(gid: &[u8; 16]) -> String {
    Ipv6Addr::from(*gid).to_string()
}

/// An address that nobody has set yet is none.
fn named(address: Option<SocketAddr>) -> Option<SocketAddr> {
    address.filter(|a| !(a.ip().is_unspecified() && a.port() == 0))
}
