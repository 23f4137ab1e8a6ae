import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.UnaryOperator;

/** What every client program has: where the service is, and how it says what it found: one JSON object per line. */
final class Suite {
    static final String BASE_URL = System.getenv("DOCKET_BASE_URL");
    static final String API_KEY = System.getenv("DOCKET_API_KEY");
    static final String MODEL = "llama-3.1-8b";
    static final String EMBEDDING_MODEL = "bge-m3";
    /** For what no other check asks of it, where a receipt is looked for by the model. */
    static final String OTHER_MODEL = "qwen3-30b-a3b";
    static final String QUESTION = "Tell me about the lighthouse.";
    static final Map<String, Object> CITY = Map.of(
        "type", "object",
        "properties", Map.of("city", Map.of("type", "string")),
        "required", List.of("city"),
        "additionalProperties", false);
    static final ObjectMapper JSON = new ObjectMapper();
    private static final long RECEIPT_MS = 20_000;

    /** Returns a receipt, which is verified by who reads the report, or null. */
    interface Run {
        Object run() throws Exception;
    }

    /** The client has no such thing. */
    static final class NotOffered extends Exception {
        NotOffered(String reason) {
            super(reason);
        }
    }

    /** Runs it at once, and reports under this name. */
    static void check(String name, Run run) {
        ObjectNode found = JSON.createObjectNode().put("check", name).put("verdict", "works");
        try {
            Object receipt = run.run();
            if (receipt instanceof JsonNode node) found.set("receipt", node);
        } catch (NotOffered reason) {
            found.put("verdict", "not offered").put("words", reason.getMessage());
        } catch (Throwable error) {
            found.put("verdict", "fails").put("words", String.valueOf(error));
        }
        System.out.println(found);
    }

    static void expect(boolean holds, Object what) {
        if (!holds) throw new AssertionError(what);
    }

    /** What is thrown, which has to be of this class. */
    static <E extends Throwable> E thrown(Class<E> type, Run run) throws Exception {
        try {
            run.run();
        } catch (Throwable error) {
            if (type.isInstance(error)) return type.cast(error);
            throw new AssertionError("not a " + type.getSimpleName() + ": " + error, error);
        }
        throw new AssertionError("nothing was thrown");
    }

    static void expectCity(String json) throws Exception {
        expect(JSON.readTree(json).path("city").isTextual(), "no city in " + json);
    }

    /** A fault of the sandbox under a name of its own. */
    static String fault(String text) {
        return text + "; id=" + UUID.randomUUID();
    }

    /** The receipt as the service has it, once it has it. */
    static JsonNode storedReceipt(String id) throws Exception {
        return awaited("/" + id, reply -> reply);
    }

    /** That of the one request of this model since then, for clients that show no id of an answer that they left. */
    static JsonNode receiptSince(long epochSeconds, String model) throws Exception {
        return awaited("?limit=1&model=" + model + "&from=" + epochSeconds, reply -> reply.path("data").path(0));
    }

    static void expectPartial(JsonNode receipt) {
        String outcome = receipt.path("credentialSubject").path("outcome").asText();
        expect(outcome.equals("partial"), outcome);
    }

    private static JsonNode awaited(String rest, UnaryOperator<JsonNode> receiptIn) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(BASE_URL + "/receipts" + rest))
            .header("authorization", "Bearer " + API_KEY)
            .build();
        long end = System.currentTimeMillis() + RECEIPT_MS;
        while (true) {
            HttpResponse<String> reply = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            JsonNode receipt = receiptIn.apply(JSON.readTree(reply.body()));
            if (reply.statusCode() == 200 && receipt.isObject()) return receipt;
            expect(System.currentTimeMillis() < end, reply.body());
            Thread.sleep(100);
        }
    }
}
