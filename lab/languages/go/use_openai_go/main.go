// The client github.com/openai/openai-go/v3.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"docket.example/clients/suite"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

var (
	ctx      = context.Background()
	attempts []int
	client   = openai.NewClient(
		option.WithBaseURL(suite.BaseURL),
		option.WithAPIKey(suite.APIKey),
		option.WithMiddleware(func(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			response, err := next(request)
			if err == nil {
				attempts = append(attempts, response.StatusCode)
			}
			return response, err
		}),
	)
	question = openai.ChatCompletionNewParams{
		Model:    suite.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(suite.Question)},
	}
)

// snippet

func whole() (string, error) {
	completion, err := client.Chat.Completions.New(ctx, question)
	if err != nil {
		return "", err
	}
	return completion.JSON.ExtraFields["receipt"].Raw(), nil
}

func streamed() (receipt string, err error) {
	stream := client.Chat.Completions.NewStreaming(ctx, question)
	for stream.Next() {
		if found, ok := stream.Current().JSON.ExtraFields["receipt"]; ok {
			receipt = found.Raw()
		}
	}
	return receipt, stream.Err()
}

// end

func chat() (string, error) {
	completion, err := client.Chat.Completions.New(ctx, question)
	if err != nil {
		return "", err
	}
	return "", suite.All(
		suite.Expect(completion.Choices[0].Message.Content != "", "no text"),
		suite.Expect(completion.Usage.CompletionTokens > 0, "no usage"),
		suite.Expect(completion.Model == suite.Model, "model %s", completion.Model),
	)
}

func stream() (string, error) {
	asked := question
	asked.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)}
	chunks := client.Chat.Completions.NewStreaming(ctx, asked)
	var whole openai.ChatCompletionAccumulator
	for chunks.Next() {
		whole.AddChunk(chunks.Current())
	}
	return "", suite.All(
		chunks.Err(),
		suite.Expect(len(whole.Choices) > 0 && whole.Choices[0].Message.Content != "", "no text"),
		suite.Expect(whole.Usage.CompletionTokens > 0, "no usage"),
	)
}

func tools() (string, error) {
	asked := question
	asked.Tools = []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Parameters: suite.City}),
	}
	asked.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: param.NewOpt("required")}
	completion, err := client.Chat.Completions.New(ctx, asked)
	if err != nil {
		return "", err
	}
	return "", suite.HasCity(completion.Choices[0].Message.ToolCalls[0].Function.Arguments)
}

func structured() (string, error) {
	asked := question
	asked.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{
		OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "place", Strict: param.NewOpt(true), Schema: suite.City,
			},
		},
	}
	completion, err := client.Chat.Completions.New(ctx, asked)
	if err != nil {
		return "", err
	}
	return "", suite.HasCity(completion.Choices[0].Message.Content)
}

func embeddings() (string, error) {
	reply, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: suite.EmbeddingModel,
		Input: openai.EmbeddingNewParamsInputUnion{OfString: param.NewOpt(suite.Question)},
	})
	if err != nil {
		return "", err
	}
	norm := 0.0
	for _, value := range reply.Data[0].Embedding {
		norm += value * value
	}
	return "", suite.All(
		suite.Expect(len(reply.Data[0].Embedding) == 1024, "%d values", len(reply.Data[0].Embedding)),
		suite.Expect(math.Abs(norm-1) < 1e-3, "norm %f", norm),
	)
}

func failure(asked openai.ChatCompletionNewParams, options ...option.RequestOption) (*openai.Error, error) {
	_, err := client.Chat.Completions.New(ctx, asked, options...)
	var refused *openai.Error
	if !errors.As(err, &refused) {
		return nil, fmt.Errorf("not an error of the API: %v", err)
	}
	return refused, nil
}

func errorClasses() (string, error) {
	asked := question
	asked.Model = "none"
	unknown, err := failure(asked)
	if err != nil {
		return "", err
	}
	key, err := failure(question, option.WithAPIKey("nonsense"))
	if err != nil {
		return "", err
	}
	return "", suite.All(
		suite.Expect(unknown.StatusCode == 400 && unknown.Code == "invalid_model", "%d %s", unknown.StatusCode, unknown.Code),
		suite.Expect(key.StatusCode == 401, "%d", key.StatusCode),
	)
}

func retries() (string, error) {
	attempts = nil
	fault := suite.Fault("status=500; fail-first=2")
	if _, err := client.Chat.Completions.New(ctx, question,
		option.WithJSONSet("sandbox_fault", fault), option.WithJSONSet("region", "eu-west")); err != nil {
		return "", err
	}
	repeated := fmt.Sprint(attempts)
	attempts = nil
	if _, err := failure(question, option.WithJSONSet("region", "ap-south")); err != nil {
		return "", err
	}
	closed := fmt.Sprint(attempts)
	return "", suite.All(
		suite.Expect(repeated == "[502 200]", "502: %s", repeated),
		suite.Expect(closed == "[503]", "a region that does not serve: %s", closed),
	)
}

func timeout() (string, error) {
	_, err := client.Chat.Completions.New(ctx, question,
		option.WithJSONSet("sandbox_fault", suite.Fault("stall=20000")),
		option.WithRequestTimeout(500*time.Millisecond), option.WithMaxRetries(0))
	return "", suite.Expect(errors.Is(err, context.DeadlineExceeded), "%v", err)
}

func responsesAPI() (string, error) {
	asked := responses.ResponseNewParams{
		Model: suite.Model,
		Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt(suite.Question)},
	}
	response, err := client.Responses.New(ctx, asked)
	if err != nil {
		return "", err
	}
	last := ""
	events := client.Responses.NewStreaming(ctx, asked)
	for events.Next() {
		last = events.Current().Type
	}
	return response.JSON.ExtraFields["receipt"].Raw(), suite.All(
		events.Err(),
		suite.Expect(response.OutputText() != "", "no text"),
		// The sandbox may come to the end of its tokens.
		suite.Expect(last == "response.completed" || last == "response.incomplete", "last event %s", last),
	)
}

func main() {
	suite.Check("chat", chat)
	suite.Check("stream", stream)
	suite.Check("tools", tools)
	suite.Check("structured output", structured)
	suite.Check("embeddings", embeddings)
	suite.Check("errors", errorClasses)
	suite.Check("retries", retries)
	suite.Check("timeout", timeout)
	suite.Check("receipt", whole)
	suite.Check("receipt of a stream", streamed)
	suite.Check("responses", responsesAPI)
}
