import { row, type Section } from './section.ts';

const ofAll = (title: string) => ({ 'api/errors': [title] });
const OWN = 'of the gateway’s own is kept: %s';
const CHAT = 'of a chat request is kept: %s';

export const CODES_SECTION: Section = {
  title: 'Error codes',
  about: 'Each code of the specification, and those that the gateway adds.',
  rows: [
    row('`invalid_api_key`: not found or malformed.', ofAll('refuses %s as invalid_api_key')),
    row('`revoked_api_key`', ofAll('refuses a revoked key as revoked_api_key')),
    row('`expired_api_key`', ofAll('refuses an expired key as expired_api_key')),
    row(
      '`insufficient_scope`',
      ofAll('refuses a key with every scope but %s, where that is the one'),
    ),
    row('`invalid_model`: not supported on this region or account; `param` is `model`.', {
      'api/errors-validation': [CHAT],
      'unit/catalogue/resolve': ['that is %s is invalid_model with param model'],
    }),
    row('`invalid_region`: the region code does not exist.', {
      'api/errors-validation': [CHAT, OWN],
      'unit/catalogue/resolve': ['that does not exist is invalid_region'],
    }),
    row('`invalid_tier`: not supported on this route.', {
      'api/errors-validation': [CHAT, OWN],
      'unit/catalogue/resolve': ['that is %s is invalid_tier'],
    }),
    row('`prompt_too_long`: over the model’s context window.', {
      'pipeline/error-contract': ['validation errors, with the parameter as a string'],
      'unit/screening/tokenizer': [
        'decides at the very token',
        'never refuses what may fit when the family is unknown',
      ],
    }),
    row(
      '`invalid_temperature`, `invalid_top_p` and one code for each other sampler; `param` names it.',
      {
        'api/errors-validation': ['is kept on %s: 400 invalid_<param>, and param names it'],
      },
    ),
    row('`requests_per_second_exceeded`: wait as `Retry-After` says.', {
      'pipeline/limits': ['never admit more than the burst, and what refills meanwhile'],
      'clients/openai': ['wait for retry-after-ms after a 429, no longer and no shorter'],
    }),
    row('`daily_budget_exceeded`: until midnight UTC.', {
      'pipeline/limits': [
        'never admit more than the daily budget, which no key and no process has for itself',
      ],
      'stores/lanes/admission': [
        'never admits more than the daily budget when callers race, and starts anew at midnight UTC',
      ],
    }),
    row('`concurrent_streams_exceeded`: too many open streams.', {
      'pipeline/limits': ['never open more streams than allowed; a stream that ends makes room'],
    }),
    row('`dual_use_screen_block`, with the support address.', {
      'pipeline/error-contract': ['policy errors name the support address'],
      'unit/screening/default-pack': ['lets no harmful text pass in disguise: %s'],
    }),
    row('`acceptable_use_violation`', {
      'pipeline/error-contract': ['policy errors name the support address'],
    }),
    row('`customer_suspended`', ofAll('refuses a suspended customer as customer_suspended')),
    row('`region_degraded`: the pinned region is in incident mode.', {
      'pipeline/regions': [
        'is refused to pinned requests and left out by default, until operators set it back',
        'is degraded for pinned requests, left out by default routing, and heals by itself',
      ],
    }),
    row('`region_saturated`: the pinned region is at capacity.', {
      'pipeline/regions': ['is saturated for a pinned request and passed over by default routing'],
    }),
    row('`region_decommissioned`: no longer offered.', {
      'api/errors-validation': [OWN],
      'unit/catalogue/resolve': ['that is gone says so, whatever the model'],
    }),
    row('`upstream_error`, `upstream_timeout`, `upstream_rate_limited`: the provider failed.', {
      'pipeline/error-contract': ['upstream, region and methodology errors'],
      'pipeline/upstream-faults': ['that always fails gives 502 with an envelope and no receipt'],
    }),
    row('`worker_lost`: the request outlived every process that ran it.', {
      'pipeline/idempotency': [
        'whose inference worker is killed is run by another, with one receipt',
      ],
      'faults/killed-process': [
        'leaves every answered request with exactly one receipt and one ledger entry, and no gap',
      ],
    }),
    row('`receipt_generation_failed`: only when the caller requires a receipt.', {
      'pipeline/main-job': [
        'becomes a methodology error instead of degraded when the caller requires it',
      ],
    }),
    row('`internal_error`, `dispatch_unavailable`: the gateway’s own, never with internals.', {
      'faults/redis-away': [
        'that swallows every packet makes requests fail within a second, and nothing needs a restart',
      ],
      'faults/graceful-stop': ['costs no client its answer and no answer its receipt'],
    }),
    row('`idempotency_key_reused`, `invalid_idempotency_key`', {
      'pipeline/idempotency': ['with another body is refused; the first answer stays'],
      'api/errors-validation': [OWN],
    }),
    row(
      '`invalid_json`, `request_too_large` (413), `invalid_content_type` (415), `method_not_allowed` (405, with `Allow`).',
      {
        'api/errors-http': [
          'that is not JSON is 400 invalid_json: %j',
          'over the limit is 413, announced or not, on every route that takes one',
          'of another media type is 415: %s',
          'is 405 with Allow: %s %s',
        ],
      },
    ),
    row('`request_timeout` (408), `headers_too_large` (431): said before a request exists.', {
      'api/errors-http': [
        'is 408 when its headers take too long',
        'is 431 when the headers are too large',
      ],
    }),
    row('`invalid_scope`, `invalid_expiry`, `key_state_conflict`: acts on keys.', {
      'api/errors-validation': [
        'of a key is kept: unknown members are refused, nothing is dropped or guessed',
      ],
      'api/keys': [
        '400: a scope or expiry beyond the plan',
        'rotate → revoke → restore, each answer and each entry of the audit log',
      ],
    }),
    row('`recalculation_pending`, `not_degraded`: acts on receipts.', {
      'api/recalculation': [
        '202 flags a degraded receipt, and 409 while that is pending',
        '409 for a receipt that is not degraded',
      ],
    }),
    row('`proof_not_ready`: not in a signed checkpoint yet.', {
      'stores/ledger/reader': ['are not there before a checkpoint covers the receipt'],
      'pipeline/main-job': [
        'can be read again as its exact bytes, is in the ledger within ten seconds, and the ledger is clean',
      ],
    }),
    row(
      '`export_not_ready`, `export_failed`, `export_expired`, `concurrent_exports_exceeded`, `range_not_satisfiable`: evidence packs.',
      {
        'api/exports': ['429 when too many are under way'],
        'api/export-downloads': [
          '409 before it is ready, 409 when it failed, 410 when it expired',
          '416 beyond the end, the whole for several ranges or another file',
        ],
      },
    ),
  ],
};

export const ERRORS_SECTION: Section = {
  title: 'Errors',
  about: 'The envelope, its types and the advice to retry.',
  rows: [
    row(
      'Every failing path has `error.code`, `error.type`, `error.message` and `error.param`: unknown routes, bad JSON, framework and HTTP errors too.',
      {
        'api/errors-http': [
          'that leads nowhere is 404 with the envelope, key or no key: %s',
          'is 400 with the envelope, and the connection is closed: %s',
        ],
        'api/fuzz': [
          '${REQUESTS} requests of every kind get a proper answer, none a 5xx',
          '${CONNECTIONS} connections with anything on them are answered or closed',
        ],
      },
    ),
    row('`auth_error`: 401 or 403, not to be retried.', {
      'pipeline/error-contract': ['auth errors'],
      'clients/openai': [
        'none for a permanent condition: 400, 401, 403, 404, and a 503 that says so',
      ],
    }),
    row('`validation_error`: 400, not to be retried; `param` names the parameter.', {
      'api/errors-validation': ['is kept on %s: 400 invalid_<param>, and param names it'],
    }),
    row('`rate_limit_error`: 429 with `Retry-After`; nothing is throttled silently.', {
      'pipeline/error-contract': ['rate-limit errors, each with its Retry-After'],
    }),
    row('`inference_error`: 502, to be retried.', {
      'clients/openai': ['one after a 502, and then the answer'],
    }),
    row('`region_unavailable`: 503, to be retried or not by its code.', {
      'pipeline/error-contract': ['upstream, region and methodology errors'],
    }),
    row('`policy_error`: 403, not to be retried.', {
      'pipeline/error-contract': ['policy errors name the support address'],
    }),
    row('`methodology_error`: 500, to be retried.', {
      'pipeline/error-contract': ['upstream, region and methodology errors'],
    }),
    row('`internal_error`: 500, to be retried.', {
      'faults/redis-away': [
        'that swallows every packet makes requests fail within a second, and nothing needs a restart',
      ],
    }),
    row(
      'A methodology failure does not cost the caller the completion: the receipt is degraded and explains itself.',
      {
        'pipeline/main-job': [
          'is degraded, signed and says why when the model’s size is not known',
        ],
        'pipeline/recalculation': [
          'answers all the same, with a degraded receipt that says what happens next',
        ],
      },
    ),
    row('Messages never quote a prompt or tell internals.', {
      'unit/api/openai/refusals': ['never quote what the client sent'],
      'unit/api/openai/parse-json': ['never repeats the body in the message'],
    }),
    row('What operations can answer, and nothing else, is in the description of the API.', {
      'api/openapi': ['has every scope and every code', 'holds for requests made from it'],
    }),
  ],
};
