// Package suite is what every client program has: where the service is, and how it says what it found.
package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

var (
	BaseURL = os.Getenv("DOCKET_BASE_URL")
	APIKey  = os.Getenv("DOCKET_API_KEY")
)

const (
	Model          = "llama-3.1-8b"
	EmbeddingModel = "bge-m3"
	Question       = "Tell me about the lighthouse."
)

var City = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"city": map[string]any{"type": "string"}},
	"required":             []string{"city"},
	"additionalProperties": false,
}

type found struct {
	Check   string          `json:"check"`
	Verdict string          `json:"verdict"`
	Words   string          `json:"words,omitempty"`
	Receipt json.RawMessage `json:"receipt,omitempty"`
}

// Check runs the function and reports under this name. A receipt that it returns is verified by who reads the report.
func Check(name string, run func() (receipt string, err error)) {
	receipt, err := run()
	result := found{Check: name, Verdict: "works"}
	if err != nil {
		result.Verdict, result.Words = "fails", err.Error()
	} else if receipt != "" {
		result.Receipt = json.RawMessage(receipt)
	}
	line, err := json.Marshal(result)
	if err != nil {
		line, _ = json.Marshal(found{Check: name, Verdict: "fails", Words: err.Error()})
	}
	fmt.Println(string(line))
}

func Expect(holds bool, what string, values ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(what, values...)
}

// All is the first error, or none.
func All(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// HasCity tells whether the text is JSON of the schema City.
func HasCity(text string) error {
	var place struct{ City *string }
	if err := json.Unmarshal([]byte(text), &place); err != nil {
		return err
	}
	return Expect(place.City != nil, "no city in %s", text)
}

// StoredReceipt is the receipt as the service has it, once it has it.
func StoredReceipt(id string) (string, error) {
	end := time.Now().Add(20 * time.Second)
	for {
		request, err := http.NewRequest("GET", BaseURL+"/receipts/"+id, nil)
		if err != nil {
			return "", err
		}
		request.Header.Set("Authorization", "Bearer "+APIKey)
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode == http.StatusOK {
			return string(body), err
		}
		if time.Now().After(end) {
			return "", errors.New(string(body))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Fault is a fault of the sandbox under a name of its own.
func Fault(text string) string {
	return fmt.Sprintf("%s; id=%d", text, time.Now().UnixNano())
}
