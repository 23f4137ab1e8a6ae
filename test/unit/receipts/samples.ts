import { generateKeyPairSync, hash } from 'node:crypto';
import fc from 'fast-check';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { didDocument } from '#shared/receipts/signing/publication.ts';
import { jwkThumbprint } from '#shared/receipts/signing/identifiers.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';
import type { SigningKey } from '#shared/receipts/signing/files/key-files.ts';
import {
  FAILURES,
  type InferenceRecord,
  type Outcome,
  type Usage,
  USAGE_REASONS,
} from '#shared/kernel/inference.ts';
import {
  type CarriedRecord,
  DATA_QUALITIES,
  type Measurement,
  type MeasurementInput,
  type Quantity,
} from '#shared/methodology/measurement.ts';
import { digestOf as digestOfRecord } from '#shared/kernel/canonical-json.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import type { ReceiptInput, Revision } from '#shared/receipts/build.ts';
import { CODE, FOREIGN_ID, NAME, REGION } from '#shared/receipts/fields.ts';
import { REVISION_REASONS } from '#shared/receipts/format-1.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { anyCharacter } from '#test/support/any-character.ts';

/** Parsed JSON that a test edits or looks into at will. */
export type Loose = ReturnType<typeof JSON.parse>;

export const PUBLIC_URL = 'https://gateway.example';
export const issuer = receiptIssuer(PUBLIC_URL);
/** 2026-11-20T09:38:06.007Z */
export const SIGNED_AT = Date.UTC(2026, 10, 20, 9, 38, 6, 7);

export const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/** A record whose tokens are known. */
type CountedRecord = InferenceRecord & { usage: Usage };

export const record: CountedRecord = {
  requestId: 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  orgId: 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
  keyId: 'key_01JD0A8N5K3M7Q2T9VXB4C6DEG',
  route: 'chat.completions',
  model: 'llama-3.1-8b',
  region: 'eu-west',
  upstreamAnswerId: 'chatcmpl-9f2c41d07be84e63',
  queuedMs: 12,
  upstreamMs: 1_870,
  tier: 'audit_plus',
  startedAt: SIGNED_AT - 1_900,
  endedAt: SIGNED_AT - 12,
  usage: { inputTokens: 1_204, cachedInputTokens: 1_024, outputTokens: 356, source: 'upstream' },
  attempts: 1,
  salt: Buffer.alloc(16, 7).toString('base64url'),
  requestDigest: digestOf('request'),
  responseDigest: digestOf('response'),
  outcome: 'complete',
};

/** An input whose record the receipt carries. */
function carried(
  kind: MeasurementInput['kind'],
  id: string,
  content: CarriedRecord,
): MeasurementInput {
  return { kind, id, digest: digestOfRecord(content), record: content };
}

const bounds = (value: number) => ({ value, lower: value / 2.1, upper: value * 2.1 });

export const measurement: Measurement = {
  methodology: { id: 'docket-1', version: '1.0.0', digest: digestOf('methodology') },
  inputs: [
    carried('usage', 'usage', {
      attempts: 1,
      cached_input_tokens: 1_024,
      input_tokens: 1_204,
      output_tokens: 356,
      route: 'chat.completions',
      upstream_s: '1.87',
      usage_source: 'upstream',
    }),
    { kind: 'hardware', id: 'H100_SXM', digest: digestOf('hardware') },
    { kind: 'model', id: 'llama-3.1-8b', digest: digestOf('model') },
    { kind: 'grid', id: 'FRA', digest: digestOf('grid') },
    carried('site', 'example', { declared_by: 'catalogue', operator: 'example', pue: '1.12' }),
    carried('hardware', 'replica', {
      batch: '64',
      batch_basis: 'assumed',
      gpus: 1,
      gpus_basis: 'catalogue',
      precision: 'bf16',
      precision_basis: 'model_record',
    }),
  ],
  results: [
    { name: 'energy', unit: 'kWh', ...bounds(0.000308123456789) },
    { name: 'gwp', unit: 'kgCO2e', ...bounds(0.0000173921) },
    { name: 'water', unit: 'L', ...bounds(0.00114) },
    { name: 'adpe', unit: 'kgSbe', ...bounds(2.27301e-11) },
    { name: 'adpf', unit: 'MJ', ...bounds(0.00329104) },
  ],
  dataQuality: 'T2',
};

export const revision: Revision & { newReceiptId: string } = {
  newReceiptId: 'rcpt_01JD5A0C2E4G6J8M0P2R4T6V8X',
  receiptId: 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  digest: digestOf('revised'),
  leafIndex: 41,
  number: 1,
  reason: 'methodology_failed',
  note: 'Our auditor asked for it.',
};

/** A refused request: nothing ran, so there is no answer to digest. */
function refusedRecord(): InferenceRecord {
  const { responseDigest: _, ...rest } = record;
  return {
    ...rest,
    outcome: 'refused',
    policy: { version: '2026-11-01', rule: 'dual-use/nuclear' },
  };
}

/** A failed request: upstreams were called, and nothing of what they used is known. */
function failedRecord(): InferenceRecord {
  const { responseDigest: _, upstreamAnswerId: _id, ...rest } = record;
  return {
    ...rest,
    attempts: 3,
    usage: { source: 'unknown', reason: 'not_counted' },
    outcome: 'failed',
    failure: 'upstream_timeout',
  };
}

/** One input of each kind of receipt. */
export const INPUTS: Readonly<Record<string, ReceiptInput>> = {
  full: {
    issuer,
    record: { ...record, upstreamModel: 'meta-llama/Llama-3.1-8B-Instruct' },
    estimate: { measurement },
    signedAt: SIGNED_AT,
    gridZone: 'FRA',
  },
  audit: {
    issuer,
    record: { ...record, tier: 'audit' },
    estimate: { measurement },
    signedAt: SIGNED_AT,
  },
  degraded: {
    issuer,
    record,
    estimate: { degradation: { stage: 'model', code: 'model_size_unknown' } },
    signedAt: SIGNED_AT,
  },
  measured: {
    issuer,
    record: { ...record, usage: { ...record.usage, statedJoules: 81.25 } },
    estimate: { measurement },
    signedAt: SIGNED_AT,
  },
  partial: {
    issuer,
    record: { ...record, outcome: 'partial', relayedPayloads: 7, relayedTokens: 5 },
    estimate: { measurement },
    signedAt: SIGNED_AT,
  },
  truncated: {
    issuer,
    record: { ...record, outcome: 'truncated' },
    estimate: { measurement },
    signedAt: SIGNED_AT,
  },
  counted: {
    issuer,
    record: {
      ...record,
      usage: {
        ...record.usage,
        source: 'counted',
        tokenizer: 'o200k_base',
        extrapolated: true,
        tokenInterval: { inputLower: 900, inputUpper: 1_500, outputLower: 300, outputUpper: 420 },
      },
    },
    estimate: { measurement },
    signedAt: SIGNED_AT,
  },
  unknown: {
    issuer,
    record: {
      ...record,
      outcome: 'partial',
      usage: { source: 'unknown', reason: 'caller_left', inputTokens: 31, tokenizer: 'o200k_base' },
    },
    estimate: { degradation: { stage: 'input', code: 'usage_unknown' } },
    signedAt: SIGNED_AT,
  },
  hourly: {
    issuer,
    record,
    estimate: {
      measurement: {
        ...measurement,
        inputs: [
          ...measurement.inputs,
          carried('grid', 'FRA@2026-11-20T09:00:00Z', {
            hour: '2026-11-20T09:00:00Z',
            zone: 'FRA',
          }),
        ],
      },
    },
    signedAt: SIGNED_AT,
  },
  'by an alias': {
    issuer,
    record: { ...record, requestedModel: 'gpt-4o-mini' },
    estimate: { measurement },
    signedAt: SIGNED_AT,
  },
  'going on': {
    issuer,
    record: { ...record, route: 'responses', previous: 'resp_01M7W53ZF4Z6X0T8WB5N2K9MVB' },
    estimate: { measurement },
    signedAt: SIGNED_AT,
  },
  failed: { issuer, record: failedRecord(), signedAt: SIGNED_AT },
  refused: { issuer, record: refusedRecord(), signedAt: SIGNED_AT },
  revised: { issuer, record, estimate: { measurement }, signedAt: SIGNED_AT, revision },
};

/** A key, a signer with it, and the did.json that publishes it. */
export function newIssuer(publicUrl: string = PUBLIC_URL) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const publicKey = rawPublicKey(privateKey);
  const key: SigningKey = {
    purpose: 'receipts',
    state: 'active',
    thumbprint: jwkThumbprint(publicKey),
    publicKey,
    privateKeyPem,
  };
  const signer = createReceiptSigner({ privateKeyPem, did: receiptIssuer(publicUrl).did });
  return { key, privateKey, signer, did: didDocument([key], publicUrl) };
}

const anyName = fc.stringMatching(new RegExp(NAME.pattern));

/** Any text a YAML catalogue can hold, lone surrogates excepted. */
const anyText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
const anyDigest = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));
const anySalt = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'));
const anyUlid = fc.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
const anyTime = fc.integer({ min: 0, max: 253_402_300_799_999 });
const anyCount = fc.oneof(fc.nat(10_000), fc.maxSafeNat());

const anyUsage: fc.Arbitrary<InferenceRecord['usage']> = fc.oneof(
  fc
    .record(
      {
        inputTokens: anyCount,
        cachedInputTokens: anyCount,
        outputTokens: anyCount,
        source: fc.constant('upstream' as const),
        // What upstreams state is taken between these, and nothing beyond is energy.
        statedJoules: fc.oneof(
          fc.double({ min: 1e-30, max: 1e30, noNaN: true }),
          fc.constantFrom(0, -1, NaN, Infinity),
        ),
      },
      { requiredKeys: ['inputTokens', 'cachedInputTokens', 'outputTokens', 'source'] },
    )
    .map((usage) => ({
      ...usage,
      cachedInputTokens: usage.cachedInputTokens % (usage.inputTokens + 1),
    })),
  fc
    .tuple(anyCount, anyCount, anyCount, anyName, fc.nat(9))
    .map(([inputTokens, cachedInputTokens, outputTokens, tokenizer, more]) => ({
      inputTokens,
      cachedInputTokens: Math.min(cachedInputTokens, inputTokens),
      outputTokens,
      source: 'counted' as const,
      tokenizer,
      ...(more % 3 === 0 ? { overruled: true as const } : {}),
      ...(more > 6
        ? {}
        : {
            ...(more % 2 === 0 ? {} : { extrapolated: true as const }),
            tokenInterval: {
              inputLower: Math.max(0, inputTokens - more),
              inputUpper: inputTokens,
              outputLower: 0,
              outputUpper: outputTokens,
            },
          }),
    })),
);

const anyRecord = fc.record<InferenceRecord>({
  requestId: anyUlid.map((ulid) => `req_${ulid}`),
  orgId: anyUlid.map((ulid) => `org_${ulid}`),
  keyId: anyUlid.map((ulid) => `key_${ulid}`),
  route: fc.constantFrom('chat.completions', 'completions', 'embeddings'),
  model: anyName,
  region: fc.stringMatching(new RegExp(REGION.pattern)),
  tier: fc.constantFrom(...PLANS),
  startedAt: anyTime,
  endedAt: anyTime,
  usage: anyUsage,
  attempts: fc.integer({ min: 1, max: 20 }),
  salt: anySalt,
  requestDigest: anyDigest,
  responseDigest: anyDigest,
  outcome: fc.constantFrom<Outcome>('complete', 'partial', 'truncated'),
  requestedModel: anyUlid.map((name) => `alias-${name}`),
  upstreamModel: fc.string({ unit: anyCharacter, maxLength: 1_200 }),
  upstreamAnswerId: fc.stringMatching(new RegExp(FOREIGN_ID.pattern)),
  queuedMs: anyCount,
  upstreamMs: anyCount,
  relayedPayloads: anyCount,
  relayedTokens: anyCount,
  previous: anyUlid.map((ulid) => `resp_${ulid}`),
});

const UNITS = { energy: 'kWh', gwp: 'kgCO2e', water: 'L', adpe: 'kgSbe', adpf: 'MJ' } as const;
const anyMagnitude = fc.oneof(fc.constant(0), fc.double({ min: 1e-20, max: 1e12, noNaN: true }));
const anyQuantity = (name: keyof typeof UNITS) =>
  fc.tuple(anyMagnitude, anyMagnitude, anyMagnitude).map((three): Quantity => {
    const [lower, value, upper] = three.toSorted((a, b) => a - b) as [number, number, number];
    return { name, unit: UNITS[name], lower, value, upper };
  });

const anyKind = fc.constantFrom('model', 'grid', 'site', 'hardware');

/** In canonical order, as methodologies write them. */
const anyCarriedRecord: fc.Arbitrary<CarriedRecord> = fc
  .dictionary(
    fc.stringMatching(/^[a-z][a-z0-9_]{0,20}$/),
    fc.oneof(
      anyText,
      fc.maxSafeInteger().map((whole) => whole + 0),
    ),
    { minKeys: 1, maxKeys: 8 },
  )
  .map((fields) =>
    Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  );

const anyMeasurement: fc.Arbitrary<Measurement> = fc.record({
  methodology: fc.record({
    id: fc.stringMatching(/^[a-z0-9.-]{1,20}$/),
    version: fc.stringMatching(/^[a-z0-9.-]{1,20}$/),
    digest: anyDigest,
  }),
  inputs: fc
    .tuple(
      anyCarriedRecord.map((content) => carried('usage', 'usage', content)),
      fc.array(
        fc.oneof(
          fc.record({ kind: anyKind, id: anyText, digest: anyDigest }),
          fc
            .tuple(fc.constantFrom('model', 'site', 'hardware'), anyText, anyCarriedRecord)
            .map((input) => carried(...input)),
        ),
        { minLength: 1, maxLength: 8 },
      ),
      fc.option(anyCarriedRecord.map((content) => carried('grid', 'FRA@hour', content))),
    )
    .map(([usage, others, hour]) => [usage, ...others, ...(hour === null ? [] : [hour])]),
  results: fc.tuple(...(Object.keys(UNITS) as (keyof typeof UNITS)[]).map(anyQuantity)),
  dataQuality: fc.constantFrom(...DATA_QUALITIES),
});

const anyRevision = fc.record({
  newReceiptId: anyUlid.map((ulid) => `rcpt_${ulid}`),
  receiptId: anyUlid.map((ulid) => `rcpt_${ulid}`),
  digest: anyDigest,
  leafIndex: fc.maxSafeNat(),
  number: fc.integer({ min: 1, max: 1_000 }),
  reason: fc.constantFrom(...REVISION_REASONS),
  note: anyText,
});

/** Any receipt that can be asked for. */
export const anyInput: fc.Arbitrary<ReceiptInput> = fc
  .record(
    {
      issuer: fc.constant(issuer),
      record: anyRecord,
      estimate: fc.oneof(
        fc.record({ measurement: anyMeasurement }),
        fc.record({
          degradation: fc.record({
            stage: fc.constantFrom('model', 'factors', 'computation', 'input', 'timeout'),
            code: fc.stringMatching(new RegExp(CODE.pattern)),
          }),
        }),
      ),
      signedAt: anyTime,
      gridZone: anyName,
      revision: anyRevision,
      ended: fc.constantFrom('answered', 'failed', 'refused'),
      failure: fc.constantFrom(...FAILURES),
      unknown: fc
        .tuple(
          fc.constantFrom(...USAGE_REASONS),
          fc.constantFrom({}, { inputTokens: 31, tokenizer: 'o200k_base' }),
        )
        .map(([reason, prompt]) => ({ source: 'unknown' as const, reason, ...prompt })),
    },
    { requiredKeys: ['issuer', 'record', 'estimate', 'signedAt', 'ended', 'failure'] },
  )
  .map(({ ended, failure, estimate, unknown, revision: revised, ...input }) => {
    const { record: asked } = input;
    // What the worker may have noted of an answer stands on no receipt of a request that came to none.
    if (ended === 'failed')
      return {
        ...input,
        record: { ...asked, outcome: 'failed', failure },
      };
    if (ended === 'refused') {
      const policy = { version: '2026-11-01', rule: 'a' };
      return { ...input, record: { ...asked, outcome: 'refused', policy } };
    }
    const answered = revised === undefined ? input : { ...input, revision: revised };
    if (unknown === undefined) return { ...answered, estimate };
    const degradation = { stage: 'input' as const, code: 'usage_unknown' };
    return { ...answered, record: { ...asked, usage: unknown }, estimate: { degradation } };
  });
