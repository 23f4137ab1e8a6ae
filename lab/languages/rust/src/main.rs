//! The client async-openai.

mod suite;

use async_openai::{
    Client,
    config::OpenAIConfig,
    error::OpenAIError,
    middleware::{ReqwestService, retry::OpenAIRetryLayer},
    types::{
        chat::{ChatCompletionMessageToolCalls, CreateChatCompletionRequest},
        embeddings::CreateEmbeddingRequest,
        responses::{CreateResponse, ResponseStreamEvent},
    },
};
use futures::StreamExt;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use suite::*;
use tower::{ServiceBuilder, ServiceExt};

// snippet
// Its types drop members that they do not know: with the feature byot an answer is of any type that one names.

async fn whole(client: &Client<OpenAIConfig>) -> Result<Value, OpenAIError> {
    let completion: Value = client.chat().create_byot(question(json!({}))).await?;
    Ok(completion["receipt"].clone())
}

async fn streamed(client: &Client<OpenAIConfig>) -> Result<Value, OpenAIError> {
    let mut receipt = Value::Null;
    let asked = question(json!({ "stream": true }));
    let mut chunks = client.chat().create_stream_byot::<_, Value>(asked).await?;
    while let Some(chunk) = chunks.next().await {
        if let Some(found) = chunk?.get("receipt") {
            receipt = found.clone();
        }
    }
    Ok(receipt)
}
// end

fn config() -> OpenAIConfig {
    OpenAIConfig::new()
        .with_api_base(base_url())
        .with_api_key(api_key())
}

/// With these members as well.
fn question(more: Value) -> Value {
    let mut asked =
        json!({ "model": MODEL, "messages": [{ "role": "user", "content": QUESTION }] });
    asked
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    asked
}

/// As the client's own type, which has to know every member.
fn typed(more: Value) -> Result<CreateChatCompletionRequest, serde_json::Error> {
    serde_json::from_value(question(more))
}

async fn chat(client: &Client<OpenAIConfig>) -> Outcome {
    let completion = client.chat().create(typed(json!({}))?).await?;
    expect(completion.choices[0].message.content.is_some(), "no text")?;
    expect(
        completion
            .usage
            .is_some_and(|usage| usage.completion_tokens > 0),
        "no usage",
    )?;
    expect(completion.model == MODEL, completion.model)?;
    Ok(None)
}

async fn stream(client: &Client<OpenAIConfig>) -> Outcome {
    let asked = typed(json!({ "stream": true, "stream_options": { "include_usage": true } }))?;
    let mut chunks = client.chat().create_stream(asked).await?;
    let (mut text, mut tokens) = (String::new(), 0);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        for choice in chunk.choices {
            text += &choice.delta.content.unwrap_or_default();
        }
        tokens = chunk.usage.map_or(tokens, |usage| usage.completion_tokens);
    }
    expect(!text.is_empty(), "no text")?;
    expect(tokens > 0, "no usage")?;
    Ok(None)
}

async fn tools(client: &Client<OpenAIConfig>) -> Outcome {
    let weather =
        json!({ "type": "function", "function": { "name": "get_weather", "parameters": city() } });
    let asked = typed(json!({ "tools": [weather], "tool_choice": "required" }))?;
    let completion = client.chat().create(asked).await?;
    match completion.choices[0].message.tool_calls.as_deref() {
        Some([ChatCompletionMessageToolCalls::Function(call), ..]) => {
            expect_city(&call.function.arguments)?
        }
        other => expect(false, format!("{other:?}"))?,
    }
    Ok(None)
}

async fn structured(client: &Client<OpenAIConfig>) -> Outcome {
    let place = json!({ "name": "place", "strict": true, "schema": city() });
    let asked =
        typed(json!({ "response_format": { "type": "json_schema", "json_schema": place } }))?;
    let completion = client.chat().create(asked).await?;
    expect_city(
        completion.choices[0]
            .message
            .content
            .as_deref()
            .unwrap_or_default(),
    )?;
    Ok(None)
}

async fn embeddings(client: &Client<OpenAIConfig>) -> Outcome {
    let asked = |format: &str| -> Result<CreateEmbeddingRequest, serde_json::Error> {
        serde_json::from_value(
            json!({ "model": EMBEDDING_MODEL, "input": QUESTION, "encoding_format": format }),
        )
    };
    let floats = client.embeddings().create(asked("float")?).await?;
    let base64 = client.embeddings().create_base64(asked("base64")?).await?;
    let floats = &floats.data[0].embedding;
    let decoded: Vec<f32> = base64.data[0].embedding.clone().into();
    expect(
        floats.len() == 1024 && decoded.len() == 1024,
        format!("{} {}", floats.len(), decoded.len()),
    )?;
    let near = floats
        .iter()
        .zip(&decoded)
        .all(|(one, other)| (one - other).abs() < 1e-6);
    expect(near, "base64 and float differ")?;
    Ok(None)
}

async fn refused<T>(
    asked: impl Future<Output = Result<T, OpenAIError>>,
) -> Result<(u16, Option<String>), String> {
    match asked.await {
        Err(OpenAIError::ApiError(error)) => Ok((error.status_code.as_u16(), error.api_error.code)),
        Err(error) => Err(format!("not an error of the API: {error}")),
        Ok(_) => Err("not refused".into()),
    }
}

async fn errors(client: &Client<OpenAIConfig>) -> Outcome {
    let (status, code) = refused(client.chat().create(typed(json!({ "model": "none" }))?)).await?;
    expect(
        status == 400 && code.as_deref() == Some("invalid_model"),
        format!("{status} {code:?}"),
    )?;
    let (status, _) = refused(client.models().retrieve("none")).await?;
    expect(status == 404, status)?;
    let stranger = Client::with_config(config().with_api_key("nonsense"));
    let (status, _) = refused(stranger.models().list()).await?;
    expect(status == 401, status)?;
    Ok(None)
}

async fn retries() -> Outcome {
    let statuses = Arc::new(Mutex::new(Vec::new()));
    let noting = statuses.clone();
    let service = ServiceBuilder::new()
        .layer(OpenAIRetryLayer::default())
        .service(ReqwestService::new(reqwest::Client::new()).map_response(
            move |response: reqwest::Response| {
                noting.lock().unwrap().push(response.status().as_u16());
                response
            },
        ));
    let client = Client::with_config(config()).with_http_service(service);
    let failing =
        json!({ "sandbox_fault": fault("status=500; fail-first=2"), "region": "eu-west" });
    let _: Value = client.chat().create_byot(question(failing)).await?;
    let repeated = std::mem::take(&mut *statuses.lock().unwrap());
    expect(repeated == [502, 200], format!("502: {repeated:?}"))?;
    refused(
        client
            .chat()
            .create_byot::<_, Value>(question(json!({ "model": "none" }))),
    )
    .await?;
    let once = std::mem::take(&mut *statuses.lock().unwrap());
    expect(once == [400], format!("400: {once:?}"))?;
    Ok(None)
}

async fn timeout() -> Outcome {
    let hurried = reqwest::Client::builder()
        .timeout(Duration::from_millis(500))
        .build()?;
    let client = Client::with_config(config()).with_http_client(hurried);
    let asked = question(json!({ "sandbox_fault": fault("stall=20000") }));
    match client.chat().create_byot::<_, Value>(asked).await {
        Err(OpenAIError::Reqwest(error)) => expect(error.is_timeout(), error)?,
        other => expect(false, format!("{other:?}"))?,
    }
    Ok(None)
}

async fn cancellation(client: &Client<OpenAIConfig>) -> Outcome {
    let asked = json!({ "stream": true, "max_tokens": 500, "sandbox_fault": fault("pace=5") });
    let mut chunks = client
        .chat()
        .create_stream_byot::<_, Value>(question(asked))
        .await?;
    let first = chunks.next().await.ok_or("no chunk")??;
    drop(chunks);
    let receipt = stored_receipt(first["id"].as_str().ok_or("no id")?).await?;
    let outcome = &receipt.as_ref().unwrap()["credentialSubject"]["outcome"];
    expect(outcome == "partial", outcome)?;
    Ok(None)
}

async fn responses(client: &Client<OpenAIConfig>) -> Outcome {
    let asked = json!({ "model": MODEL, "input": QUESTION });
    let typed: CreateResponse = serde_json::from_value(asked.clone())?;
    let response = client.responses().create(typed.clone()).await?;
    expect(response.output_text().is_some(), "no text")?;
    let asked_stream = CreateResponse {
        stream: Some(true),
        ..typed
    };
    let mut events = client.responses().create_stream(asked_stream).await?;
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event?);
    }
    // The sandbox may come to the end of its tokens.
    let ended = matches!(
        last,
        Some(
            ResponseStreamEvent::ResponseCompleted(_) | ResponseStreamEvent::ResponseIncomplete(_)
        )
    );
    expect(ended, format!("last event {last:?}"))?;
    let response: Value = client.responses().create_byot(asked).await?;
    Ok(Some(response["receipt"].clone()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = Client::with_config(config());
    check("chat", chat(&client)).await;
    check("stream", stream(&client)).await;
    check("tools", tools(&client)).await;
    check("structured output", structured(&client)).await;
    check("embeddings", embeddings(&client)).await;
    check("errors", errors(&client)).await;
    check("retries", retries()).await;
    check("timeout", timeout()).await;
    check("cancellation", cancellation(&client)).await;
    check("responses", responses(&client)).await;
    check("receipt", async { Ok(Some(whole(&client).await?)) }).await;
    check("receipt of a stream", async {
        Ok(Some(streamed(&client).await?))
    })
    .await;
}
