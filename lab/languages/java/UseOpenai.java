import static java.util.stream.Collectors.joining;

import com.fasterxml.jackson.databind.JsonNode;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.http.HttpResponseFor;
import com.openai.core.http.StreamResponse;
import com.openai.errors.BadRequestException;
import com.openai.errors.InternalServerException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIIoException;
import com.openai.errors.UnauthorizedException;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolChoiceOption;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseStreamEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The client com.openai:openai-java, which holds every answer against its schema. */
final class UseOpenai {
    static final List<Integer> statuses = new ArrayList<>();
    static final ChatCompletionCreateParams question =
        ChatCompletionCreateParams.builder().model(Suite.MODEL).addUserMessage(Suite.QUESTION).build();

    public static class Place {
        public String city;
    }

    // snippet
    static final OpenAIClient client = OpenAIOkHttpClient.builder()
        .baseUrl(Suite.BASE_URL)
        .apiKey(Suite.API_KEY)
        .responseValidation(true)
        .build();

    static JsonNode whole() {
        ChatCompletion completion = client.chat().completions().create(question);
        return completion._additionalProperties().get("receipt").convert(JsonNode.class);
    }

    static JsonNode streamed() {
        try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(question)) {
            return chunks.stream()
                .map(chunk -> chunk._additionalProperties().get("receipt"))
                .filter(receipt -> receipt != null)
                .findFirst()
                .orElseThrow()
                .convert(JsonNode.class);
        }
    }
    // end

    static final OpenAIClient counting = OpenAIOkHttpClient.builder()
        .baseUrl(Suite.BASE_URL)
        .apiKey(Suite.API_KEY)
        .addInterceptor(chain -> {
            okhttp3.Response response = chain.proceed(chain.request());
            statuses.add(response.code());
            return response;
        })
        .build();

    static ChatCompletionCreateParams with(String name, Object value) {
        return question.toBuilder().putAdditionalBodyProperty(name, JsonValue.from(value)).build();
    }

    static void chat() {
        ChatCompletion completion = client.chat().completions().create(question);
        Suite.expect(!completion.choices().get(0).message().content().orElse("").isEmpty(), "no text");
        Suite.expect(completion.usage().orElseThrow().completionTokens() > 0, "no usage");
        Suite.expect(completion.model().equals(Suite.MODEL), completion.model());
    }

    static void stream() {
        ChatCompletionCreateParams asked = question.toBuilder()
            .streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build())
            .build();
        try (StreamResponse<ChatCompletionChunk> chunks = client.chat().completions().createStreaming(asked)) {
            List<ChatCompletionChunk> all = chunks.stream().toList();
            String text = all.stream()
                .flatMap(chunk -> chunk.choices().stream())
                .map(choice -> choice.delta().content().orElse(""))
                .collect(joining());
            Suite.expect(!text.isEmpty(), "no text");
            Suite.expect(all.get(all.size() - 1).usage().orElseThrow().completionTokens() > 0, "no usage");
        }
    }

    static void tools() throws Exception {
        FunctionParameters.Builder parameters = FunctionParameters.builder();
        Suite.CITY.forEach((name, value) -> parameters.putAdditionalProperty(name, JsonValue.from(value)));
        ChatCompletion completion = client.chat().completions().create(question.toBuilder()
            .addFunctionTool(FunctionDefinition.builder().name("get_weather").parameters(parameters.build()).build())
            .toolChoice(ChatCompletionToolChoiceOption.Auto.REQUIRED)
            .build());
        Suite.expectCity(completion.choices().get(0).message().toolCalls().orElseThrow().get(0)
            .asFunction().function().arguments());
    }

    static void structured() {
        Place place = client.chat().completions().create(question.toBuilder().responseFormat(Place.class).build())
            .choices().get(0).message().content().orElseThrow();
        Suite.expect(place.city != null, "no city");
    }

    static void embeddings() {
        List<List<Float>> found = new ArrayList<>();
        for (EmbeddingCreateParams.EncodingFormat format : List.of(
            EmbeddingCreateParams.EncodingFormat.FLOAT, EmbeddingCreateParams.EncodingFormat.BASE64)) {
            found.add(client.embeddings().create(EmbeddingCreateParams.builder()
                .model(Suite.EMBEDDING_MODEL).input(Suite.QUESTION).encodingFormat(format).build())
                .data().get(0).embedding());
        }
        Suite.expect(found.get(0).size() == 1024 && found.get(1).size() == 1024, "values");
        for (int index = 0; index < 1024; index++) {
            Suite.expect(Math.abs(found.get(0).get(index) - found.get(1).get(index)) < 1e-6, "base64 and float differ");
        }
    }

    static void errors() throws Exception {
        BadRequestException unknown = Suite.thrown(BadRequestException.class,
            () -> client.chat().completions().create(question.toBuilder().model("none").build()));
        Suite.expect(unknown.code().orElse("").equals("invalid_model"), unknown.code());
        Suite.thrown(NotFoundException.class, () -> client.models().retrieve("none"));
        OpenAIClient stranger = client.withOptions(options -> options.apiKey("nonsense"));
        Suite.thrown(UnauthorizedException.class, () -> stranger.models().list());
    }

    static void retries() throws Exception {
        counting.chat().completions().create(with("sandbox_fault", Suite.fault("status=500; fail-first=2")).toBuilder()
            .putAdditionalBodyProperty("region", JsonValue.from("eu-west")).build());
        Suite.expect(statuses.equals(List.of(502, 200)), "502: " + statuses);
        statuses.clear();
        Suite.thrown(InternalServerException.class,
            () -> counting.chat().completions().create(with("region", "ap-south")));
        Suite.expect(statuses.equals(List.of(503)), "a region that does not serve: " + statuses);
    }

    static void timeout() throws Exception {
        OpenAIClient hurried = client.withOptions(options -> options.timeout(Duration.ofMillis(500)).maxRetries(0));
        Suite.thrown(OpenAIIoException.class,
            () -> hurried.chat().completions().create(with("sandbox_fault", Suite.fault("stall=20000"))));
    }

    static void cancellation() throws Exception {
        HttpResponseFor<StreamResponse<ChatCompletionChunk>> response = client.chat().completions().withRawResponse()
            .createStreaming(with("sandbox_fault", Suite.fault("pace=5")).toBuilder().maxTokens(500).build());
        try (StreamResponse<ChatCompletionChunk> chunks = response.parse()) {
            chunks.stream().iterator().next();
        }
        Suite.expectPartial(Suite.storedReceipt(response.headers().values("x-receipt-id").get(0)));
    }

    static JsonNode responses() {
        ResponseCreateParams asked = ResponseCreateParams.builder().model(Suite.MODEL).input(Suite.QUESTION).build();
        Response response = client.responses().create(asked);
        Suite.expect(!response.output().isEmpty(), "no output");
        try (StreamResponse<ResponseStreamEvent> events = client.responses().createStreaming(asked)) {
            List<ResponseStreamEvent> all = events.stream().toList();
            ResponseStreamEvent last = all.get(all.size() - 1);
            // The sandbox may come to the end of its tokens.
            Suite.expect(last.isCompleted() || last.isIncomplete(), last);
        }
        return response._additionalProperties().get("receipt").convert(JsonNode.class);
    }

    static JsonNode asynchronous() throws Exception {
        ChatCompletion completion = client.async().chat().completions().create(question).get();
        List<ChatCompletionChunk> chunks = new ArrayList<>();
        client.async().chat().completions().createStreaming(question).subscribe(chunks::add).onCompleteFuture().get();
        Suite.expect(!chunks.isEmpty(), "no chunks");
        return completion._additionalProperties().get("receipt").convert(JsonNode.class);
    }

    public static void main(String[] arguments) {
        Suite.check("chat", () -> { chat(); return null; });
        Suite.check("stream", () -> { stream(); return null; });
        Suite.check("tools", () -> { tools(); return null; });
        Suite.check("structured output", () -> { structured(); return null; });
        Suite.check("embeddings", () -> { embeddings(); return null; });
        Suite.check("errors", () -> { errors(); return null; });
        Suite.check("retries", () -> { retries(); return null; });
        Suite.check("timeout", () -> { timeout(); return null; });
        Suite.check("cancellation", () -> { cancellation(); return null; });
        Suite.check("responses", UseOpenai::responses);
        Suite.check("asynchronous", UseOpenai::asynchronous);
        Suite.check("receipt", UseOpenai::whole);
        Suite.check("receipt of a stream", UseOpenai::streamed);
        // Its connections are kept by threads that do not end.
        System.exit(0);
    }
}
