import { CONTAINERS_MAX, VALUES_MAX } from '#api/openai/parse-json.ts';
import { DEADLINE_MS } from '#api/inference/read.ts';
import { SMALL_BODY_BYTES } from '#api/plugins/intake.ts';
import { BYTES_OF_ANSWER, BYTES_OF_REFUSAL, CHANGES } from '#api/plugins/rates.ts';
import { RESPONSE_TARGETS } from '#shared/accounts/letters.ts';
import { EMBEDDED_VALUES_MAX } from '#shared/catalogue/routing.ts';
import { ACTIVE_KEYS_MAX } from '#shared/keys/rules.ts';
import { WAITERS_MAX } from '#shared/lanes/redis/admission.ts';
import { EXPORTS_UNDER_WAY_MAX } from '#shared/packs/export-record.ts';
import { SCOPES, type Scope } from '#shared/keys/credential.ts';
import { codeRow, STABLE_CODES } from '#shared/kernel/error-codes.ts';
import { PLAN_LIMITS, PLANS } from '#shared/kernel/plan.ts';
import { count, counted } from '#shared/methodology/readable.ts';

const SCOPE_NOTES: Readonly<Record<Scope, [grants: string, availability: string]>> = {
  'inference:read': ['list models, read a model', 'default'],
  'inference:write': ['chat completions, responses, messages, completions, embeddings', 'default'],
  'service:read': ['receipts, ledger, usage', 'default'],
  'service:lineage': ['the full lineage of a receipt', 'Audit Plus, Enterprise'],
  'service:export': ['evidence packs', 'Audit Plus, Enterprise'],
  'admin:keys': [
    'issue and revoke other keys, audit log',
    'administrators; Audit Plus, Enterprise',
  ],
};

/** Codes that say when to ask again, though no library is to do so by itself. */
const LATER_CODES = STABLE_CODES.filter((code) => {
  const { type, retryAfterMs } = codeRow(code);
  return type === 'validation_error' && retryAfterMs !== undefined;
})
  .map((code) => `\`${code}\``)
  .join(', ');

export interface IntroductionOptions {
  /** Where callers reach the service. */
  publicUrl: string;
  supportEmail: string;
  /** Of a body for a model. */
  bodyBytesMax: number;
  /** Of evidence packs. */
  packsKeptDays: number;
}

/** The text before the operations, in the Markdown that CommonMark and GitHub agree on. */
export function introduction({
  publicUrl,
  supportEmail,
  bodyBytesMax,
  packsKeptDays,
}: IntroductionOptions): string {
  return `Docket is an OpenAI-compatible inference gateway. A standard client works when its base address and key are changed; nothing else. Every answer carries a signed receipt with an estimate of its footprint, and every receipt is in a ledger that proves that none was changed or removed.

## First request

\`\`\`ts
import OpenAI from 'openai';

const openai = new OpenAI({
  baseURL: '${publicUrl}/v1',
  apiKey: 'dkt_…', // from where you keep your secrets
});
const completion = await openai.chat.completions.create({
  model: 'llama-3.1-8b',
  messages: [{ role: 'user', content: 'Why is the sky blue?' }],
});
console.log(completion.choices[0].message.content, completion.receipt.id);
\`\`\`

[From a key to a verified receipt](${publicUrl}/docs/guides/first-call) has whole programs in curl, Python, JavaScript and Go: with retries, a stream, and how to verify what they keep.

## Keys and scopes

Requests carry \`Authorization: Bearer <key>\`; those of Anthropic’s clients may carry \`x-api-key\`. A key is shown once, when it is issued. It has scopes, and each operation names the one it demands.

| scope | grants | available |
|---|---|---|
${SCOPES.map((scope) => `| \`${scope}\` | ${SCOPE_NOTES[scope].join(' | ')} |`).join('\n')}

## Errors

Every failing path answers with the same envelope, always with all four fields: \`{"error": {"code", "type", "message", "param"}}\`. Codes are stable, messages may change. A path that names something that does not exist, or is not yours, is 404 with \`<resource>_not_found\`; an invalid parameter is 400 with \`invalid_<param>\`, and \`param\` says where. \`x-should-retry\` says whether the same request may succeed later; SDKs obey it, and wait and repeat by themselves where it is \`true\`. It is \`false\` on every \`validation_error\`, also on ${LATER_CODES}, where something is not there yet, and on \`daily_budget_exceeded\`, where a library would sleep until midnight. \`retry-after\` and \`retry-after-ms\` say how long to wait, on every 429 and wherever waiting helps. Without them try inference and internal errors again with exponential backoff and random jitter, about four times; never \`auth_error\`, \`validation_error\` and \`policy_error\`.

The codes that follow no pattern are ${STABLE_CODES.map((code) => `\`${code}\``).join(', ')}. Each operation lists those that it can answer with; the error reference of the page \`/docs\` says of every one when it happens, what to do, and whether it helps to ask again. If you believe that a policy block is wrong, write to ${supportEmail} with the request id.

## A leaked key

Revoke it at once: in the dashboard, with \`POST /v1/keys/{id}/revoke\`, or by an e-mail to ${supportEmail}, with the first 8 and last 4 characters of the key and never the whole. Support answers ${RESPONSE_TARGETS}. Requests with a revoked key fail within seconds everywhere; whoever floods the service with it cannot hold the revocation up.

## Limits

Limits are per organisation, over all its keys; a key may have a lower rate of its own (\`rate_limit\`). A bucket allows a burst at once and refills at the rate. A 429 carries \`retry-after\` and \`retry-after-ms\`; the day ends at midnight UTC. The \`x-ratelimit-\` headers of every answer to a request with a good key, refusals by a limit of either included, tell where you stand with the limit that is nearer, the organisation’s or the key’s.

| plan | requests per second | burst | requests per day | open streams |
|---|---|---|---|---|
${PLANS.map(limitRow).join('\n')}

The numbers of Enterprise are negotiated; these are where they begin. Yours are in \`GET /v1/account\`.

What a request costs:

| request | rate | budget of the day | open streams |
|---|---|---|---|
| inference that is run, whether its upstream answers or fails | 1 | 1 | 1 while it streams, with an \`Idempotency-Key\` until it has run |
| repeated with its \`Idempotency-Key\` | 1 | nothing | 1 while it streams, and that of the first if it was left |
| blocked by screening | 1 | nothing | nothing |
| refused by a limit, or because no region takes it | nothing | nothing | nothing |
| inference that is refused for what it is (400, 404, 413, 415 …) | 1 for each ${BYTES_OF_REFUSAL / 1_024} KiB of its body, of a bucket of refusals with the same rate | nothing | nothing |
| refused for the scope of its key, or for its account (403) | 1 of the bucket of reads, and 1 of the bucket of your address | nothing | nothing |
| whatever is read | 1, of a bucket of reads with the same rate | nothing | nothing |
| keys, exports, recalculations | 1, of a bucket of ${CHANGES.requestsPerSecond} a second and ${CHANGES.burst} at once | nothing | nothing |
| revoking a key | 1, of such a bucket that nothing else empties | nothing | nothing |
| without a good key, or for what needs none | 1, and 1 more for each ${BYTES_OF_ANSWER / 1_024} KiB of a public answer or a page, of a bucket of your address | nothing | nothing |
| \`GET /health\` | nothing | nothing | nothing |

Other limits: a body has at most ${count(Math.floor(bodyBytesMax / 1_048_576))} MiB, ${count(SMALL_BODY_BYTES / 1_024)} KiB where it is not for a model, ${count(CONTAINERS_MAX)} objects and arrays, and ${count(VALUES_MAX)} values. A request is given up after ${count(DEADLINE_MS / 60_000)} minutes. ${count(WAITERS_MAX)} identical requests wait for one answer. An embeddings request asks for at most ${count(EMBEDDED_VALUES_MAX)} values. ${count(EXPORTS_UNDER_WAY_MAX)} exports are under way at once, and a pack is kept for ${counted(packsKeptDays, 'day')}. An organisation has at most ${count(ACTIVE_KEYS_MAX)} active keys. What is on its way at once is bounded as well, for a key, an organisation and the process: then the answer is 429 or 503 with a second to wait.

## Idempotency

Set the header \`Idempotency-Key\` yourself, to a UUID that stays the same over retries (the \`idempotencyKey\` option of the OpenAI SDK sends nothing). An identical request within 24 hours gets the stored answer and the same receipt, with \`idempotent-replayed: true\`, and takes nothing of the day’s budget. While the first is still running, the second waits for it. The same key with another body is \`idempotency_key_reused\`.

## Regions and tiers

\`region\` in the body, or the header \`x-region\`, pins a request: it never leaves that region. Without it, the first healthy region that offers the model is taken. \`tier\` selects what the receipt gives, at most your plan: \`audit\` the estimate, \`audit_plus\` also the inclusion promise and lineage, \`enterprise\` also hourly grid factors where configured.

## Receipts

The \`receipt\` in an answer is a W3C Verifiable Credential: who asked what model where, token counts, salted digests of request and answer, and the estimate with its bounds. It is signed (\`eddsa-jcs-2022\`), stored before you get it, and in your ledger within ten seconds. When the methodology fails and the inference does not, the receipt has \`tier: "degraded"\` and an \`explanation\`: treat the answer as good and the receipt as due for recalculation. A request for which an upstream was called and of which nothing came has a receipt with the outcome \`failed\`, which its error names in \`x-receipt-id\`: calls, times and why, without tokens or figures. A signed receipt proves who says it, and its ledger that nothing was removed since it was entered. Neither proves that a model ran or that an estimate is true.

## Lists

Lists are \`{object: "list", data, first_id, last_id, has_more}\` and take \`after\`, \`limit\` (1 to 100, 20 when absent) and \`order\`. A query parameter that is not known is refused. The cursor pages of the OpenAI SDKs work on them.`;
}

function limitRow(plan: (typeof PLANS)[number]): string {
  const { requestsPerSecond, burst, requestsPerDay, concurrentStreams } = PLAN_LIMITS[plan];
  const numbers = [requestsPerSecond, burst, requestsPerDay, concurrentStreams];
  return `| \`${plan}\` | ${numbers.map(count).join(' | ')} |`;
}
