//! Statewright Worker.
use axum::{Json, Router, routing::get};
use tower_service::Service as _;
use worker::{Context, Env, event};

async fn health() -> Json<serde_json::Value> {
    Json(serde_json::json!({"status":"ok","version":env!("CARGO_PKG_VERSION"),"service":"state-machine"}))
}

#[event(fetch)]
async fn fetch(
    request: worker::HttpRequest,
    _env: Env,
    _context: Context,
) -> worker::Result<http::Response<axum::body::Body>> {
    let mut router: Router = Router::new().route("/health", get(health));
    Ok(router.call(request).await.unwrap_or_else(|never| match never {}))
}
