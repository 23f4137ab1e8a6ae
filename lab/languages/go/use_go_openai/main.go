// The client github.com/sashabaranov/go-openai.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"docket.example/clients/suite"
	openai "github.com/sashabaranov/go-openai"
	"github.com/sashabaranov/go-openai/jsonschema"
)

var (
	ctx      = context.Background()
	client   = clientWith(suite.APIKey)
	messages = []openai.ChatCompletionMessage{{Role: "user", Content: suite.Question}}
	question = openai.ChatCompletionRequest{Model: suite.Model, Messages: messages}
	city     = jsonschema.Definition{
		Type:                 jsonschema.Object,
		Properties:           map[string]jsonschema.Definition{"city": {Type: jsonschema.String}},
		Required:             []string{"city"},
		AdditionalProperties: false,
	}
)

func clientWith(key string) *openai.Client {
	config := openai.DefaultConfig(key)
	config.BaseURL = suite.BaseURL
	return openai.NewClientWithConfig(config)
}

// snippet

// It drops members that it does not know; the headers have the receipt's id.

func whole() (string, error) {
	completion, err := client.CreateChatCompletion(ctx, question)
	if err != nil {
		return "", err
	}
	return suite.StoredReceipt(completion.Header().Get("x-receipt-id"))
}

func streamed() (string, error) {
	stream, err := client.CreateChatCompletionStream(ctx, question)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return suite.StoredReceipt(stream.Header().Get("x-receipt-id"))
		} else if err != nil {
			return "", err
		}
	}
}

// end

func chat() (string, error) {
	completion, err := client.CreateChatCompletion(ctx, question)
	if err != nil {
		return "", err
	}
	return "", suite.All(
		suite.Expect(completion.Choices[0].Message.Content != "", "no text"),
		suite.Expect(completion.Usage.CompletionTokens > 0, "no usage"),
	)
}

func stream() (string, error) {
	asked := question
	asked.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	chunks, err := client.CreateChatCompletionStream(ctx, asked)
	if err != nil {
		return "", err
	}
	defer chunks.Close()
	text, tokens := "", 0
	for {
		chunk, err := chunks.Recv()
		if errors.Is(err, io.EOF) {
			return "", suite.Expect(text != "" && tokens > 0, "text %q, %d tokens", text, tokens)
		} else if err != nil {
			return "", err
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
		}
		if chunk.Usage != nil {
			tokens = chunk.Usage.CompletionTokens
		}
	}
}

func tools() (string, error) {
	asked := question
	asked.Tools = []openai.Tool{{
		Type:     openai.ToolTypeFunction,
		Function: &openai.FunctionDefinition{Name: "get_weather", Parameters: city},
	}}
	asked.ToolChoice = "required"
	completion, err := client.CreateChatCompletion(ctx, asked)
	if err != nil {
		return "", err
	}
	return "", suite.HasCity(completion.Choices[0].Message.ToolCalls[0].Function.Arguments)
}

func structured() (string, error) {
	asked := question
	asked.ResponseFormat = &openai.ChatCompletionResponseFormat{
		Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "place", Schema: &city, Strict: true},
	}
	completion, err := client.CreateChatCompletion(ctx, asked)
	if err != nil {
		return "", err
	}
	return "", suite.HasCity(completion.Choices[0].Message.Content)
}

func embeddings() (string, error) {
	asked := openai.EmbeddingRequestStrings{
		Input: []string{suite.Question}, Model: suite.EmbeddingModel, EncodingFormat: "float",
	}
	floats, err := client.CreateEmbeddings(ctx, asked)
	if err != nil {
		return "", err
	}
	asked.EncodingFormat = "base64"
	decoded, err := client.CreateEmbeddings(ctx, asked)
	if err != nil {
		return "", err
	}
	one, other := floats.Data[0].Embedding, decoded.Data[0].Embedding
	if err := suite.Expect(len(one) == 1024 && len(other) == 1024, "%d and %d values", len(one), len(other)); err != nil {
		return "", err
	}
	for i := range one {
		if d := one[i] - other[i]; d > 1e-6 || d < -1e-6 {
			return "", errors.New("base64 and float differ")
		}
	}
	return "", nil
}

func errorClasses() (string, error) {
	asked := question
	asked.Model = "none"
	_, err := client.CreateChatCompletion(ctx, asked)
	var refused *openai.APIError
	if !errors.As(err, &refused) {
		return "", fmt.Errorf("not an error of the API: %v", err)
	}
	if err := suite.Expect(refused.HTTPStatusCode == 400 && refused.Code == "invalid_model", "%v", refused); err != nil {
		return "", err
	}
	_, err = clientWith("nonsense").ListModels(ctx)
	return "", suite.Expect(errors.As(err, &refused) && refused.HTTPStatusCode == 401, "%v", err)
}

func main() {
	suite.Check("chat", chat)
	suite.Check("stream", stream)
	suite.Check("tools", tools)
	suite.Check("structured output", structured)
	suite.Check("embeddings", embeddings)
	suite.Check("errors", errorClasses)
	suite.Check("receipt", whole)
	suite.Check("receipt of a stream", streamed)
}
