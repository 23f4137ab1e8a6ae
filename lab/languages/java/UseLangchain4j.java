import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.AuthenticationException;
import dev.langchain4j.exception.InternalServerException;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.TimeoutException;
import dev.langchain4j.http.client.sse.ServerSentEvent;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiChatResponseMetadata;
import dev.langchain4j.model.openai.OpenAiEmbeddingModel;
import dev.langchain4j.model.openai.OpenAiResponsesChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The client dev.langchain4j:langchain4j-open-ai. */
final class UseLangchain4j {
    static final UserMessage QUESTION = UserMessage.from(Suite.QUESTION);
    static final JsonObjectSchema CITY = JsonObjectSchema.builder()
        .addStringProperty("city").required("city").additionalProperties(false).build();

    // snippet
    static final ChatModel model = OpenAiChatModel.builder()
        .baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY).modelName(Suite.MODEL).build();
    static final OpenAiStreamingChatModel streaming = OpenAiStreamingChatModel.builder()
        .baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY).modelName(Suite.MODEL).build();

    static JsonNode whole() throws Exception {
        ChatResponse response = model.chat(QUESTION);
        String body = ((OpenAiChatResponseMetadata) response.metadata()).rawHttpResponse().body();
        return Suite.JSON.readTree(body).get("receipt");
    }

    static JsonNode streamed() throws Exception {
        ChatResponse response = answerOf(streaming);
        for (ServerSentEvent event : ((OpenAiChatResponseMetadata) response.metadata()).rawServerSentEvents()) {
            if (event.data().contains("\"receipt\"")) return Suite.JSON.readTree(event.data()).get("receipt");
        }
        throw new AssertionError("no receipt");
    }
    // end

    static ChatResponse answerOf(OpenAiStreamingChatModel asked) throws Exception {
        return asking(asked).get(1, TimeUnit.MINUTES);
    }

    static CompletableFuture<ChatResponse> asking(OpenAiStreamingChatModel asked) {
        CompletableFuture<ChatResponse> whole = new CompletableFuture<>();
        asked.chat(List.of(QUESTION), new StreamingChatResponseHandler() {
            @Override public void onPartialResponse(String text) {}
            @Override public void onCompleteResponse(ChatResponse response) { whole.complete(response); }
            @Override public void onError(Throwable error) { whole.completeExceptionally(error); }
        });
        return whole;
    }

    static OpenAiChatModel.OpenAiChatModelBuilder builder() {
        return OpenAiChatModel.builder().baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY).modelName(Suite.MODEL);
    }

    static void checkText(ChatResponse response) {
        Suite.expect(!response.aiMessage().text().isEmpty(), "no text");
        Suite.expect(response.tokenUsage().outputTokenCount() > 0, "no usage");
    }

    static void tools() throws Exception {
        ToolSpecification weather = ToolSpecification.builder().name("get_weather").parameters(CITY).build();
        ChatResponse response = model.chat(ChatRequest.builder().messages(QUESTION)
            .toolSpecifications(weather).toolChoice(ToolChoice.REQUIRED).build());
        Suite.expectCity(response.aiMessage().toolExecutionRequests().get(0).arguments());
    }

    static void structured() throws Exception {
        ResponseFormat place = ResponseFormat.builder().type(ResponseFormatType.JSON)
            .jsonSchema(JsonSchema.builder().name("place").rootElement(CITY).build()).build();
        ChatResponse response = builder().strictJsonSchema(true).build()
            .chat(ChatRequest.builder().messages(QUESTION).responseFormat(place).build());
        Suite.expectCity(response.aiMessage().text());
    }

    static void embeddings() {
        for (String format : List.of("float", "base64")) {
            int values = OpenAiEmbeddingModel.builder().baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY)
                .modelName(Suite.EMBEDDING_MODEL).encodingFormat(format).build()
                .embed(Suite.QUESTION).content().dimension();
            Suite.expect(values == 1024, format + ": " + values);
        }
    }

    static void errors() throws Exception {
        Suite.thrown(InvalidRequestException.class, () -> builder().modelName("none").build().chat(QUESTION));
        Suite.thrown(AuthenticationException.class, () -> builder().apiKey("nonsense").build().chat(QUESTION));
    }

    /** It does not show how often it asked: what fails without retries is answered with them. */
    static void retries() throws Exception {
        Suite.thrown(InternalServerException.class, () -> failing().maxRetries(0).build().chat(QUESTION));
        checkText(failing().build().chat(QUESTION));
    }

    static OpenAiChatModel.OpenAiChatModelBuilder failing() {
        return builder().customParameters(
            Map.of("sandbox_fault", Suite.fault("status=500; fail-first=2"), "region", "eu-west"));
    }

    static void timeout() throws Exception {
        OpenAiChatModel hurried = builder().timeout(Duration.ofMillis(500)).maxRetries(0)
            .customParameters(Map.of("sandbox_fault", Suite.fault("stall=20000"))).build();
        Suite.thrown(TimeoutException.class, () -> hurried.chat(QUESTION));
    }

    /** It shows no id of an answer that was left. */
    static void cancellation() throws Exception {
        long begun = Instant.now().getEpochSecond();
        CompletableFuture<Boolean> cancelled = new CompletableFuture<>();
        OpenAiStreamingChatModel.builder()
            .baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY).modelName(Suite.OTHER_MODEL).maxTokens(500)
            .customParameters(Map.of("sandbox_fault", Suite.fault("pace=5"))).build()
            .chat(List.of(QUESTION), new StreamingChatResponseHandler() {
                @Override public void onPartialResponse(PartialResponse part, PartialResponseContext context) {
                    context.streamingHandle().cancel();
                    cancelled.complete(context.streamingHandle().isCancelled());
                }
                @Override public void onCompleteResponse(ChatResponse response) { cancelled.complete(false); }
                @Override public void onError(Throwable error) { cancelled.completeExceptionally(error); }
            });
        Suite.expect(cancelled.get(1, TimeUnit.MINUTES), "not cancelled");
        Suite.expectPartial(Suite.receiptSince(begun, Suite.OTHER_MODEL));
    }

    /** Its streams do not hold up who asks. */
    static void asynchronous() throws Exception {
        CompletableFuture<ChatResponse> slow = asking(OpenAiStreamingChatModel.builder()
            .baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY).modelName(Suite.MODEL)
            .customParameters(Map.of("sandbox_fault", Suite.fault("stall=1000"))).build());
        checkText(asking(streaming).get(1, TimeUnit.MINUTES));
        Suite.expect(!slow.isDone(), "one after another");
        checkText(slow.get(1, TimeUnit.MINUTES));
    }

    static JsonNode responses() throws Exception {
        ChatResponse response = OpenAiResponsesChatModel.builder()
            .baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY).modelName(Suite.MODEL).build().chat(QUESTION);
        checkText(response);
        return Suite.storedReceipt(response.metadata().id());
    }

    public static void main(String[] arguments) {
        Suite.check("chat", () -> { checkText(model.chat(QUESTION)); return null; });
        Suite.check("stream", () -> { checkText(answerOf(streaming)); return null; });
        Suite.check("tools", () -> { tools(); return null; });
        Suite.check("structured output", () -> { structured(); return null; });
        Suite.check("embeddings", () -> { embeddings(); return null; });
        Suite.check("errors", () -> { errors(); return null; });
        Suite.check("retries", () -> { retries(); return null; });
        Suite.check("timeout", () -> { timeout(); return null; });
        Suite.check("cancellation", () -> { cancellation(); return null; });
        Suite.check("responses", UseLangchain4j::responses);
        Suite.check("asynchronous", () -> { asynchronous(); return null; });
        Suite.check("receipt", UseLangchain4j::whole);
        Suite.check("receipt of a stream", UseLangchain4j::streamed);
        System.exit(0);
    }
}
