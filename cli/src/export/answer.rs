//! One request and its answer.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, ACCEPT, ALLOW, CONTENT_TYPE, VARY};
use hyper::{Method, Request, Response, StatusCode};

use super::accept;
use super::page::Pages;

type Answer = Response<Full<Bytes>>;

const TEXT: &str = "text/plain; charset=utf-8";

pub async fn answer(request: Request<Incoming>, pages: Arc<Pages>) -> Result<Answer, Infallible> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    Ok(match (request.uri().path(), reads) {
        ("/metrics", true) => metrics(&request, pages).await,
        ("/healthz", true) => of(StatusCode::OK, TEXT, "ok\n".into()),
        ("/", true) => of(StatusCode::OK, TEXT, "cmshim: see /metrics\n".into()),
        ("/metrics" | "/healthz" | "/", false) => {
            let mut answer = of(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET or HEAD\n".into());
            let allowed = HeaderValue::from_static("GET, HEAD");
            answer.headers_mut().insert(ALLOW, allowed);
            answer
        }
        _ => of(
            StatusCode::NOT_FOUND,
            TEXT,
            "not here; see /metrics\n".into(),
        ),
    })
}

async fn metrics(request: &Request<Incoming>, pages: Arc<Pages>) -> Answer {
    let wanted = request.headers().get_all(ACCEPT).iter();
    let wanted: Vec<&str> = wanted.filter_map(|value| value.to_str().ok()).collect();
    let form = accept::form(&wanted.join(","));
    // A task of its own: a client that goes away does not leave the text half made.
    let page = tokio::spawn(async move { pages.page(form).await }).await;
    match page {
        Ok(Ok(page)) => {
            let mut answer = of(StatusCode::OK, form.content_type(), page);
            let vary = HeaderValue::from_static("Accept");
            answer.headers_mut().insert(VARY, vary);
            answer
        }
        _ => of(
            StatusCode::INTERNAL_SERVER_ERROR,
            TEXT,
            "the files could not be read\n".into(),
        ),
    }
}

fn of(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}
