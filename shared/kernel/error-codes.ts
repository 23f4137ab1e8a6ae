import { HOUR_MS } from './time.ts';

/** `error.type` of the specification. */
export const ERROR_TYPES = [
  'auth_error',
  'validation_error',
  'rate_limit_error',
  'inference_error',
  'region_unavailable',
  'policy_error',
  'methodology_error',
  'internal_error',
] as const;
export type ErrorType = (typeof ERROR_TYPES)[number];

interface Words {
  /** The condition, as the documentation's table of errors shows it. */
  when: string;
  /** What the caller can do about it, as the documentation's reference of errors says it. */
  advice: string;
  /** What the caller reads, unless the place that refuses knows more. `{name}` is filled in there. */
  message?: string;
  /** Values for the names in `message`, as the documentation shows them. */
  sample?: Readonly<Record<string, string>>;
  /** For codes without one `message`, because each place that refuses says its own: one that is really said. */
  example?: string;
  /** `error.param`, unless the place that refuses names another. */
  param?: string;
  /** How long to wait, in milliseconds, unless the place that refuses knows better. */
  retryAfterMs?: number | undefined;
}

export interface CodeRow extends Words {
  type: ErrorType;
  status: number;
  /** The specification's retry column, by which no `validation_error` is tried again; sent as `x-should-retry`. */
  retry: boolean;
}

/**
 * Every 429 says how long to wait, and so does every 503 that a retry can help. What is not there yet may say when to ask
 * again, though no library is to do so by itself. Where nothing can help there is no such time: some
 * clients know no `x-should-retry`, and sleep for as long as they are told.
 */
type Waiting<S extends number, R extends boolean> = S extends 429
  ? { retryAfterMs: number }
  : R extends false
    ? S extends 404 | 409
      ? unknown
      : { retryAfterMs?: undefined }
    : S extends 503
      ? { retryAfterMs: number }
      : unknown;

const row = <const S extends number, const R extends boolean, const W extends Words>(
  type: ErrorType,
  status: S,
  retry: R,
  words: W & Waiting<S, R>,
) => ({ type, status, retry, ...words });

/** A row of the pattern `invalid_<param>`. */
const invalid = <const W extends Omit<Words, 'retryAfterMs'>>(words: W) =>
  row('validation_error', 400, false, words);
/** A row of the pattern `<resource>_not_found`; without a message of its own it is `No such <resource>.` */
const missing = <const W extends Omit<Words, 'retryAfterMs'>>(words: W) =>
  row('validation_error', 404, false, words);

const APPEAL =
  'If you believe this is wrong, write to {supportEmail} and give the reference {requestId}.';
const APPEAL_SAMPLE = {
  supportEmail: 'support@docket.example',
  requestId: 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
};

/** The codes that follow no pattern. */
const STABLE = {
  invalid_api_key: row('auth_error', 401, false, {
    when: 'The key is missing, malformed or unknown.',
    advice:
      'Send `Authorization: Bearer <key>` with the whole key as it was shown when it was issued: `dkt_` and 38 letters or digits. A lost key cannot be shown again; issue another.',
    message: 'The API key is missing or not valid.',
  }),
  revoked_api_key: row('auth_error', 401, false, {
    when: 'The key was revoked.',
    advice:
      'Use the key’s successor. An administrator can restore a revoked key for 90 days at most; one that leaked, support alone.',
    message: 'The API key was revoked.',
  }),
  expired_api_key: row('auth_error', 401, false, {
    when: 'The key’s expiry has passed.',
    advice:
      'Issue another key: an expired one is neither rotated nor restored. The expiry of a key stands in the dashboard and in `GET /v1/keys`.',
    message: 'The API key has expired.',
  }),
  insufficient_scope: row('auth_error', 403, false, {
    when: 'The key is good and lacks the endpoint’s scope.',
    advice:
      'Use a key that has the scope which the message names, or have an administrator issue one.',
    message: 'This needs a key with the scope {scope}.',
    sample: { scope: 'inference:write' },
  }),
  prompt_too_long: row('validation_error', 400, false, {
    when: 'The prompt exceeds the model’s context window.',
    advice:
      'Shorten the conversation, or choose a model with a larger `context_window` from `GET /v1/models`.',
    // Agents and libraries shorten a conversation when they read these words.
    message:
      "This model's maximum context length is {tokens} tokens, and the prompt for {model} is longer (context_length_exceeded).",
    sample: { model: 'llama-3.1-8b', tokens: '131072' },
    param: 'messages',
  }),
  unsupported_modality: row('validation_error', 400, false, {
    when: 'A content part is of a kind that the model does not take.',
    advice:
      'Leave the part out that `param` names, or choose a model whose `modalities` include its kind.',
    message: 'The model {model} takes {modalities} only.',
    sample: { model: 'llama-3.1-8b', modalities: 'text' },
    param: 'messages',
  }),
  idempotency_key_reused: row('validation_error', 400, false, {
    when: 'The same Idempotency-Key came with another body within 24 hours.',
    advice:
      'Make a new Idempotency-Key for each new request; repeat one only with exactly the same body and `x-region`.',
    message: 'This Idempotency-Key was used with a different request in the last 24 hours.',
    param: 'Idempotency-Key',
  }),
  request_too_large: row('validation_error', 413, false, {
    when: 'The body is over the limit (20 MiB by default).',
    advice: 'Send less at once: smaller images, fewer inputs, a shorter conversation.',
    message: 'The request body is larger than this service accepts.',
  }),
  invalid_content_type: row('validation_error', 415, false, {
    when: 'The body is not announced as application/json.',
    advice: 'Send the body as JSON, with the header `Content-Type: application/json`, once.',
    message: 'The content type must be application/json.',
    param: 'Content-Type',
  }),
  invalid_content_encoding: row('validation_error', 415, false, {
    when: 'The body has a Content-Encoding other than identity: it is compressed.',
    advice:
      'Send the body as it is, without the header `Content-Encoding`: turn compression of requests off.',
    message: 'The content encoding {coding} is not taken. Send the body without one.',
    sample: { coding: 'gzip' },
    param: 'Content-Encoding',
  }),
  method_not_allowed: row('validation_error', 405, false, {
    when: 'The address exists, the method does not. `Allow` has those that do.',
    advice: 'Use a method that the header `Allow` names.',
    message: '{method} is not allowed here.',
    sample: { method: 'GET' },
  }),
  request_timeout: row('validation_error', 408, false, {
    when: 'Headers or body took too long to arrive.',
    advice: 'Send headers and body without pauses; over a slow line send less at once.',
    message: 'The request took too long to arrive.',
  }),
  headers_too_large: row('validation_error', 431, false, {
    when: 'The headers are over 16 KiB, or more than 100.',
    advice: 'Send fewer or shorter headers; cookies of other services are a common cause.',
    message: 'The headers are larger than this service accepts.',
  }),
  receipt_pending: row('validation_error', 409, false, {
    when: 'The answer went out before its receipt, and that is not issued yet.',
    advice: 'Ask for it again after `retry-after`; it comes under the id that the answer named.',
    message: 'This receipt is pending: it is not issued yet. Ask again in a few seconds.',
    param: 'id',
    retryAfterMs: 2_000,
  }),
  recalculation_pending: row('validation_error', 409, false, {
    when: 'The receipt is being recalculated already.',
    advice: 'Wait for it: the outcome appears among the revisions of the receipt.',
    message: 'A recalculation of this receipt is pending.',
    param: 'id',
  }),
  not_degraded: row('validation_error', 409, false, {
    when: 'Only degraded receipts can be recalculated.',
    advice:
      'Nothing: the receipt is as good as it can be. Its revisions are at `GET /v1/receipts/{id}/revisions`.',
    message:
      'There is nothing to estimate again: the receipt is not degraded (its request may have failed, or been refused), nobody knows its tokens, or a newer one revises it already.',
    param: 'id',
  }),
  key_state_conflict: row('validation_error', 409, false, {
    when: 'The key is not in a state for this act.',
    advice: 'Read the key (`GET /v1/keys/{id}`) for its state, and do what that state allows.',
    message: 'The key is {state}; only a key that is {wanted} can be {act}.',
    sample: { state: 'revoked', wanted: 'active', act: 'rotated' },
    param: 'id',
  }),
  proof_not_ready: row('validation_error', 404, false, {
    when: 'The receipt is not in a signed checkpoint yet: at most ten seconds; for a COSE receipt not before the log has a second entry.',
    advice: 'Ask again after `retry-after`.',
    message: 'The receipt is not in a signed checkpoint yet. Ask again in a few seconds.',
    param: 'id',
    retryAfterMs: 10_000,
  }),
  export_not_ready: row('validation_error', 409, false, {
    when: 'The pack is still being made.',
    advice: 'Wait until the `status` of the export is `ready`.',
    message: 'The pack is still being made.',
    param: 'id',
  }),
  export_failed: row('validation_error', 409, false, {
    when: 'The pack could not be made.',
    advice: 'Ask for the export again; if that fails too, write to support with its id.',
    message: 'The export has failed.',
    param: 'id',
  }),
  export_expired: row('validation_error', 410, false, {
    when: 'The pack has been deleted after its time.',
    advice: 'Ask for the same range again: the receipts are still there.',
    message: 'The time for which the pack was kept is over. Ask for it again.',
    param: 'id',
  }),
  range_not_satisfiable: row('validation_error', 416, false, {
    when: 'The range lies outside the pack.',
    advice: 'Ask for a range within the size that the message names, or leave `Range` out.',
    message: 'The pack has {bytes} bytes.',
    sample: { bytes: '4821' },
    param: 'Range',
  }),
  requests_per_second_exceeded: row('rate_limit_error', 429, true, {
    when: 'The bucket of requests is empty.',
    advice:
      'Wait as long as `retry-after-ms` says, then send it again; spread requests if it happens often.',
    message: 'Too many requests per second. Wait and try again.',
    retryAfterMs: 1_000,
  }),
  daily_budget_exceeded: row('rate_limit_error', 429, false, {
    when: 'The day’s budget is used up, until midnight UTC.',
    advice:
      'Wait until midnight UTC, or ask for a larger budget. Sending it again before then is in vain.',
    // In words by which agents tell it from a rate that is over in a moment.
    message:
      'You exceeded your current quota: the daily request budget is used up. It will reset at midnight UTC.',
    // Admission says how long it is until midnight.
    retryAfterMs: HOUR_MS,
  }),
  budget_exceeded: row('rate_limit_error', 429, false, {
    when: 'A request may use more of a budget that the organisation has set than is left of it.',
    advice:
      'Wait for the next day or month (UTC), ask for fewer tokens by `max_tokens` where the message says that some are left, or have an owner or admin raise the budget.',
    // In words by which agents tell it from a rate that is over in a moment.
    message:
      'You exceeded your current quota: of the budget {name}, {left} of {limit} {measure} are left until {until}, and this request may use {amount}.',
    sample: {
      name: '“research”',
      left: '0',
      limit: '1000000',
      measure: 'tokens',
      until: '1 Dec 2026, 00:00 UTC',
      amount: '4213',
    },
    // The period may end in weeks. Some clients sleep for as long as they are told.
    retryAfterMs: HOUR_MS,
  }),
  concurrent_streams_exceeded: row('rate_limit_error', 429, true, {
    when: 'Too many streams are open.',
    advice:
      'Read open streams to their end or close them, then send it again. One with an Idempotency-Key counts until it has run.',
    message: 'Too many streams are open. Close idle streams or upgrade the plan.',
    retryAfterMs: 1_000,
  }),
  concurrent_exports_exceeded: row('rate_limit_error', 429, true, {
    when: 'Too many exports are running, or too many packs are kept.',
    advice: 'Wait for one to be ready, or delete one that you do not need.',
    message: '{count} exports are under way. Wait for one, or delete it.',
    sample: { count: '10' },
    retryAfterMs: 10_000,
  }),
  upstream_error: row('inference_error', 502, true, {
    when: 'The provider failed, after retries and failover.',
    advice:
      'Send it again with exponential backoff and random jitter, about four times; with an Idempotency-Key it is safe.',
    message: 'The upstream provider failed. Try again shortly.',
  }),
  upstream_timeout: row('inference_error', 502, true, {
    when: 'The provider did not answer in time.',
    advice:
      'Send it again with backoff; ask for fewer tokens, or for a stream, if it keeps happening.',
    message: 'The upstream provider did not answer in time.',
  }),
  upstream_rate_limited: row('inference_error', 502, true, {
    when: 'The provider refused for its own limits.',
    advice: 'Send it again with backoff, more slowly; another model or region may have room.',
    message: 'The upstream provider is limiting requests. Try again shortly.',
  }),
  worker_lost: row('inference_error', 502, true, {
    when: 'The process that ran the request died: after its stream had begun, or more than once.',
    advice:
      'Send it again with backoff; if one particular request always ends so, write to support with its id.',
    message: 'The process that ran this request was lost. Try again.',
  }),
  dual_use_screen_block: row('policy_error', 403, false, {
    when: 'Blocked by dual-use screening (Article III).',
    advice:
      'Do not send it again. If the block is wrong, write to support and give the request id.',
    message: `This request was blocked by dual-use screening. ${APPEAL}`,
    sample: APPEAL_SAMPLE,
  }),
  acceptable_use_violation: row('policy_error', 403, false, {
    when: 'The request matches acceptable-use violation patterns.',
    advice:
      'Do not send it again. If the block is wrong, write to support and give the request id.',
    message: `This request matches an acceptable-use violation pattern. ${APPEAL}`,
    sample: APPEAL_SAMPLE,
  }),
  customer_suspended: row('policy_error', 403, false, {
    when: 'The account is suspended, pending review.',
    advice: 'Write to support. Receipts, ledger and keys stay as they are meanwhile.',
    message: 'The account is suspended pending review. To ask about it, write to {supportEmail}.',
    sample: { supportEmail: APPEAL_SAMPLE.supportEmail },
  }),
  region_degraded: row('region_unavailable', 503, true, {
    when: 'The pinned region is in incident mode, its upstreams are cut off after failures, or no worker serves it; or so is every region that has the model.',
    advice:
      'Wait as long as `retry-after` says, or send it without a pinned region: it then goes where the model can be had.',
    message:
      '{where} takes no requests now: it is in incident mode, its upstreams fail, or no worker serves it.',
    sample: { where: 'The region eu-west' },
    // The circuit breaker tries an endpoint again after about as long.
    retryAfterMs: 10_000,
  }),
  region_saturated: row('region_unavailable', 503, true, {
    when: 'The pinned region is at capacity, or every region that has the model.',
    advice: 'Send it again with backoff, or without a pinned region.',
    message: '{where} is at capacity.',
    sample: { where: 'The region eu-west' },
    // A queue empties within about a second.
    retryAfterMs: 1_000,
  }),
  region_decommissioned: row('region_unavailable', 503, false, {
    when: 'The region is no longer offered, or no region that had the model.',
    advice: 'Pin another region, or none. `GET /v1/models` names the regions of each model.',
    message: '{where} is no longer offered.',
    sample: { where: 'The region ap-south' },
  }),
  receipt_generation_failed: row('methodology_error', 500, true, {
    when: 'With `"receipt":"required"` only: the methodology failed.',
    advice:
      'Send it again, or without `"receipt":"required"`: the answer then comes with a degraded receipt.',
    message:
      'The receipt for this request could not be made. The inference itself may have succeeded.',
  }),
  internal_error: row('internal_error', 500, true, {
    when: 'The gateway failed. Nothing about the request is wrong.',
    advice:
      'Send it again with exponential backoff and random jitter, about four times; then write to support with the request id.',
    message: 'Something went wrong in the gateway. Try again shortly.',
  }),
  store_unavailable: row('internal_error', 503, true, {
    when: 'A store of the gateway is away: it fails over, or cannot be reached.',
    advice:
      'Send it again after `retry-after`, with backoff; with an Idempotency-Key it is safe. How regions and receipts are now is at `/status`.',
    message: 'A store of the gateway is away at the moment. Try again shortly.',
    // A promotion takes a few of these.
    retryAfterMs: 1_000,
  }),
  dispatch_unavailable: row('internal_error', 503, true, {
    when: 'The gateway is restarting or catching up.',
    advice: 'Send it again after `retry-after`; it lasts seconds.',
    message: 'The gateway is catching up. Try again shortly.',
    // A master is replaced, and a backlog of a moment worked off, in a few of these.
    retryAfterMs: 1_000,
  }),
} as const;

const A_SAMPLER = 'An invalid sampler value; each sampler has its code.';

/** The codes of a pattern that operations name. Those of other parameters have no row, and say their own words. */
const PATTERNED = {
  invalid_json: invalid({
    when: 'The body is not JSON, not UTF-8, nested too deep, or repeats a member.',
    advice:
      'Mend the body at the place that the message names; every JSON library writes one that is taken.',
    message: 'The body is not valid JSON: {place}.',
    sample: { place: 'see line 1, column 14' },
  }),
  invalid_model: invalid({
    when: 'The model does not exist, or not for this account, region or kind of request.',
    advice: 'Choose an `id` from `GET /v1/models` that serves this kind of request in this region.',
    message: 'The model does not exist, or this account may not use it.',
    param: 'model',
  }),
  invalid_region: invalid({
    when: 'The region code does not exist.',
    advice: 'Choose a region that `GET /v1/models` names for the model, or leave it out.',
    message: 'The region does not exist.',
    param: 'region',
  }),
  invalid_tier: invalid({
    when: 'The tier is above the plan, or not offered on this route.',
    advice:
      'Ask for a tier at most as high as your plan, or leave it out: your plan’s is the default.',
    message: 'The tier {tier} is above this account’s plan, {plan}.',
    sample: { tier: 'enterprise', plan: 'audit' },
    param: 'tier',
  }),
  invalid_temperature: invalid({
    when: A_SAMPLER,
    advice: 'Send a number from 0 to 2, or leave it out.',
    example: '`temperature` must be a number from 0 to 2.',
    param: 'temperature',
  }),
  invalid_top_p: invalid({
    when: A_SAMPLER,
    advice: 'Send a number from 0 to 1, or leave it out.',
    example: '`top_p` must be a number from 0 to 1.',
    param: 'top_p',
  }),
  invalid_messages: invalid({
    when: 'A message is malformed; `param` says which.',
    advice: 'Mend the message that `param` names.',
    example: '`messages[2].content` must be a string or a non-empty array of content parts.',
    param: 'messages[2].content',
  }),
  invalid_prompt: invalid({
    when: 'The prompt is neither text nor tokens.',
    advice: 'Send a string, an array of strings, token ids or arrays of them.',
    example:
      '`prompt` must be a string, an array of strings, an array of token ids or an array of token arrays.',
    param: 'prompt',
  }),
  invalid_input: invalid({
    when: 'The input is empty, or neither text nor tokens.',
    advice: 'Send non-empty text or tokens, in as many inputs as the message allows.',
    example: '`input` must be a non-empty string.',
    param: 'input',
  }),
  previous_response_not_found: row('validation_error', 400, false, {
    when: 'The response that a request goes on from is not kept: it does not exist, is not yours, was deleted with what it goes on from, or was not used for 24 hours.',
    advice:
      'Send the whole conversation in `input`, and keep its items where you need them longer.',
    message:
      'The response that `previous_response_id` names is not kept, or an earlier one of its conversation is not. Send the whole conversation in `input`.',
    param: 'previous_response_id',
  }),
  invalid_n: invalid({
    when: 'More choices than the model gives, or more than 128 texts for all prompts together.',
    advice: 'Ask for fewer choices, or send the request several times.',
    message: 'The model {model} gives at most {choices} per request.',
    sample: { model: 'mixtral-8x7b', choices: '1 choice' },
    param: 'n',
  }),
  invalid_idempotency_key: invalid({
    when: 'The key is empty, over 255 characters or not printable ASCII.',
    advice: 'Send a UUID.',
    message: 'Idempotency-Key must be 1 to 255 printable ASCII characters.',
    param: 'Idempotency-Key',
  }),
  invalid_name: invalid({
    when: 'The name is missing, empty or over 100 characters.',
    advice: 'Give a name of 1 to 100 printable characters.',
    example: 'A key needs a name of 1 to 100 printable characters.',
    param: 'name',
  }),
  invalid_scope: invalid({
    when: 'A scope that does not exist, is beyond the plan, or may not be granted by a key.',
    advice:
      'Ask for scopes that exist and that the plan has; `admin:keys` is granted in the dashboard.',
    example: 'A key cannot grant admin:keys; an administrator of the organisation can.',
    param: 'scopes',
  }),
  invalid_expiry: invalid({
    when: 'The expiry is no time, is past, or the plan has none.',
    advice: 'Send a time in the future as in RFC 3339, or none.',
    example: 'The expiry must be a time as in RFC 3339.',
    param: 'expires_at',
  }),
  invalid_key: invalid({
    when: 'A key may not revoke itself, an organisation has only so many active ones, and a filter names one that it has.',
    advice:
      'Revoke the key with another one or in the dashboard; revoke what is not used before issuing more; take the id of a filter from `GET /v1/keys`.',
    example: 'A key cannot revoke itself.',
    param: 'id',
  }),
  invalid_reason: invalid({
    when: 'The reason is over 500 characters, or not one line of printable ones.',
    advice: 'Send one line of at most 500 characters, or none.',
    example: '`reason` must be a string of at most 500 characters.',
    param: 'reason',
  }),
  invalid_limit: invalid({
    when: 'A page has 1 to 100 items.',
    advice: 'Ask for 1 to 100 items, and page on with `after`.',
    example: '`limit` must be an integer from 1 to 100.',
    param: 'limit',
  }),
  invalid_after: invalid({
    when: 'The cursor is not the id of an item of this list.',
    advice: 'Send the `last_id` of the page before, with the same filters.',
    message: 'There is no such item to continue after.',
    param: 'after',
  }),
  invalid_first_index: invalid({
    when: 'The range is empty, begins after the end of the ledger, or is larger than a pack may be.',
    advice: 'Ask for a range within the ledger: `GET /v1/ledger/entries` has its indexes.',
    example: 'The range is empty: the first index lies after the last.',
    param: 'first_index',
  }),
  invalid_last_index: invalid({
    when: 'The range ends after the ledger, or after the signed checkpoint of an export.',
    advice: 'End the range below the size that the message names.',
    message: 'The signed checkpoint has {size} entries, from index 0.',
    sample: { size: '1200' },
    param: 'last_index',
  }),
  invalid_checkpoint_size: invalid({
    when: 'No checkpoint of this size was ever signed.',
    advice: 'Send the size of a checkpoint that you were given.',
    message: 'No checkpoint of this size was ever signed.',
    param: 'checkpoint_size',
  }),
  invalid_range: invalid({
    when: 'There is nothing to pack: no receipt is in a signed checkpoint yet.',
    advice: 'Wait ten seconds after the first receipt, then ask again.',
    message: 'No receipt is in a signed checkpoint yet.',
    param: 'range',
  }),
  invalid_rate_limit: invalid({
    when: 'The limit of a key is no limit, or higher than its organisation’s.',
    advice: 'Ask for a limit of at most the organisation’s: `GET /v1/account` has that.',
    example: 'A key cannot have a higher limit than its organisation.',
    param: 'rate_limit',
  }),
  invalid_from: invalid({
    when: 'The time is none.',
    advice: 'Send a time as in RFC 3339, or seconds since 1970.',
    example: '`from` must be a time as in RFC 3339.',
    param: 'from',
  }),
  invalid_to: invalid({
    when: 'The end of the period is no time, not after its start, or too far from it.',
    advice:
      'Send a time after `from`, as in RFC 3339, and ask for a shorter period if it was too long.',
    example: '`to` must be after `from`.',
    param: 'to',
  }),
  invalid_group_by: invalid({
    when: 'There is no such grouping, or there would be too many groups.',
    advice:
      'Choose from the groupings that the message names; for too many groups ask for a shorter period.',
    example:
      '`group_by` must be one to 3 different ones of hour, day, month, model, region, key, tier, quality and tags as in `tag:team`, with commas between.',
    param: 'group_by',
  }),
  invalid_tag: invalid({
    when: 'A filter by a tag is written otherwise, or your organisation has no such tag.',
    advice: 'Send a tag that your organisation has declared, with a value, as in `team=search`.',
    example: '`team` is not a tag of your organisation. It has project, env.',
    param: 'tag',
  }),
  invalid_status: invalid({
    when: 'There is no such status, class of them, or word for them.',
    advice: 'Send `ok`, `failed`, `2xx`, `4xx`, `5xx`, or a status of HTTP as `429`.',
    example: '`status` must be `ok`, `failed`, `2xx`, `4xx`, `5xx` or a status of HTTP.',
    param: 'status',
  }),
  invalid_code: invalid({
    when: 'There is no such code of an error, and no request of yours has failed with it.',
    advice: 'Take a code from the reference of errors, or from the `code` of a request.',
    example: 'There is no such code.',
    param: 'code',
  }),
  invalid_url: invalid({
    when: 'The address is malformed.',
    advice: 'Encode the path and the query as URLs demand.',
    message: 'The address is not a valid URL.',
  }),
  invalid_request: invalid({
    when: 'The model’s server refused the request without a reason that has a code here, or the request is not valid HTTP.',
    advice:
      'The message has what the model’s server says. Where it is about HTTP: send HTTP/1.1 with one `Host` header; a proxy between may be at fault.',
    message: 'The request is not valid HTTP.',
  }),
  route_not_found: missing({
    when: 'There is nothing at this address.',
    advice: 'Compare the address with these pages; the base URL ends in `/v1`, once.',
    message: 'There is nothing at this address.',
  }),
  model_not_found: missing({
    when: 'The model does not exist, or not for this account.',
    advice: 'Choose an `id` from `GET /v1/models`, URL-encoded where it has a slash.',
    param: 'id',
  }),
  response_not_found: missing({
    when: 'The response is not kept: it does not exist, is not yours, was deleted, or was not used for 24 hours.',
    advice:
      'Read a response within 24 hours, with a key of the organisation that made it; `store` in the answer says whether it is kept.',
    param: 'id',
  }),
  request_not_found: missing({
    when: 'There is no record of the request: it is not yours, had no valid key, is not over, is older than requests are kept, or stands in a row of refusals.',
    advice:
      'Take the id from `x-request-id`, and ask with a key of the organisation whose key the request had; an answer is on record about a second after its end.',
    param: 'id',
  }),
  receipt_not_found: missing({
    when: 'The receipt does not exist, or is not yours.',
    advice: 'Use a key of the organisation that made the request, and the id as the answer had it.',
    param: 'id',
  }),
  key_not_found: missing({
    when: 'The key does not exist, or is not yours.',
    advice:
      'Take the id (`key_…`) from `GET /v1/keys`; it is not the key itself. Keys are deleted 90 days after they were revoked.',
    param: 'id',
  }),
  export_not_found: missing({
    when: 'The export does not exist, or is not yours.',
    advice: 'Take the id from `GET /v1/exports`.',
    param: 'id',
  }),
  checkpoint_not_found: missing({
    when: 'The log has no entry yet.',
    advice: 'Make a request first: a checkpoint is signed within seconds.',
  }),
  tile_not_found: missing({
    when: 'The log has no such tile.',
    advice: 'Ask for tiles within the size of the newest checkpoint.',
    param: 'path',
  }),
  consistency_proof_not_found: missing({
    when: 'The log was not published at this size.',
    advice: 'Ask from the size of a checkpoint that was published.',
  }),
  anchor_proof_not_found: missing({
    when: 'Nothing is anchored as asked for.',
    advice: 'Ask again after ten seconds, or for something that was anchored.',
  }),
  derivation_not_found: missing({
    when: 'There is no derivation record of this digest.',
    advice: 'Take the digest from `measurement.derivation` of a receipt of this service.',
    param: 'digest',
  }),
  context_not_found: missing({
    when: 'There is no context of this name.',
    advice: 'Take the address from `@context` of a document of this service.',
    param: 'name',
  }),
  methodology_not_found: missing({
    when: 'There is no methodology of this id and version.',
    advice: 'Choose an id and a version from `GET /methodologies`.',
    param: 'id',
  }),
} as const;

export const CODES = { ...STABLE, ...PATTERNED };

/** The codes that have a row of their own, and so can be documented. */
export type DocumentedCode = keyof typeof CODES;
/** Those of them that follow no pattern. */
export const STABLE_CODES = Object.keys(STABLE) as readonly (keyof typeof STABLE)[];

/** Codes that say by their pattern what is wrong. */
export type PatternedCode = `invalid_${string}` | `${string}_not_found`;

export type ErrorCode = DocumentedCode | PatternedCode;

/** The row of a code; for one without its own, what its pattern says. */
export function codeRow(code: ErrorCode): CodeRow {
  const own: CodeRow | undefined = Object.hasOwn(CODES, code)
    ? CODES[code as DocumentedCode]
    : undefined;
  // The beginning first: how an invalid parameter's code ends is the caller's to say.
  if (code.startsWith('invalid_') || !code.endsWith('_not_found')) return own ?? INVALID;
  const resource = code.slice(0, -'_not_found'.length).replaceAll('_', ' ');
  return { ...NOT_FOUND, message: `No such ${resource}.`, ...own };
}

/**
 * The code of a parameter that is not what it must be. A name whose code means another thing, as that of `api_key` does, has
 * that of the whole request: a caller would look for a new key.
 */
export function codeOfParameter(param: string): `invalid_${string}` {
  const code = `invalid_${param}` as const;
  return codeRow(code).status === INVALID.status ? code : 'invalid_request';
}

/** The code by which a metric counts a refusal. A series stays for ever, and callers name parameters: unknown ones share one. */
export function countedCode(code: ErrorCode): ErrorCode {
  return code.startsWith('invalid_') && !Object.hasOwn(CODES, code) ? 'invalid_other' : code;
}

const INVALID: CodeRow = invalid({
  when: 'A parameter is not valid; `param` says which.',
  advice: 'Send what the message asks for, at the place that `param` names.',
});
const NOT_FOUND: CodeRow = missing({
  when: 'It does not exist, or is not yours.',
  advice: 'Compare the id with that of the list, and use a key of the organisation whose it is.',
});
