import type { ErrorCode, StableCode } from '#shared/kernel/errors.ts';

export interface ErrorNote {
  /** The condition, as the table of errors shows it. */
  when: string;
  /** An example of the message; messages may change. */
  message: string;
  param?: string;
}

const note = (when: string, message: string, param?: string): ErrorNote => ({
  when,
  message,
  ...(param === undefined ? {} : { param }),
});

/** Every code that has a row of its own: one that is added without a note does not compile. */
const STABLE_NOTES: Readonly<Record<StableCode, ErrorNote>> = {
  invalid_api_key: note(
    'The key is missing, malformed or unknown.',
    'The API key is missing or not valid.',
  ),
  revoked_api_key: note('The key was revoked.', 'This API key has been revoked.'),
  expired_api_key: note('The key’s expiry has passed.', 'This API key has expired.'),
  insufficient_scope: note(
    'The key is good and lacks the endpoint’s scope.',
    'This API key lacks the scope inference:write.',
  ),
  prompt_too_long: note(
    'The prompt exceeds the model’s context window.',
    'The prompt is longer than the context window of mixtral-8x7b (4096 tokens).',
    'messages',
  ),
  idempotency_key_reused: note(
    'The same Idempotency-Key came with another body within 24 hours.',
    'This Idempotency-Key was used with a different request in the last 24 hours.',
    'Idempotency-Key',
  ),
  request_too_large: note(
    'The body is over the limit (20 MiB by default).',
    'The request body is larger than this service accepts.',
  ),
  invalid_content_type: note(
    'The body is not announced as application/json.',
    'The content type must be application/json.',
    'Content-Type',
  ),
  method_not_allowed: note(
    'The address exists, the method does not. `Allow` has those that do.',
    'GET is not allowed here.',
  ),
  request_timeout: note(
    'Headers or body took too long to arrive.',
    'The request took too long to arrive.',
  ),
  headers_too_large: note(
    'The headers are over 16 KiB.',
    'The headers are larger than this service accepts.',
  ),
  recalculation_pending: note(
    'The receipt is being recalculated already.',
    'A recalculation of this receipt is pending.',
    'id',
  ),
  not_degraded: note(
    'Only degraded receipts can be recalculated.',
    'The receipt is not degraded.',
    'id',
  ),
  key_state_conflict: note(
    'The key is not in a state for this act.',
    'A revoked key cannot be rotated.',
    'id',
  ),
  proof_not_ready: note(
    'The receipt is not in a signed checkpoint yet: at most ten seconds.',
    'The receipt is not in a signed checkpoint yet. Ask again in a few seconds.',
    'id',
  ),
  export_not_ready: note('The pack is still being made.', 'The export is not ready yet.', 'id'),
  export_failed: note(
    'The pack could not be made.',
    'The export has failed. Create a new one.',
    'id',
  ),
  export_expired: note(
    'The pack has been deleted after its time.',
    'The export has expired. Create a new one.',
    'id',
  ),
  range_not_satisfiable: note(
    'The range lies outside the pack.',
    'The pack has 4821 bytes.',
    'Range',
  ),
  concurrent_exports_exceeded: note(
    'Too many exports are running.',
    'Too many exports are running. Wait until one is ready.',
  ),
  requests_per_second_exceeded: note(
    'The bucket of requests is empty.',
    'Too many requests per second. Wait and try again.',
  ),
  daily_budget_exceeded: note(
    'The day’s budget is used up, until midnight UTC.',
    'The daily request budget is used up. It resets at midnight UTC.',
  ),
  concurrent_streams_exceeded: note(
    'Too many streams are open.',
    'Too many streams are open. Close idle streams or upgrade the plan.',
  ),
  upstream_error: note(
    'The provider failed, after retries and failover.',
    'The inference provider failed. Try again.',
  ),
  upstream_timeout: note(
    'The provider did not answer in time.',
    'The inference provider did not answer in time.',
  ),
  upstream_rate_limited: note(
    'The provider refused for its own limits.',
    'The inference provider is at its limit. Try again shortly.',
  ),
  worker_lost: note(
    'The process that ran the request died more than once.',
    'The request was lost. Try again.',
  ),
  dual_use_screen_block: note(
    'Blocked by dual-use screening (Article III).',
    'The request was blocked by dual-use screening. If you believe this is wrong, write to support@docket.example.',
  ),
  acceptable_use_violation: note(
    'The request matches acceptable-use violation patterns.',
    'The request is against the acceptable-use policy.',
  ),
  customer_suspended: note(
    'The account is suspended, pending review.',
    'This account is suspended pending review.',
  ),
  region_degraded: note(
    'The pinned region is in incident mode.',
    'The region eu-west is in incident mode.',
  ),
  region_saturated: note('The pinned region is at capacity.', 'The region eu-west is at capacity.'),
  region_decommissioned: note(
    'The region is no longer offered.',
    'The region ap-south is no longer offered.',
  ),
  receipt_generation_failed: note(
    'With `"receipt":"required"` only: the methodology failed.',
    'The receipt could not be generated: the size of the model is not known.',
  ),
  internal_error: note(
    'The gateway failed. Nothing about the request is wrong.',
    'Something went wrong in the gateway. Try again shortly.',
  ),
  dispatch_unavailable: note(
    'The gateway is restarting or catching up.',
    'The gateway is catching up. Try again shortly.',
  ),
};

/** Codes by pattern, `invalid_<param>` and `<resource>_not_found`: those that operations name. */
const PATTERN_NOTES = {
  invalid_json: note(
    'The body is not JSON, not UTF-8, nested too deep, or repeats a member.',
    'The body is not valid JSON: see line 1, column 14.',
  ),
  invalid_model: note(
    'The model does not exist, or not for this account, region or kind of request.',
    'The model does not exist, or this account may not use it.',
    'model',
  ),
  invalid_region: note('The region code does not exist.', 'The region does not exist.', 'region'),
  invalid_tier: note(
    'The tier is above the plan, or not offered on this route.',
    'The tier enterprise is above this account’s plan, audit.',
    'tier',
  ),
  invalid_temperature: note(
    'An invalid sampler value; each sampler has its code.',
    '`temperature` must be a number from 0 to 2.',
    'temperature',
  ),
  invalid_top_p: note(
    'An invalid sampler value; each sampler has its code.',
    '`top_p` must be a number from 0 to 1.',
    'top_p',
  ),
  invalid_messages: note(
    'A message is malformed; `param` says which.',
    '`messages[2].content` must be a string or a non-empty array of content parts.',
    'messages[2].content',
  ),
  invalid_prompt: note(
    'The prompt is neither text nor tokens.',
    '`prompt` must be a string, an array of strings, an array of token ids or an array of token arrays.',
    'prompt',
  ),
  invalid_input: note(
    'The input is empty, or neither text nor tokens.',
    '`input` must be a non-empty string, an array of strings, an array of token ids or an array of token arrays.',
    'input',
  ),
  invalid_n: note(
    'More choices than the model gives.',
    'The model mixtral-8x7b gives at most 1 choice per request.',
    'n',
  ),
  invalid_idempotency_key: note(
    'The key is empty, over 255 characters or not printable ASCII.',
    'Idempotency-Key must be 1 to 255 printable ASCII characters.',
    'Idempotency-Key',
  ),
  invalid_name: note(
    'The name is missing, empty or over 100 characters.',
    '`name` is required.',
    'name',
  ),
  invalid_scope: note(
    'A scope that does not exist, is beyond the plan, or may not be granted by a key.',
    'A key cannot grant admin:keys.',
    'scopes',
  ),
  invalid_expiry: note(
    'The expiry is no time, is past, or the plan has none.',
    'The expiry must be a time as in RFC 3339.',
    'expires_at',
  ),
  invalid_key: note('A key may not revoke itself.', 'A key cannot revoke itself.', 'id'),
  invalid_reason: note(
    'The reason is too long.',
    'The reason must be at most 500 characters.',
    'reason',
  ),
  invalid_limit: note('A page has 1 to 100 items.', '`limit` must be <= 100.', 'limit'),
  invalid_after: note(
    'The cursor is not the id of an item of this list.',
    '`after` must be the id of an item of this list.',
    'after',
  ),
  invalid_first_index: note(
    'The range is empty, or larger than a pack may be.',
    'The range is empty: the first index lies after the last.',
    'first_index',
  ),
  invalid_last_index: note(
    'The range ends after the signed checkpoint.',
    'The signed checkpoint has 1200 entries, from index 0.',
    'last_index',
  ),
  invalid_from: note('The time is none.', '`from` must be a time as in RFC 3339.', 'from'),
  invalid_to: note(
    'The end of the period is no time, not after its start, or too far from it.',
    '`to` must be after `from`.',
    'to',
  ),
  invalid_group_by: note(
    'Figures are by day, model, region or key.',
    '`group_by` must be equal to one of the allowed values.',
    'group_by',
  ),
  invalid_url: note('The address is malformed.', 'The address is not a valid URL.'),
  invalid_request: note('The request is not HTTP.', 'The request is not valid HTTP.'),
  route_not_found: note('There is nothing at this address.', 'There is nothing at this address.'),
  model_not_found: note(
    'The model does not exist, or not for this account.',
    'No such model.',
    'id',
  ),
  receipt_not_found: note('The receipt does not exist, or is not yours.', 'No such receipt.', 'id'),
  lineage_not_found: note(
    'The receipt was asked for with the tier audit, which has no lineage.',
    'Receipts of the tier audit have no lineage.',
    'id',
  ),
  key_not_found: note('The key does not exist, or is not yours.', 'No such key.', 'id'),
  export_not_found: note('The export does not exist, or is not yours.', 'No such export.', 'id'),
  checkpoint_not_found: note('The log has no entry yet.', 'No such checkpoint.'),
  tile_not_found: note('The log has no such tile.', 'No such tile.'),
  consistency_proof_not_found: note(
    'The log was not published at this size.',
    'No such consistency proof.',
  ),
  anchor_proof_not_found: note('Nothing is anchored as asked for.', 'No such anchor proof.'),
  context_not_found: note('There is no context of this name.', 'No such context.'),
  methodology_not_found: note(
    'There is no methodology of this id and version.',
    'No such methodology.',
  ),
} as const satisfies Partial<Record<ErrorCode, ErrorNote>>;

/** The note of a code. @throws Error for one that has none: a document that names it would be incomplete. */
export function noteOf(code: ErrorCode): ErrorNote {
  const found = { ...STABLE_NOTES, ...PATTERN_NOTES }[code as StableCode];
  if (found === undefined) throw new Error(`the error code ${code} is not described`);
  return found;
}
