import { row, type Section } from './section.ts';

const CHAT = 'of a chat request is kept: %s';
const SAMPLERS = 'is kept on %s: 400 invalid_<param>, and param names it';
const validated = (fields: string) => row(fields, { 'api/errors-validation': [SAMPLERS] });

export const OPERATIONS_SECTION: Section = {
  title: 'Operations',
  about: 'What the service does, through a standard client.',
  rows: [
    row('A standard client works when its base address and key are changed.', {
      'pipeline/main-job': [
        'gets a chat completion with a signed receipt that is already committed',
      ],
      'clients/ai-sdk': ['generates text; the receipt is in the provider’s metadata'],
      'clients/langchain': ['invokes a chat model; the receipt is in the raw answer'],
    }),
    row('Chat completions, completions and embeddings, each with a receipt.', {
      'pipeline/main-job': [
        'gets legacy completions and embeddings with receipts',
        'gets a stream whose last chunk with a finish reason carries the receipt',
      ],
    }),
    row('Listing models and querying one.', {
      'pipeline/main-job': ['lists models and reads one back'],
      'clients/openai': ['models have id, object, created and owned_by, and ids may hold slashes'],
    }),
    row('Fetching receipts, and listing ledger entries.', {
      'pipeline/main-job': [
        'can be read again as its exact bytes, is in the ledger within ten seconds, and the ledger is clean',
      ],
      'api/ledger': [
        '200: lists newest first, with what the contract names',
        '200: pages lead through the whole log, in either order, once each',
      ],
    }),
    row('Fetching the methodology lineage of a receipt.', {
      'api/lineage': ['200 with linked data for the tier %s'],
    }),
    row('Bulk export as a JSON-LD evidence pack.', {
      'api/export-downloads': ['gives the pack, named, with its digest, and it verifies'],
      'api/exports': ['takes a range by time of integration'],
    }),
    row('Issuing and revoking keys.', {
      'api/keys': [
        '201: shows the key once, working at once, and never again',
        'rotate → revoke → restore, each answer and each entry of the audit log',
      ],
    }),
    row('The version is in the path, `/v1`.', {
      'api/errors-http': ['that leads nowhere is 404 with the envelope, key or no key: %s'],
    }),
    row('Requests are screened; blocked ones get a `policy_error` and a `refused` receipt.', {
      'pipeline/second-screening': [
        'judges what the rules let through, and its refusals are receipted like theirs',
      ],
      'unit/screening/default-pack': [
        'lets every harmless text pass',
        'lets no harmful text pass in disguise: %s',
      ],
    }),
    row('A pinned request never leaves its region.', {
      'pipeline/regions': ['never leaves its region, under retry, failover or error'],
      'unit/catalogue/any-request': [
        'never leaves its pinned region, and only goes where it is healthy',
      ],
    }),
    row('A tier may be asked for, at most that of the plan.', {
      'unit/catalogue/resolve': ['may be lower than the plan', 'that is %s is invalid_tier'],
    }),
  ],
};

export const RECEIPTS_SECTION: Section = {
  title: 'Receipts',
  about: 'What comes with every answer.',
  rows: [
    row('It is signed, and committed before it is sent.', {
      'pipeline/main-job': [
        'gets a chat completion with a signed receipt that is already committed',
      ],
    }),
    row('`tier` is `degraded` when the methodology failed, with an `explanation`.', {
      'pipeline/main-job': ['is degraded, signed and says why when the model’s size is not known'],
      'unit/receipts/build': [
        'degraded: no measurement, the stage and code, a sentence for a person',
      ],
    }),
    row('A degraded receipt is recalculated, and the original never changes.', {
      'pipeline/recalculation': [
        'is recalculated by itself once the catalogue is mended and reloaded',
        'has both receipts in the ledger with proofs, and nothing is wrong with it',
      ],
    }),
    row('Its digests can be recomputed from request and answer.', {
      'pipeline/main-job': [
        'states digests that anybody can recompute from the request and the answer',
        'states the digest of a stream’s payloads as they were sent',
      ],
    }),
    row('It verifies without our code.', {
      'pipeline/third-party': [
        'verifies with a Verifiable Credentials library, offline',
        'does not verify once a number is changed',
      ],
    }),
    row('It is in the organisation’s ledger within ten seconds, with a proof.', {
      'workers/ledger/ledger': [
        'integrates and signs within the merge delay, in any number, and stops when told to',
      ],
    }),
  ],
};

export const IDEMPOTENCY_SECTION: Section = {
  title: 'Idempotency',
  about: 'Chat completions, completions and embeddings; streams too.',
  rows: [
    row('An identical request within 24 hours gets the stored answer and the same receipt.', {
      'clients/openai': [
        'is by the header that callers set: a dropped connection leaves one upstream call and one receipt',
      ],
      'pipeline/idempotency': [
        'are one upstream call, one receipt, one ledger entry, and a hundred equal answers',
        'is kept for 24 hours',
      ],
    }),
    row('A repetition still gets the first receipt after a recalculation.', {
      'pipeline/recalculation': ['still answers an idempotent repetition with the first receipt'],
    }),
    row('It costs no daily budget and makes no ledger entry.', {
      'stores/lanes/admission': [
        'is replayed once settled, without daily budget, and tells everyone who waited',
      ],
    }),
    row('Keys are scoped by organisation and route.', {
      'pipeline/idempotency': [
        'is one’s own: another organisation and another route may use the same key',
      ],
    }),
    row('The answer survives the api process, and the client that left.', {
      'pipeline/idempotency': [
        'whose api process is killed is finished by the pipeline and kept for its retry',
        'is not cancelled by its client leaving: the retry finds the answer',
      ],
    }),
    row('Refusals and inference errors are not kept.', {
      'pipeline/idempotency': [
        'is an inference error: the key is free, and the retry runs',
        'is a refusal: of validation, of screening',
      ],
    }),
  ],
};

export const REQUESTS_SECTION: Section = {
  title: 'What is validated',
  about: 'Each rule answers 400 with `invalid_<param>`; fields that are not named pass through.',
  rows: [
    row('`model`: known, for this account, in this region, of this kind.', {
      'api/errors-validation': [CHAT],
    }),
    row('`messages`: not empty; role, content and parts of each.', {
      'api/errors-validation': [CHAT],
      'unit/api/openai/validate-chat': [
        'accepts a conversation with every role, part and legacy shape',
      ],
    }),
    validated('`temperature` 0..2 and `top_p` 0..1.'),
    validated('`n` 1..8, and `max_tokens` from 1.'),
    validated('`presence_penalty` and `frequency_penalty` -2..2, `seed` an integer.'),
    validated('`stop`: a string or at most four; `logit_bias`; `user` up to 512 characters.'),
    validated('`top_k`, `min_p`, `repetition_penalty`.'),
    validated('`stream`, and our own `region`, `tier`, `receipt`.'),
    row('`max_completion_tokens`, `logprobs`, `top_logprobs` 0..20, `stream_options`.', {
      'api/errors-validation': [CHAT],
    }),
    row('`tools`, `tool_choice`, `response_format`.', { 'api/errors-validation': [CHAT] }),
    row('More choices than the model gives is 400, not one answer.', {
      'unit/catalogue/resolve': [
        'that gives fewer choices than asked for is invalid_n, not one answer',
      ],
    }),
    row('`input`, `encoding_format`, `dimensions` of embeddings.', {
      'api/errors-validation': ['of an embeddings request is kept: %s'],
    }),
    row('Other fields pass through untouched.', {
      'unit/api/openai/validate-chat': ['passes unknown fields through untouched'],
    }),
    row('Any JSON value is either taken or refused, never an accident.', {
      'unit/api/openai/validate-fuzz': [
        'answers any JSON value with the same value or with a validation_error',
        'has a reason exactly when the compiled validator refuses',
      ],
    }),
  ],
};
