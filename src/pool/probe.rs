//! The reuse probe: may queue pairs of this device be connected a second time? Two of our own, on completion queues
//! of their own, are connected to each other, used, moved to ERR and RESET, and connected again.
//!
//! What goes wrong elsewhere: RESET is answered with 0 and nothing happens (siw, irdma, erdma); completions of
//! the old life stay in the completion queue, and the next connection gets them (rxe and others that do not clean up).

use crate::abi::verbs::*;
use crate::real;
use libc::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for a completion.
const PATIENCE: Duration = Duration::from_millis(500);
/// A completion that is late by so much was not to come.
const QUIET: Duration = Duration::from_millis(20);
/// Between two looks.
const STEP: Duration = Duration::from_micros(200);

type Answer<T> = Result<T, String>;

/// The objects of a probe. They go with it.
pub struct Probe {
    context: *mut IbvContext,
    pd: *mut IbvPd,
    /// One for each queue pair.
    cqs: [*mut IbvCq; 2],
    qps: [*mut IbvQp; 2],
    mr: *mut IbvMr,
    port: u8,
    path: IbvAhAttr,
    buffer: Box<[u64; 8]>,
    /// Somebody waits for the end of the probe.
    hurry: &'static AtomicU32,
}

impl Drop for Probe {
    fn drop(&mut self) {
        // SAFETY: each is null, or was made by this probe and is known to nobody else.
        unsafe {
            for qp in self.qps.into_iter().filter(|qp| !qp.is_null()) {
                real::ibv_destroy_qp().map(|destroy| destroy(qp));
            }
            for cq in self.cqs.into_iter().filter(|cq| !cq.is_null()) {
                real::ibv_destroy_cq().map(|destroy| destroy(cq));
            }
            if !self.mr.is_null() {
                real::ibv_dereg_mr().map(|dereg| dereg(self.mr.cast()));
            }
            if !self.pd.is_null() {
                real::ibv_dealloc_pd().map(|dealloc| dealloc(self.pd));
            }
        }
    }
}

impl Probe {
    /// # Safety
    /// The context stays open while the probe lives. While `hurry` is not 0, it gives up.
    pub unsafe fn new(context: *mut IbvContext, hurry: &'static AtomicU32) -> Answer<Probe> {
        let mut probe = Probe {
            context,
            pd: null_mut(),
            cqs: [null_mut(); 2],
            qps: [null_mut(); 2],
            mr: null_mut(),
            port: 1,
            path: IbvAhAttr::default(),
            buffer: Box::default(),
            hurry,
        };
        // SAFETY: as promised by the caller; each object is used after it was made.
        let made = unsafe { probe.make() };
        made.ok_or_else(|| "the objects for a trial cannot be made".to_owned())?;
        // SAFETY: as promised by the caller.
        unsafe { probe.find_path() }.ok_or_else(|| "no active port with an address".to_owned())?;
        Ok(probe)
    }

    /// Is its answer void?
    pub fn given_up(&self) -> bool {
        self.hurry.load(Ordering::Relaxed) != 0
    }

    /// Addresses of the queue pairs.
    pub fn qps(&self) -> [usize; 2] {
        self.qps.map(|qp| qp as usize)
    }

    /// # Safety
    /// As `new`.
    unsafe fn make(&mut self) -> Option<()> {
        // SAFETY: as promised by the caller.
        unsafe {
            self.pd = real::ibv_alloc_pd()?(self.context);
            if self.pd.is_null() {
                return None;
            }
            let at = self.buffer.as_mut_ptr().cast::<c_void>();
            self.mr = real::ibv_reg_mr()?(self.pd, at, 64, 1).cast();
            for end in 0..2 {
                self.cqs[end] = real::ibv_create_cq()?(self.context, 8, null_mut(), null_mut(), 0);
                if self.cqs[end].is_null() {
                    return None;
                }
                let mut attr = IbvQpInitAttr {
                    qp_context: null_mut(),
                    send_cq: self.cqs[end],
                    recv_cq: self.cqs[end],
                    srq: null_mut(),
                    cap: IbvQpCap {
                        max_send_wr: 4,
                        max_recv_wr: 4,
                        max_send_sge: 1,
                        max_recv_sge: 1,
                        max_inline_data: 0,
                    },
                    qp_type: cmshim_core::pool::QPT_RC,
                    sq_sig_all: 0,
                };
                self.qps[end] = real::ibv_create_qp()?(self.pd, &mut attr);
                if self.qps[end].is_null() {
                    return None;
                }
            }
        }
        (!self.mr.is_null()).then_some(())
    }

    /// The way from a port of the device to itself.
    ///
    /// # Safety
    /// As `new`.
    unsafe fn find_path(&mut self) -> Option<()> {
        for port in 1..=2u8 {
            let mut attr = IbvPortAttr::default();
            // SAFETY: as promised by the caller; there is room for what is filled.
            let rc = unsafe { real::ibv_query_port()?(self.context, port, &raw mut attr) };
            if rc != 0 || attr.state != PORT_ACTIVE {
                continue;
            }
            self.port = port;
            self.path.port_num = port;
            self.path.dlid = attr.lid;
            if attr.link_layer != ETHERNET {
                return Some(());
            }
            self.path.is_global = 1;
            self.path.hop_limit = 1;
            for index in 0..attr.gid_tbl_len.clamp(0, 16) {
                let mut gid = [0u64; 2];
                // SAFETY: as above.
                let rc = unsafe {
                    real::ibv_query_gid()?(self.context, port, index, gid.as_mut_ptr().cast())
                };
                let mapped = gid[0] == 0 && gid[1] != 0;
                let first = self.path.dgid == [0; 2] && gid != [0; 2];
                if rc == 0 && (mapped || first) {
                    self.path.dgid = gid;
                    self.path.sgid_index = index as u8;
                }
                if mapped {
                    break;
                }
            }
            return (self.path.dgid != [0; 2]).then_some(());
        }
        None
    }

    /// The trial: what is wrong, or nothing.
    pub fn run(&mut self) -> Answer<()> {
        // First life: data goes over it, and what ERR flushes shows up in the completion queue.
        self.connect()?;
        self.message(1)?;
        self.finish(1, 10)?;
        self.post_recv(0, 11)?;
        let begin = Instant::now();
        self.all_to(ERR)?;
        let flushed = self.poll(0, PATIENCE);
        if flushed.map(|wc| wc.wr_id) != Some(11) {
            return Err("posted work is not flushed in state ERR".to_owned());
        }
        let wait = (begin.elapsed() * 4).max(QUIET).min(PATIENCE);
        self.reset()?;
        // Second life: its completions are left behind.
        self.connect()?;
        self.message(2)?;
        self.post_recv(0, 21)?;
        self.nap(wait);
        self.all_to(ERR)?;
        self.nap(wait);
        self.reset()?;
        if (0..2).any(|end| self.poll(end, wait).is_some()) {
            return Err(
                "after RESET, completions of the old connection are left in the completion queue"
                    .to_owned(),
            );
        }
        // Third life: data again, and nothing else.
        self.connect()?;
        self.message(3)?;
        self.finish(3, 30)
    }

    /// A message from the first to the second, whose arrival is waited for.
    fn message(&mut self, life: u64) -> Answer<()> {
        self.post_recv(1, life)?;
        self.post_send(life * 10)?;
        match self.poll(1, PATIENCE) {
            Some(wc) if wc.wr_id == life && wc.status == 0 => Ok(()),
            Some(_) => Err("a connection got a completion that is not its own".to_owned()),
            None => Err("no data goes over a connection of the device with itself".to_owned()),
        }
    }

    /// The sender's completion.
    fn finish(&mut self, life: u64, wr_id: u64) -> Answer<()> {
        match self.poll(0, PATIENCE) {
            Some(wc) if wc.wr_id == wr_id && wc.status == 0 => Ok(()),
            _ => Err(format!("no completion of the message of life {life}")),
        }
    }

    fn connect(&mut self) -> Answer<()> {
        for end in 0..2 {
            let mut attr = self.attr(INIT);
            attr.port_num = self.port;
            self.modify(end, attr, TO_INIT)?;
            let mut attr = self.attr(RTR);
            attr.path_mtu = 1;
            // SAFETY: the other queue pair is the probe's own.
            attr.dest_qp_num = unsafe { (*self.qps[1 - end]).qp_num };
            attr.ah_attr = self.path;
            attr.max_dest_rd_atomic = 1;
            attr.min_rnr_timer = 12;
            self.modify(end, attr, TO_RTR)?;
        }
        for end in 0..2 {
            let mut attr = self.attr(RTS);
            attr.timeout = 14;
            attr.retry_cnt = 7;
            attr.rnr_retry = 7;
            attr.max_rd_atomic = 1;
            self.modify(end, attr, TO_RTS)?;
        }
        Ok(())
    }

    fn reset(&mut self) -> Answer<()> {
        self.all_to(RESET)?;
        // SAFETY: the probe's own queue pairs.
        let reset = self.qps.into_iter().all(|qp| unsafe { is_reset(qp) });
        if !reset {
            return Err("a queue pair that was moved to RESET is not in RESET".to_owned());
        }
        Ok(())
    }

    fn all_to(&mut self, state: c_int) -> Answer<()> {
        (0..2).try_for_each(|end| self.modify(end, self.attr(state), QP_STATE))
    }

    fn attr(&self, state: c_int) -> IbvQpAttr {
        // SAFETY: zero is a valid value of all members.
        let mut attr: IbvQpAttr = unsafe { std::mem::zeroed() };
        attr.qp_state = state;
        attr
    }

    fn modify(&mut self, end: usize, mut attr: IbvQpAttr, mask: c_int) -> Answer<()> {
        let modify = real::ibv_modify_qp().ok_or_else(String::new)?;
        // SAFETY: the probe's own queue pair, and whole attributes.
        let rc = unsafe { modify(self.qps[end], (&raw mut attr).cast(), mask) };
        if rc == 0 {
            return Ok(());
        }
        let name = cmshim_core::codes::qp_state::name(attr.qp_state as u32);
        Err(format!(
            "a queue pair cannot be moved to {name} (errno {rc})"
        ))
    }

    fn sge(&mut self, half: usize) -> IbvSge {
        IbvSge {
            addr: self.buffer.as_ptr() as u64 + 32 * half as u64,
            length: 32,
            // SAFETY: the probe's own memory region.
            lkey: unsafe { (*self.mr).lkey },
        }
    }

    fn post_recv(&mut self, end: usize, wr_id: u64) -> Answer<()> {
        let mut sge = self.sge(0);
        let mut wr = IbvRecvWr {
            wr_id,
            next: null_mut(),
            sg_list: &mut sge,
            num_sge: 1,
        };
        // SAFETY: the place holds this function (tested), for queue pairs of this context.
        let rc = unsafe {
            let post: Option<PostRecv> = std::mem::transmute((*self.context).ops[OPS_POST_RECV]);
            post.map_or(libc::ENOSYS, |post| {
                post(self.qps[end], &mut wr, &mut null_mut())
            })
        };
        posted(rc)
    }

    fn post_send(&mut self, wr_id: u64) -> Answer<()> {
        let mut sge = self.sge(1);
        let mut wr = IbvSendWr {
            wr_id,
            next: null_mut(),
            sg_list: &mut sge,
            num_sge: 1,
            opcode: WR_SEND,
            send_flags: SEND_SIGNALED,
            imm_data: 0,
            rest: [0; 11],
        };
        // SAFETY: as above.
        let rc = unsafe {
            let post: Option<PostSend> = std::mem::transmute((*self.context).ops[OPS_POST_SEND]);
            post.map_or(libc::ENOSYS, |post| {
                post(self.qps[0], &mut wr, &mut null_mut())
            })
        };
        posted(rc)
    }

    /// The next completion, if one comes in time.
    fn poll(&mut self, end: usize, limit: Duration) -> Option<IbvWc> {
        let begin = Instant::now();
        loop {
            let mut wc = IbvWc::default();
            // SAFETY: the place holds this function (tested), for completion queues of this context.
            let found = unsafe {
                let poll: Option<PollCq> = std::mem::transmute((*self.context).ops[OPS_POLL_CQ]);
                poll?(self.cqs[end], 1, &mut wc)
            };
            if found > 0 {
                return Some(wc);
            }
            if begin.elapsed() > limit || self.given_up() {
                return None;
            }
            std::thread::sleep(STEP);
        }
    }

    fn nap(&self, long: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < long && !self.given_up() {
            std::thread::sleep(STEP);
        }
    }
}

fn posted(rc: c_int) -> Answer<()> {
    match rc {
        0 => Ok(()),
        _ => Err(format!("work cannot be posted (errno {rc})")),
    }
}

/// Does the device itself say RESET? (libibverbs only remembers what was asked for.)
///
/// # Safety
/// The queue pair is alive and the caller's own.
pub unsafe fn is_reset(qp: *mut IbvQp) -> bool {
    let Some(query) = real::ibv_query_qp() else {
        return false;
    };
    // SAFETY: both buffers are larger than what is filled, and zero is valid.
    unsafe {
        let mut attr: IbvQpAttr = std::mem::zeroed();
        let mut init: [u64; 16] = [0; 16];
        attr.qp_state = -1;
        query(
            qp,
            (&raw mut attr).cast(),
            QP_STATE,
            init.as_mut_ptr().cast(),
        ) == 0
            && attr.qp_state == RESET
    }
}
