//! The type of each function that is called by its address, as a C declaration.

use crate::abi::{cm::*, verbs::*};
use libc::{c_char, c_int, c_uint, c_void, sockaddr};

/// What a C function takes or gives back.
pub trait Value {
    fn spelled() -> String;
}

/// What a pointer points to. (Apart from `Value`, because `c_char` is `u8` on some machines.)
pub trait Pointee {
    fn spelled() -> String;
}

macro_rules! spelled {
    ($kind:ident: $($ty:ty = $c:literal),* $(,)?) => { $(
        impl $kind for $ty {
            fn spelled() -> String {
                $c.into()
            }
        }
    )* };
}

spelled! { Value:
    () = "void", c_int = "int", c_uint = "unsigned int", libc::c_long = "long",
    u8 = "uint8_t", u64 = "uint64_t", usize = "size_t", isize = "ssize_t",
}

spelled! { Pointee:
    c_char = "char", c_int = "int", c_void = "void",
    sockaddr = "struct sockaddr", libc::epoll_event = "struct epoll_event",
    RdmaEventChannel = "struct rdma_event_channel", RdmaCmId = "struct rdma_cm_id",
    RdmaCmEvent = "struct rdma_cm_event", RdmaConnParam = "struct rdma_conn_param",
    RdmaAddrInfo = "struct rdma_addrinfo", RdmaCmJoinMcAttrEx = "struct rdma_cm_join_mc_attr_ex",
    IbvGid = "union ibv_gid",
    IbvDevice = "struct ibv_device", IbvContext = "struct ibv_context", IbvPd = "struct ibv_pd",
    IbvQp = "struct ibv_qp", IbvCq = "struct ibv_cq", IbvSrq = "struct ibv_srq", IbvMr = "struct ibv_mr",
    IbvCompChannel = "struct ibv_comp_channel", IbvQpAttr = "struct ibv_qp_attr",
    IbvQpInitAttr = "struct ibv_qp_init_attr", IbvQpInitAttrEx = "struct ibv_qp_init_attr_ex",
    IbvSrqInitAttr = "struct ibv_srq_init_attr", IbvSrqInitAttrEx = "struct ibv_srq_init_attr_ex",
    IbvAsyncEvent = "struct ibv_async_event", IbvDeviceAttr = "struct ibv_device_attr",
    IbvPortAttr = "struct _compat_ibv_port_attr", IbvWc = "struct ibv_wc",
    IbvSendWr = "struct ibv_send_wr", IbvRecvWr = "struct ibv_recv_wr",
}

impl<T: Pointee> Pointee for *mut T {
    fn spelled() -> String {
        format!("{} *", T::spelled())
    }
}

impl<T: Pointee> Value for *mut T {
    fn spelled() -> String {
        format!("{} *", T::spelled())
    }
}

impl<T: Pointee> Value for *const T {
    fn spelled() -> String {
        format!("{} const *", T::spelled())
    }
}

/// A function's type: what it gives back, and what it takes.
pub trait Function {
    fn gives() -> String;
    fn takes() -> Vec<String>;
}

macro_rules! function {
    ($($arg:ident)*) => {
        impl<R: Value, $($arg: Value),*> Function for unsafe extern "C-unwind" fn($($arg),*) -> R {
            fn gives() -> String {
                R::spelled()
            }
            fn takes() -> Vec<String> {
                vec![$($arg::spelled()),*]
            }
        }
    };
}

function!();
function!(A);
function!(A B);
function!(A B C);
function!(A B C D);
function!(A B C D E);
function!(A B C D E F);

/// Where C has an enumeration, which Rust must not have for a value that a program makes up: name, place, type.
const ENUMERATIONS: [(&str, usize, &str); 2] = [
    ("rdma_create_id", 3, "enum rdma_port_space"),
    ("rdma_notify", 1, "enum ibv_event_type"),
];

/// The header's function declared once more: the compiler refuses another type. (In parentheses, because some names
/// are macros too.) The first line fails where the headers have no such function.
pub fn declaration<F: Function>(name: &str) -> String {
    let mut takes = F::takes();
    let mut lines = format!("typedef __typeof__({name}) of_{name};\n");
    for (_, place, c) in ENUMERATIONS.iter().filter(|e| e.0 == name) {
        lines += &super::assert_that(&format!("sizeof({c}) == sizeof({})", takes[*place]), name);
        takes[*place] = (*c).into();
    }
    if takes.is_empty() {
        takes.push("void".into());
    }
    lines + &format!("{} ({name})({});\n", F::gives(), takes.join(", "))
}

/// One that takes `...` in C; we give it one argument there.
pub fn variadic<F: Function>(name: &str) -> String {
    let mut takes = F::takes();
    *takes.last_mut().expect("it takes something") = "...".into();
    format!(
        "typedef __typeof__({name}) of_{name};\n{} ({name})({});\n",
        F::gives(),
        takes.join(", ")
    )
}

/// A pointer to such a function in a structure.
fn pointer<F: Function>(what: &str, c: &str) -> String {
    super::assert_that(
        &format!(
            "__builtin_types_compatible_p(__typeof__({c}), {} (*)({}))",
            F::gives(),
            F::takes().join(", ")
        ),
        what,
    )
}

pub fn lines() -> String {
    let real = crate::real::declarations();
    assert_eq!(real.len(), 60, "update this number with real/mod.rs");
    let mut lines: String = real.concat();
    lines += &crate::real::c_library::declarations().concat();
    lines += &pointer::<PollCq>("PollCq", "((struct ibv_context_ops *)0)->poll_cq");
    lines += &pointer::<PostSend>("PostSend", "((struct ibv_context_ops *)0)->post_send");
    lines += &pointer::<PostRecv>("PostRecv", "((struct ibv_context_ops *)0)->post_recv");
    lines
}
