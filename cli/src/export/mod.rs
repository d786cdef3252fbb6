//! `cmshim export`: the statistics of all processes of the host, over HTTP, for Prometheus.

mod accept;
mod answer;
pub mod args;
mod page;
mod serve;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;

use cmshim_core::config::reason;

use args::ExportArgs;
use page::Pages;

use crate::failure::{Failure, FOUND, USAGE};
use crate::output;
use crate::stats::find::check_configuration;

pub fn export(args: &ExportArgs) -> Result<u8, Failure> {
    check_configuration();
    let listener = listen(&args.listen)?;
    let fail = |e| Failure::new(FOUND, format!("{}: {}", args.listen, reason(&e)));
    let address = listener.local_addr().map_err(fail)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // One look at the files at a time.
        .max_blocking_threads(1)
        .build()
        .map_err(fail)?;
    let pages = Arc::new(Pages::new(args.processes as usize));
    runtime
        .block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let announce = || output::complain(&format!("serving http://{address}/metrics"));
            serve::serve(listener, pages, announce).await
        })
        .map_err(fail)?;
    // A look at the files that is under way is not waited for.
    runtime.shutdown_background();
    Ok(0)
}

fn listen(text: &str) -> Result<TcpListener, Failure> {
    let addresses: Vec<SocketAddr> = match text.to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(e) => {
            let message = format!(
                "--listen {text}: {}; write ADDRESS:PORT, for example 127.0.0.1:9464 or [::1]:9464",
                reason(&e)
            );
            return Err(Failure::new(USAGE, message));
        }
    };
    let fail = |e| Failure::new(FOUND, format!("--listen {text}: {}", reason(&e)));
    // std sets SO_REUSEADDR, so that it can be started again at once.
    let listener = TcpListener::bind(&addresses[..]).map_err(fail)?;
    listener.set_nonblocking(true).map_err(fail)?;
    Ok(listener)
}
