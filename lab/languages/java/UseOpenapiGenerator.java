import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import made.ApiClient;
import made.ApiException;
import made.api.InferenceApi;
import made.api.KeysApi;
import made.api.ReceiptsApi;
import made.model.ApiKey;
import made.model.ChatCompletion;
import made.model.ChatCompletionRequest;
import made.model.IssueKeyRequest;
import made.model.IssuedApiKey;

/** A client that openapi-generator made of the service's description, into the package `made`. */
final class UseOpenapiGenerator {
    // snippet
    // java -jar openapi-generator-cli.jar generate -g java -i …/openapi.json --invoker-package made \
    //   --api-package made.api --model-package made.model
    static final ApiClient client = clientWith(Suite.API_KEY);

    static ApiClient clientWith(String key) {
        ApiClient made = new ApiClient();
        made.setBasePath(Suite.BASE_URL.replaceFirst("/v1$", ""));
        made.setBearerToken(key);
        return made;
    }

    static ChatCompletionRequest question(String model) throws Exception {
        return ChatCompletionRequest.fromJson(Suite.JSON.writeValueAsString(Map.of(
            "model", model, "messages", List.of(Map.of("role", "user", "content", Suite.QUESTION)))));
    }

    static JsonNode whole() throws Exception {
        ChatCompletion completion = new InferenceApi(client).createChatCompletion(question(Suite.MODEL), null, null);
        // Its own type would write the receipt in another form, and what is signed is what was sent.
        return Suite.JSON.readTree(
            new ReceiptsApi(client).retrieveReceiptCall(completion.getId(), null).execute().body().string());
    }
    // end

    static void chat() throws Exception {
        ChatCompletion completion = new InferenceApi(client).createChatCompletion(question(Suite.MODEL), null, null);
        Suite.expect(!completion.getChoices().get(0).getMessage().getContent().isEmpty(), "no text");
        Suite.expect(completion.getUsage().getCompletionTokens() > 0, "no usage");
    }

    static void errors() throws Exception {
        ApiException unknown = Suite.thrown(ApiException.class,
            () -> new InferenceApi(client).createChatCompletion(question("none"), null, null));
        Suite.expect(unknown.getCode() == 400, unknown.getCode());
        made.model.Error body = made.model.Error.fromJson(unknown.getResponseBody());
        Suite.expect(body.getError().getCode().equals("invalid_model"), body);
        ApiException stranger = Suite.thrown(ApiException.class,
            () -> new KeysApi(clientWith("nonsense")).listKeys(null, null, null));
        Suite.expect(stranger.getCode() == 401, stranger.getCode());
    }

    static void keys() throws Exception {
        KeysApi keys = new KeysApi(client);
        // It sends a list that is not set as an empty one.
        IssuedApiKey issued = keys.issueKey(
            new IssueKeyRequest().name("to be revoked").scopes(List.of("inference:read")));
        keys.revokeKey(issued.getId(), null);
        ApiKey.StateEnum state = keys.listKeys(null, 100, null).getData().stream()
            .filter(key -> key.getId().equals(issued.getId())).findFirst().orElseThrow().getState();
        Suite.expect(state == ApiKey.StateEnum.REVOKED, state);
    }

    static JsonNode receipt() throws Exception {
        Suite.expect(!new ReceiptsApi(client).listReceipts(null, 1, null, null, null, null, null, null)
            .getData().isEmpty(), "no receipts");
        return whole();
    }

    public static void main(String[] arguments) {
        Suite.check("chat", () -> { chat(); return null; });
        Suite.check("errors", () -> { errors(); return null; });
        Suite.check("keys", () -> { keys(); return null; });
        Suite.check("receipt", UseOpenapiGenerator::receipt);
        System.exit(0);
    }
}
