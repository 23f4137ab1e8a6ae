//! What every client program has: where the service is, and how it says what it found: one JSON object per line.

use serde_json::{Value, json};
use std::{
    env,
    error::Error,
    time::{Duration, Instant, SystemTime},
};

pub const MODEL: &str = "llama-3.1-8b";
pub const EMBEDDING_MODEL: &str = "bge-m3";
pub const QUESTION: &str = "Tell me about the lighthouse.";

/// A receipt, which is verified by who reads the report, or nothing.
pub type Outcome = Result<Option<Value>, Box<dyn Error>>;

pub fn base_url() -> String {
    env::var("DOCKET_BASE_URL").unwrap()
}

pub fn api_key() -> String {
    env::var("DOCKET_API_KEY").unwrap()
}

pub fn city() -> Value {
    json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    })
}

/// Waits for the outcome, and reports it under this name.
pub async fn check(name: &str, outcome: impl Future<Output = Outcome>) {
    let found = match outcome.await {
        Ok(Some(receipt)) => json!({ "check": name, "verdict": "works", "receipt": receipt }),
        Ok(None) => json!({ "check": name, "verdict": "works" }),
        Err(error) => json!({ "check": name, "verdict": "fails", "words": error.to_string() }),
    };
    println!("{found}");
}

pub fn expect(holds: bool, what: impl ToString) -> Result<(), Box<dyn Error>> {
    if holds {
        Ok(())
    } else {
        Err(what.to_string().into())
    }
}

pub fn expect_city(text: &str) -> Result<(), Box<dyn Error>> {
    let place: Value = serde_json::from_str(text)?;
    expect(place["city"].is_string(), format!("no city in {text}"))
}

/// A fault of the sandbox under a name of its own.
pub fn fault(text: &str) -> String {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    format!("{text}; id={}", now.as_nanos())
}

/// The receipt as the service has it, once it has it.
pub async fn stored_receipt(id: &str) -> Outcome {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let address = format!("{}/receipts/{id}", base_url());
        let reply = reqwest::Client::new()
            .get(address)
            .bearer_auth(api_key())
            .send()
            .await?;
        if reply.status().is_success() {
            return Ok(Some(reply.json().await?));
        }
        expect(Instant::now() < end, reply.text().await?)?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
