//! Connections: few at once, none for long, so that a slow or hostile client takes nothing from others.

use std::collections::VecDeque;
use std::io::Result;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::answer::answer;
use super::page::Pages;

/// Connections at once. One more ends the oldest: whoever asks is served in milliseconds, and only who dawdles stays
/// long enough to be the oldest.
const MOST: usize = 16;
/// For the whole request to come.
const REQUEST: Duration = Duration::from_secs(5);
/// From the first byte to the last of the answer.
const WHOLE: Duration = Duration::from_secs(30);
/// The largest request, in bytes.
const LARGEST: usize = 16 << 10;
/// Answers that are under way at the end get so long.
const LAST: Duration = Duration::from_secs(1);

/// Serves until SIGTERM or SIGINT. `announce` is called when both signals end it cleanly.
pub async fn serve(
    listener: TcpListener,
    pages: Arc<Pages>,
    announce: impl FnOnce(),
) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    announce();
    let mut open = VecDeque::new();
    loop {
        let accepted = tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => admit(&mut open, stream, pages.clone()),
            // The client is gone already, or there is no descriptor left.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
    drop(listener);
    let _ = timeout(LAST, async {
        for connection in open {
            let _ = connection.await;
        }
    })
    .await;
    Ok(())
}

fn admit(open: &mut VecDeque<JoinHandle<()>>, stream: TcpStream, pages: Arc<Pages>) {
    open.retain(|connection| !connection.is_finished());
    while open.len() >= MOST {
        if let Some(oldest) = open.pop_front() {
            oldest.abort();
        }
    }
    open.push_back(tokio::spawn(connection(stream, pages)));
}

/// One request, one answer. What goes wrong in between is the client's matter.
async fn connection(stream: TcpStream, pages: Arc<Pages>) {
    let service = service_fn(move |request| answer(request, pages.clone()));
    let served = http1::Builder::new()
        .keep_alive(false)
        // A client may say that it sends nothing more (nc does).
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .max_buf_size(LARGEST)
        .serve_connection(TokioIo::new(stream), service);
    let _ = timeout(WHOLE, served).await;
}
