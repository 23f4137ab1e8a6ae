import com.fasterxml.jackson.databind.JsonNode;
import com.openai.errors.BadRequestException;
import com.openai.errors.InternalServerException;
import com.openai.errors.OpenAIIoException;
import com.openai.errors.UnauthorizedException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.openai.OpenAiEmbeddingModel;
import org.springframework.ai.openai.OpenAiEmbeddingOptions;
import org.springframework.ai.tool.function.FunctionToolCallback;

/** The client org.springframework.ai:spring-ai-openai. */
final class UseSpringAi {
    record Place(String city) {}

    static final Duration PATIENCE = Duration.ofSeconds(30);

    // snippet
    static final OpenAiChatModel model = OpenAiChatModel.builder()
        .options(OpenAiChatOptions.builder()
            .baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY).model(Suite.MODEL).streamUsage(true).build())
        .build();

    static JsonNode whole() throws Exception {
        // It shows the answer's own id, by which the receipt can be fetched.
        ChatResponse response = model.call(new Prompt(Suite.QUESTION));
        return Suite.storedReceipt(response.getMetadata().getId());
    }

    static JsonNode streamed() throws Exception {
        ChatResponse last = model.stream(new Prompt(Suite.QUESTION)).blockLast(PATIENCE);
        return Suite.storedReceipt(last.getMetadata().getId());
    }
    // end

    static OpenAiChatOptions.Builder options() {
        return OpenAiChatOptions.builder().baseUrl(Suite.BASE_URL).apiKey(Suite.API_KEY).model(Suite.MODEL);
    }

    static ChatResponse ask(OpenAiChatOptions options) {
        return OpenAiChatModel.builder().options(options).build().call(new Prompt(Suite.QUESTION));
    }

    static void checkText(ChatResponse response) {
        Suite.expect(!response.getResult().getOutput().getText().isEmpty(), "no text");
        Suite.expect(response.getMetadata().getUsage().getCompletionTokens() > 0, "no usage");
    }

    static void stream() {
        List<ChatResponse> parts = model.stream(new Prompt(Suite.QUESTION)).collectList().block(PATIENCE);
        String text = parts.stream()
            .flatMap(part -> part.getResults().stream())
            .map(result -> String.valueOf(result.getOutput().getText()))
            .collect(Collectors.joining());
        Suite.expect(!text.isEmpty(), "no text");
        Suite.expect(parts.get(parts.size() - 1).getMetadata().getUsage().getCompletionTokens() > 0, "no usage");
    }

    static void tools() throws Exception {
        FunctionToolCallback<Place, String> weather = FunctionToolCallback
            .builder("get_weather", (Place place) -> "windy").description("The weather").inputType(Place.class).build();
        ChatResponse response = ask(options().toolCallbacks(List.of(weather)).toolChoice("required").build());
        Suite.expectCity(response.getResult().getOutput().getToolCalls().get(0).arguments());
    }

    static void structured() throws Exception {
        ChatResponse response = ask(options().outputSchema(Suite.JSON.writeValueAsString(Suite.CITY)).build());
        Suite.expectCity(response.getResult().getOutput().getText());
    }

    static void embeddings() {
        for (OpenAiEmbeddingOptions.EncodingFormat format : OpenAiEmbeddingOptions.EncodingFormat.values()) {
            OpenAiEmbeddingOptions options = OpenAiEmbeddingOptions.builder().baseUrl(Suite.BASE_URL)
                .apiKey(Suite.API_KEY).model(Suite.EMBEDDING_MODEL).encodingFormat(format).build();
            int values = OpenAiEmbeddingModel.builder().options(options).build().embed(Suite.QUESTION).length;
            Suite.expect(values == 1024, format + ": " + values);
        }
    }

    static void errors() throws Exception {
        Suite.thrown(BadRequestException.class, () -> ask(options().model("none").build()));
        Suite.thrown(UnauthorizedException.class, () -> ask(options().apiKey("nonsense").build()));
    }

    /** It does not show how often it asked: what fails without retries is answered with them. */
    static void retries() throws Exception {
        Suite.thrown(InternalServerException.class, () -> ask(failing().maxRetries(0).build()));
        checkText(ask(failing().build()));
    }

    static OpenAiChatOptions.Builder failing() {
        return options().extraBody(
            Map.of("sandbox_fault", Suite.fault("status=500; fail-first=2"), "region", "eu-west"));
    }

    static void timeout() throws Exception {
        OpenAiChatOptions hurried = options().timeout(Duration.ofMillis(500)).maxRetries(0)
            .extraBody(Map.of("sandbox_fault", Suite.fault("stall=20000"))).build();
        Suite.thrown(OpenAIIoException.class, () -> ask(hurried));
    }

    static void cancellation() throws Exception {
        OpenAiChatOptions slow = options().maxTokens(500)
            .extraBody(Map.of("sandbox_fault", Suite.fault("pace=5"))).build();
        ChatResponse first = OpenAiChatModel.builder().options(slow).build()
            .stream(new Prompt(Suite.QUESTION)).blockFirst(PATIENCE);
        Suite.expectPartial(Suite.storedReceipt(first.getMetadata().getId()));
    }

    /** Its streams do not hold up who asks. */
    static void asynchronous() throws Exception {
        OpenAiChatOptions stalling = options().extraBody(Map.of("sandbox_fault", Suite.fault("stall=1000"))).build();
        CompletableFuture<List<ChatResponse>> slow = OpenAiChatModel.builder().options(stalling).build()
            .stream(new Prompt(Suite.QUESTION)).collectList().toFuture();
        stream();
        Suite.expect(!slow.isDone(), "one after another");
        Suite.expect(slow.get(1, TimeUnit.MINUTES).size() > 1, "not streamed");
    }

    public static void main(String[] arguments) {
        Suite.check("chat", () -> { checkText(model.call(new Prompt(Suite.QUESTION))); return null; });
        Suite.check("stream", () -> { stream(); return null; });
        Suite.check("tools", () -> { tools(); return null; });
        Suite.check("structured output", () -> { structured(); return null; });
        Suite.check("embeddings", () -> { embeddings(); return null; });
        Suite.check("errors", () -> { errors(); return null; });
        Suite.check("retries", () -> { retries(); return null; });
        Suite.check("timeout", () -> { timeout(); return null; });
        Suite.check("cancellation", () -> { cancellation(); return null; });
        Suite.check("responses", () -> { throw new Suite.NotOffered("its chat models ask for chat completions alone"); });
        Suite.check("asynchronous", () -> { asynchronous(); return null; });
        Suite.check("receipt", UseSpringAi::whole);
        Suite.check("receipt of a stream", UseSpringAi::streamed);
        System.exit(0);
    }
}
