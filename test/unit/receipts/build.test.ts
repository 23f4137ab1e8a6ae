import canonicalize from 'canonicalize';
import { canonicalize as otherCanonicalize } from 'json-canonicalize';
import { describe, expect, it } from 'vitest';
import { buildReceipt } from '#shared/receipts/build.ts';
import { isPendingReceipt, pendingReceipt } from '#shared/receipts/pending.ts';
import { orderedJson, canonicalJson } from '#shared/kernel/canonical-json.ts';
import { derivationOf, parseDerivation, wholeMeasurement } from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { forAll } from '#test/support/for-all.ts';
import { anyInput, INPUTS, issuer, measurement, newIssuer, record, revision } from './samples.ts';

const full = INPUTS['full']!;

describe('a receipt is written in canonical form by construction', () => {
  it('JSON.stringify of any built document equals two independent JCS libraries', () => {
    forAll([anyInput], (input) => {
      const document = buildReceipt(input);
      const text = orderedJson(document);
      expect(text).toBe(canonicalize(document));
      expect(text).toBe(otherCanonicalize(document));
      expect(text).toBe(canonicalJson(JSON.parse(text)));
    });
  });

  it('so are the signed bytes, which read back as a receipt', () => {
    const { signer } = newIssuer();
    forAll([anyInput], (input) => {
      const text = signer.sign(buildReceipt(input));
      expect(text).toBe(canonicalize(JSON.parse(text)));
      expect(text).toBe(otherCanonicalize(JSON.parse(text)));
      expect(parseReceipt(Buffer.from(text)).canonical).toBe(text);
    });
  });

  it.each(['model', 'region'] as const)(
    'half a surrogate pair in %s is refused, not escaped',
    (field) => {
      const { signer } = newIssuer();
      const document = buildReceipt({ ...full, record: { ...record, [field]: 'a\ud800b' } });
      expect(() => signer.sign(document)).toThrow(
        expect.objectContaining({ code: 'lone_surrogate' }),
      );
    },
  );

  it('a backslash before ud is no surrogate', () => {
    const { signer } = newIssuer();
    const document = buildReceipt({ ...full, record: { ...record, model: 'a\\ud800' } });
    expect(JSON.parse(signer.sign(document)).credentialSubject.model).toBe('a\\ud800');
  });

  it('a full receipt stays within 3.2 kB', () => {
    expect(Buffer.byteLength(newIssuer().signer.sign(buildReceipt(full)))).toBeLessThanOrEqual(
      3_200,
    );
  });

  it('more than 65,535 bytes are refused', () => {
    const document = buildReceipt({ ...full, record: { ...record, model: 'm'.repeat(65_000) } });
    expect(() => newIssuer().signer.sign(document)).toThrow(
      expect.objectContaining({ code: 'too_large' }),
    );
  });
});

describe('what stands on each kind of receipt', () => {
  it('full: the inference, the measurement and the promise of inclusion', () => {
    const document = buildReceipt(full);
    expect(document).toMatchObject({
      id: 'https://gateway.example/receipts/rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
      type: ['VerifiableCredential', 'InferenceReceipt'],
      issuer: 'did:web:gateway.example',
      validFrom: '2026-11-20T09:38:06.007Z',
      tier: 'audit_plus',
      inclusionPromise: {
        log: `gateway.example/log/${record.orgId}`,
        maximumMergeDelay: 'PT10S',
      },
      credentialSubject: {
        type: ['Activity', 'Inference'],
        organisation: `https://gateway.example/organisations/${record.orgId}`,
        model: 'llama-3.1-8b',
        modelVersion: 'meta-llama/Llama-3.1-8B-Instruct',
        route: 'chat.completions',
        region: 'eu-west',
        gridZone: 'FRA',
        startedAt: '2026-11-20T09:38:04.107Z',
        endedAt: '2026-11-20T09:38:05.995Z',
        inputTokens: 1_204,
        cachedInputTokens: 1_024,
        outputTokens: 356,
        usageSource: 'upstream',
        attempts: 1,
        outcome: 'complete',
      },
      measurement: {
        type: ['Activity', 'Measurement'],
        dataQuality: 'T2',
        qualifiedAssociation: {
          agent: 'did:web:gateway.example',
          hadPlan: 'https://gateway.example/methodologies/docket-1/1.0.0',
          type: 'Association',
        },
        wasInformedBy: `https://gateway.example/requests/${record.requestId}`,
      },
    });
    expect(document.measurement?.used.map(({ type, name }) => [type, name])).toEqual([
      ['UsageRecord', 'usage'],
    ]);
    const { digest } = derivationOf(issuer, measurement);
    expect(document.measurement?.derivation).toBe(`https://gateway.example/derivations/${digest}`);
    expect(document.measurement?.result[0]).toEqual({
      quantityKind: 'energy',
      type: 'QuantityValue',
      unit: 'kWh',
      lower: '0.000146725455614',
      value: '0.000308123456789',
      upper: '0.000647059259257',
    });
  });

  it('audit: no promise of inclusion', () => {
    expect(buildReceipt(INPUTS['audit']!).inclusionPromise).toBeUndefined();
  });

  it('degraded: no measurement, the stage and code, a sentence for a person [receipts.degraded]', () => {
    const document = buildReceipt(INPUTS['degraded']!);
    expect(document).toMatchObject({
      tier: 'degraded',
      degradation: { stage: 'model', code: 'model_size_unknown', requestedTier: 'audit_plus' },
    });
    expect(document.explanation).toMatch(/will be recalculated/);
    expect(document.measurement).toBeUndefined();
    expect(document.credentialSubject.outputTokens).toBe(356);
  });

  it('refused: no tokens and no measurement, the policy instead', () => {
    const document = buildReceipt(INPUTS['refused']!);
    expect(document.tier).toBe('audit_plus');
    expect(document.credentialSubject.policy).toEqual({ version: '2026-11-01' });
    for (const absent of [
      'inputTokens',
      'outputTokens',
      'cachedInputTokens',
      'usageSource',
      'attempts',
      'responseDigest',
    ]) {
      expect(document.credentialSubject).not.toHaveProperty(absent);
    }
    expect(document.measurement).toBeUndefined();
    expect(document.degradation).toBeUndefined();
  });

  it('failed: the calls and why, and neither tokens, an answer nor a measurement', () => {
    const { credentialSubject, ...document } = buildReceipt(INPUTS['failed']!);
    expect(credentialSubject).toEqual({
      attempts: 3,
      endedAt: '2026-11-20T09:38:05.995Z',
      failure: 'upstream_timeout',
      id: 'https://gateway.example/requests/req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
      model: 'llama-3.1-8b',
      organisation: 'https://gateway.example/organisations/org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
      outcome: 'failed',
      region: 'eu-west',
      requestDigest: credentialSubject.requestDigest,
      route: 'chat.completions',
      salt: credentialSubject.salt,
      startedAt: '2026-11-20T09:38:04.107Z',
      type: ['Activity', 'Inference'],
    });
    expect(document.tier).toBe('audit_plus');
    for (const absent of ['measurement', 'degradation', 'explanation'])
      expect(document).not.toHaveProperty(absent);
  });

  it.each(['partial', 'truncated'])('%s: a measurement of what was spent', (outcome) => {
    const document = buildReceipt(INPUTS[outcome]!);
    expect(document.credentialSubject.outcome).toBe(outcome);
    expect(document.measurement).toBeDefined();
  });

  it('revised: its own id, and the exact receipt it revises', () => {
    expect(buildReceipt(INPUTS['revised']!)).toMatchObject({
      id: `https://gateway.example/receipts/${revision.newReceiptId}`,
      type: ['VerifiableCredential', 'InferenceReceipt', 'RecalculatedReceipt'],
      revisionNumber: 1,
      revisionReason: revision.reason,
      wasRevisionOf: {
        id: `https://gateway.example/receipts/${revision.receiptId}`,
        leafIndex: 41,
      },
    });
  });

  it('revised: a note of which nothing would show is left off, also where only its end would', () => {
    const noteOf = (note: string): string | undefined =>
      buildReceipt({ ...INPUTS['revised']!, revision: { ...revision, note } }).revisionNote;
    expect(noteOf('\u{2800}'.repeat(500))).toBeUndefined();
    expect(noteOf(`${'\u{2800}'.repeat(500)}its end`)).toBeUndefined();
    expect(noteOf(`${'\u{2800}'.repeat(490)}its end`)).toMatch(/its end$/);
  });

  it('the announcement of a receipt has the id that the receipt will have, and is no credential', () => {
    const pending = pendingReceipt(issuer, record.requestId);
    expect(pending).toMatchObject({ id: buildReceipt(full).id, tier: 'pending' });
    expect(pending.type).toEqual(['PendingReceipt']);
    expect(isPendingReceipt(JSON.stringify(pending))).toBe(true);
    expect(isPendingReceipt(JSON.stringify(buildReceipt(full)))).toBe(false);
  });

  it('names by its derivation record what is the same for every request, with the records that no factor set holds', () => {
    const stated = buildReceipt(full).measurement!;
    const { digest, text } = derivationOf(issuer, measurement);
    const { used } = wholeMeasurement(stated, () => parseDerivation(text, digest));
    expect(
      used.map(({ name, record: carriedRecord }) => [name, carriedRecord !== undefined]),
    ).toEqual([
      ['usage', true],
      ['H100_SXM', false],
      ['llama-3.1-8b', false],
      ['FRA', false],
      ['example', true],
      ['replica', true],
    ]);
  });

  it.each([
    [0, '0'],
    [81.25, '81.25'],
    [1e-7, '0.0000001'],
    [-1, undefined],
    [Number.NaN, undefined],
    [Infinity, undefined],
  ])('measured joules of %d are stated as %s', (joules, text) => {
    const usage = { ...record.usage, statedJoules: joules };
    const { credentialSubject } = buildReceipt({ ...full, record: { ...record, usage } });
    expect(credentialSubject.statedJoules).toBe(text);
  });

  it('zero tokens are zero, not absent', () => {
    const usage = { ...record.usage, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
    const { credentialSubject } = buildReceipt({ ...full, record: { ...record, usage } });
    expect(credentialSubject).toMatchObject({
      inputTokens: 0,
      cachedInputTokens: 0,
      outputTokens: 0,
    });
  });

  it('a model name that an upstream made up does not cost the receipt', () => {
    const { signer } = newIssuer();
    const { credentialSubject } = buildReceipt({
      ...full,
      record: { ...record, upstreamModel: `\udc00${'x'.repeat(100_000)}` },
    });
    expect(credentialSubject.modelVersion).toHaveLength(1_024);
    const broken = { ...full, record: { ...record, upstreamModel: '\ud800' } };
    expect(signer.sign(buildReceipt(broken))).toContain('\ufffd');
  });
});
