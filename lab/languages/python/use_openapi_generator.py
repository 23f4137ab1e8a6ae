"""A client that openapi-generator made of the service's description, into the package `made`."""

from suite import *

# snippet
# java -jar openapi-generator-cli.jar generate -g python -i …/openapi.json --package-name made
import made

at = made.Configuration(host=BASE_URL.removesuffix("/v1"), access_token=API_KEY)
client = made.ApiClient(at)
inference, keys, receipts = made.InferenceApi(client), made.KeysApi(client), made.ReceiptsApi(client)
question = made.ChatCompletionRequest.from_dict({"model": MODEL, "messages": MESSAGES})


def whole():
    completion = inference.create_chat_completion(question)
    # Its own type would write the receipt in another form, and what is signed is what was sent.
    return json.loads(receipts.retrieve_receipt_without_preload_content(completion.id).data)


# end


@check("chat")
def _():
    completion = inference.create_chat_completion(question)
    expect(completion.choices[0].message.content, "no text")
    expect(completion.usage.completion_tokens > 0, "no usage")


@check("errors")
def _():
    unknown = made.ChatCompletionRequest.from_dict({"model": "none", "messages": MESSAGES})
    try:
        inference.create_chat_completion(unknown)
        raise AssertionError("nothing was raised")
    except made.exceptions.BadRequestException as error:
        expect(error.data.error.code == "invalid_model", error.data)
    at_none = made.Configuration(host=at.host, access_token="nonsense")
    try:
        made.KeysApi(made.ApiClient(at_none)).list_keys()
        raise AssertionError("nothing was raised")
    except made.exceptions.UnauthorizedException:
        pass


@check("keys")
def _():
    issued = keys.issue_key(made.IssueKeyRequest(name="to be revoked"))
    keys.revoke_key(issued.id)
    states = {key.id: key.state for key in keys.list_keys(limit=100).data}
    expect(states[issued.id] == "revoked", states[issued.id])


@check("receipt")
def _():
    expect(receipts.list_receipts(limit=1).data, "no receipts")
    return whole()
