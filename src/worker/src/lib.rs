//! Statewright on Cloudflare Workers: the service over D1, and the cron trigger.
//!
//! No lock and no promise is shared between the requests of an isolate: the runtime can hang on one.

mod cron;
mod d1;
mod page;

use std::{cell::RefCell, rc::Rc};

use statewright_service::{Kept, Lent, Service, incoming::Incoming, store::Store};
use wasm_bindgen::JsValue;
use worker::{Context, Env, ScheduleContext, ScheduledEvent, event};

use crate::d1::D1;

thread_local! {
    /// What this isolate keeps between requests.
    static KEPT: RefCell<Option<Rc<Kept>>> = const { RefCell::new(None) };
}

/// The service over what one request or invocation was lent.
fn service(env: Env) -> Service {
    let database = Store::new(D1::of(&env));
    let env = JsValue::from(env);
    let kept = KEPT.with(|slot| {
        let mut slot = slot.borrow_mut();
        Rc::clone(slot.get_or_insert_with(|| Rc::new(Kept::read(&env, None))))
    });
    let lent = Lent {
        env,
        set_a_key: "runs `npx wrangler secret put API_KEY`",
        ..Lent::default()
    };
    Service::new(kept, database, lent)
}

#[event(fetch)]
async fn fetch(request: web_sys::Request, env: Env, context: Context) -> worker::Result<web_sys::Response> {
    if let Some(page) = page::page(&request, &env).await {
        return Ok(page);
    }
    let served = service(env).serve(Incoming::Web(request)).await;
    let (response, delivery) = served.respond().map_err(worker::Error::from)?;
    if let Some(delivery) = delivery {
        context.wait_until(delivery);
    }
    Ok(response)
}

#[event(scheduled)]
async fn scheduled(event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    cron::run(&event, &service(env)).await;
}
