import { SCOPES, type Scope } from '#shared/keys/credential.ts';
import { codeRow, STABLE_CODES } from '#shared/kernel/error-codes.ts';
import { PLAN_LIMITS, PLANS } from '#shared/kernel/plan.ts';
import { count } from '#shared/methodology/readable.ts';

const SCOPE_NOTES: Readonly<Record<Scope, [grants: string, availability: string]>> = {
  'inference:read': ['list models, read a model', 'default'],
  'inference:write': ['chat completions, responses, completions, embeddings', 'default'],
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

/** The text before the operations, in the Markdown that CommonMark and GitHub agree on. */
export function introduction(publicUrl: string, supportEmail: string): string {
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

## Keys and scopes

Requests carry \`Authorization: Bearer <key>\`. A key is shown once, when it is issued. It has scopes, and each operation names the one it demands.

| scope | grants | available |
|---|---|---|
${SCOPES.map((scope) => `| \`${scope}\` | ${SCOPE_NOTES[scope].join(' | ')} |`).join('\n')}

## Errors

Every failing path answers with the same envelope, always with all four fields: \`{"error": {"code", "type", "message", "param"}}\`. Codes are stable, messages may change. A path that names something that does not exist, or is not yours, is 404 with \`<resource>_not_found\`; an invalid parameter is 400 with \`invalid_<param>\`, and \`param\` says where. \`x-should-retry\` says whether the same request may succeed later; SDKs obey it, and wait and repeat by themselves where it is \`true\`. It is \`false\` on every \`validation_error\`, also on ${LATER_CODES}, where something is not there yet, and on \`daily_budget_exceeded\`, where a library would sleep until midnight. \`retry-after\` and \`retry-after-ms\` say how long to wait, on every 429 and wherever waiting helps. Without them try inference and internal errors again with exponential backoff and random jitter, about four times; never \`auth_error\`, \`validation_error\` and \`policy_error\`.

The codes that follow no pattern are ${STABLE_CODES.map((code) => `\`${code}\``).join(', ')}. Each operation lists those that it can answer with; the error reference of the page \`/docs\` says of every one when it happens, what to do, and whether it helps to ask again. If you believe that a policy block is wrong, write to ${supportEmail} with the request id.

## Limits

Limits are per organisation, over all its keys. A bucket allows a burst at once and refills at the rate. A 429 carries \`retry-after\` and \`retry-after-ms\`; the day ends at midnight UTC. Every inference answer tells where you stand in its \`x-ratelimit-\` headers. What is refused costs nothing.

| plan | requests per second | burst | requests per day | open streams |
|---|---|---|---|---|
${PLANS.map(limitRow).join('\n')}

The numbers of Enterprise are negotiated; these are where they begin.

## Idempotency

Set the header \`Idempotency-Key\` yourself, to a UUID that stays the same over retries (the \`idempotencyKey\` option of the OpenAI SDK sends nothing). An identical request within 24 hours gets the stored answer and the same receipt, with \`idempotent-replayed: true\`, and costs nothing. While the first is still running, the second waits for it. The same key with another body is \`idempotency_key_reused\`.

## Regions and tiers

\`region\` in the body, or the header \`x-region\`, pins a request: it never leaves that region. Without it, the first healthy region that offers the model is taken. \`tier\` selects what the receipt gives, at most your plan: \`audit\` the estimate, \`audit_plus\` also the inclusion promise and lineage, \`enterprise\` also hourly grid factors where configured.

## Receipts

The \`receipt\` in an answer is a W3C Verifiable Credential: who asked what model where, token counts, salted digests of request and answer, and the estimate with its bounds. It is signed (\`eddsa-jcs-2022\`), stored before you get it, and in your ledger within ten seconds. When the methodology fails and the inference does not, the receipt has \`tier: "degraded"\` and an \`explanation\`: treat the answer as good and the receipt as due for recalculation. A signed receipt proves who said what and when, and that nothing was removed; it does not prove that a model ran or that an estimate is true.

## Lists

Lists are \`{object: "list", data, first_id, last_id, has_more}\` and take \`after\`, \`limit\` (1 to 100, 20 when absent) and \`order\`. A query parameter that is not known is refused. The cursor pages of the OpenAI SDKs work on them.`;
}

function limitRow(plan: (typeof PLANS)[number]): string {
  const { requestsPerSecond, burst, requestsPerDay, concurrentStreams } = PLAN_LIMITS[plan];
  const numbers = [requestsPerSecond, burst, requestsPerDay, concurrentStreams];
  return `| \`${plan}\` | ${numbers.map(count).join(' | ')} |`;
}
