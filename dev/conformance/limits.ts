import { row, type Section } from './section.ts';

const HEADERS = 'say what is left, in the numbers of the plan';

export const LIMITS_SECTION: Section = {
  title: 'Limits',
  about: 'Per organisation, over all its keys and all processes.',
  rows: [
    row('Audit: 50 requests per second, 200 at once, 100,000 a day.', {
      'pipeline/limits': [HEADERS],
      'unit/lanes/rate-limit': [
        'admits exactly the burst at one moment',
        'never admits more than burst plus rate times any window',
      ],
    }),
    row('Audit Plus: 200 requests per second, 800 at once, 400,000 a day.', {
      'unit/kernel/plan': ['has the numbers of the specification: %s'],
    }),
    row('Enterprise: negotiated.', {
      'stores/accounts/machine': ['limits are negotiated on enterprise only, and go with the plan'],
    }),
    row('The daily budget is set back at midnight UTC.', {
      'stores/lanes/admission': [
        'never admits more than the daily budget when callers race, and starts anew at midnight UTC',
      ],
    }),
    row('Open streams are limited, and what dies gives its place back.', {
      'pipeline/limits': [
        'never open more streams than allowed; a stream that ends makes room',
        'are held against the organisation until their leases end, and no longer',
      ],
    }),
    row('Races over processes and keys never admit more.', {
      'pipeline/limits': ['never admit more than the burst, and what refills meanwhile'],
    }),
    row('Every route is under every limit.', {
      'pipeline/limits': [
        '%s used up on one route is used up on all',
        'streams of one route count against those of the other',
      ],
    }),
    row('A refusal costs nothing anywhere.', {
      'pipeline/limits': ['costs nothing anywhere, whatever refuses'],
      'stores/lanes/admission': ['leaves no trace of a refusal: %s'],
    }),
    row('Answers and refusals say where the caller stands.', {
      'pipeline/limits': [HEADERS, 'are on a stream and on a refusal too'],
    }),
    row('A key may have a lower limit of its own.', {
      'pipeline/limits': ['is held to it, without taking from the others of its organisation'],
    }),
  ],
};

export const CLIENTS_SECTION: Section = {
  title: 'What stock clients depend on',
  about: 'Tried with the OpenAI SDK, the AI SDK and LangChain as they come.',
  rows: [
    row('Errors have the class of their status, and the request id.', {
      'clients/openai': [
        'have the class of their status, with message, type, param, code and request id: %s',
      ],
      'clients/langchain': ['throws the SDK’s errors, with our code'],
      'clients/ai-sdk': [
        'throws an APICallError with our message for what is permanent, and does not try again',
      ],
    }),
    row('Framework errors have the envelope, so that nobody reads "(no body)".', {
      'clients/openai': ['of the framework have the envelope too: no "404 status code (no body)"'],
    }),
    row('Clients try again what may succeed, as long after as we say, and nothing else.', {
      'clients/openai': [
        'none for a permanent condition: 400, 401, 403, 404, and a 503 that says so',
        'one after a 502, and then the answer',
        'wait for retry-after-ms after a 429, no longer and no shorter',
      ],
      'clients/ai-sdk': ['tries again after a 429, as long as retry-after-ms says'],
      'clients/langchain': ['tries again after a 429'],
    }),
    row('A wait of hours is not tried again in half a second.', {
      'clients/openai': [
        'none after the daily budget is used up, though its wait is longer than the SDK believes',
      ],
    }),
    row('Timeouts and aborts stop the upstream.', {
      'clients/openai': [
        'a timeout of the SDK is its APIConnectionTimeoutError, and the upstream is stopped',
        'an abort is its APIUserAbortError, and the upstream is stopped',
        '`break` in a loop over chunks stops the upstream',
      ],
      'clients/ai-sdk': ['stops the upstream when it is aborted'],
      'clients/langchain': ['stops the upstream when it is aborted'],
    }),
    row('Silence is filled with comments, and headers come early.', {
      'unit/api/inference/stream-reply': [
        'of 15 s commits the status and is filled with comments, until the end',
      ],
    }),
    row('Any framing of the upstream reads whole.', {
      'clients/openai-streams': ['are read whole whatever the upstream’s framing: %s'],
    }),
    row('A stream that breaks is an error, never an end.', {
      'clients/openai-streams': ['throws, because an error object was sent: %s'],
      'clients/ai-sdk': ['sees a stream that breaks as an error, never as an end'],
      'clients/langchain': ['sees a stream that breaks as an error, never as an end'],
    }),
    row('Extra keys on chunks are kept; no named events are sent.', {
      'clients/openai-streams': [
        'keep the extra key: the receipt is on the one with the last finish_reason',
      ],
      'clients/ai-sdk': ['streams text; extra keys on chunks are kept'],
      'clients/langchain': ['streams; the receipt is on the last raw chunk'],
    }),
    row('`chunk.choices[0].delta` is safe unless usage was asked for.', {
      'clients/openai-streams': [
        'are never without choices unless usage was asked for: `chunk.choices[0].delta` is safe',
        'have usage null but for the last, whose choices are empty, when usage was asked for',
      ],
    }),
    row('Streams are not compressed, cached or buffered.', {
      'clients/openai': ['asResponse and withResponse give the headers of the contract'],
      'pipeline/stream-pace': ['keeps its pace through the gateway, uncompressed, frame by frame'],
    }),
    row('Idempotency is by the header; the SDK’s option sends nothing.', {
      'clients/openai': ['is not by the SDK’s idempotencyKey option, which sends nothing'],
    }),
    row('Embeddings keep their length through the default of base64.', {
      'clients/openai': ['keep their length through the SDK’s default of base64: %s'],
      'clients/langchain': ['embeds, in full length'],
      'clients/ai-sdk': ['embeds'],
    }),
    row('Lists are read to their end by cursor pages.', {
      'clients/openai': [
        'of receipts, ledger entries and keys are read to their end by the SDK’s cursor pages',
      ],
    }),
    row('Chunks share id and created; indexes and ids are stable.', {
      'clients/openai-streams': [
        'of one answer share id and created, and their choices have index 0..n-1',
        'of tool calls keep index and id stable, and their arguments satisfy the schema',
        'of legacy completions are text_completion objects',
      ],
    }),
    row('Tools, structured output and the SDKs’ helpers work.', {
      'clients/openai-streams': [
        'chat.completions.stream() assembles the completion, with its receipt',
        'chat.completions.parse() reads structured output',
        'chat.completions.runTools() calls the tool with arguments that fit, and goes on',
      ],
      'clients/ai-sdk': [
        'calls tools, whole and streamed, and goes on with their results',
        'reads structured output',
      ],
      'clients/langchain': ['binds tools', 'reads structured output'],
    }),
  ],
};
