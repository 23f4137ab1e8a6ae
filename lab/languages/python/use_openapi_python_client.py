"""A client that openapi-python-client made of the service's description, into the package `made`."""

from suite import *

# snippet
# openapi-python-client generate --url …/openapi.json --meta none --output-path made
from made import AuthenticatedClient
from made.api.inference import create_chat_completion
from made.api.keys import issue_key, list_keys, revoke_key
from made.api.receipts import retrieve_receipt
from made.models import ChatCompletionRequest

client = AuthenticatedClient(base_url=BASE_URL.removesuffix("/v1"), token=API_KEY)
question = ChatCompletionRequest.from_dict({"model": MODEL, "messages": MESSAGES})


def whole():
    completion = create_chat_completion.sync(client=client, body=question)
    # Its own type would write the times in another form, and what is signed is what was sent.
    return json.loads(retrieve_receipt.sync_detailed(completion.id, client=client).content)


# end

from made.models import ApiKeyState, Error, IssueKeyBody


@check("chat")
def _():
    completion = create_chat_completion.sync(client=client, body=question)
    expect(completion.choices[0].message.content, "no text")
    expect(completion.usage.completion_tokens > 0, "no usage")


@check("errors")
def _():
    unknown = ChatCompletionRequest.from_dict({"model": "none", "messages": MESSAGES})
    refused = create_chat_completion.sync_detailed(client=client, body=unknown)
    expect(refused.status_code == 400 and isinstance(refused.parsed, Error), refused.status_code)
    expect(refused.parsed.error.code == "invalid_model", refused.parsed.error.code)
    stranger = AuthenticatedClient(base_url=BASE_URL.removesuffix("/v1"), token="nonsense")
    expect(list_keys.sync_detailed(client=stranger).status_code == 401, "401")


@check("keys")
def _():
    issued = issue_key.sync(client=client, body=IssueKeyBody(name="to be revoked"))
    revoke_key.sync(issued.id, client=client)
    states = {key.id: key.state for key in list_keys.sync(client=client, limit=100).data}
    expect(states[issued.id] == ApiKeyState.REVOKED, states[issued.id])


@check("receipt")
def _():
    return whole()
