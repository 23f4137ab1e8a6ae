import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildReceipt } from '#shared/receipts/build.ts';
import { answerIn, locateReceipt } from '#shared/receipts/locate.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';
import { INPUTS, newIssuer, type Loose } from './samples.ts';

const { signer } = newIssuer();
const text = signer.sign(buildReceipt(INPUTS['full']!));
const codeOf = (read: () => unknown): string => thrownBy(MalformedData, read)?.code ?? 'read';

describe('hostile input never does more than be refused', () => {
  it('any bytes', () => {
    forAll([fc.uint8Array({ maxLength: 400 })], (bytes) => void codeOf(() => parseReceipt(bytes)));
  });

  it('any JSON', () => {
    forAll([fc.json()], (json) => {
      expect(codeOf(() => parseReceipt(json))).not.toBe('read');
    });
  });

  it('a receipt in which a piece was replaced', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom('"', '\\', '{', '}', ',', ':', 'null', '1e9'),
    );
    forAll([fc.nat(text.length), fc.nat(40), piece], (at, cut, put) => {
      codeOf(() => parseReceipt(text.slice(0, at) + put + text.slice(at + cut)));
    });
  });

  it('megabytes', () => {
    expect(codeOf(() => parseReceipt(`"${'a'.repeat(10_000_000)}"`))).toBe('too_large');
    expect(codeOf(() => parseReceipt(new Uint8Array(10_000_000)))).toBe('too_large');
  });

  it('bytes that are not UTF-8', () => {
    expect(codeOf(() => parseReceipt(Uint8Array.of(0x22, 0xff, 0x22)))).toBe('not_utf8');
    expect(codeOf(() => parseReceipt(Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d)))).toBe(
      'not_json',
    );
  });
});

describe('a receipt reads back', () => {
  it.each(Object.keys(INPUTS))('%s, also when it was printed for people', (kind) => {
    const signed = signer.sign(buildReceipt(INPUTS[kind]!));
    const document = JSON.parse(signed);
    expect(parseReceipt(signed)).toEqual({ document, canonical: signed });
    expect(parseReceipt(JSON.stringify(document, null, 2)).canonical).toBe(signed);
  });
});

describe('a document that is no receipt is refused with its place', () => {
  const edited = (edit: (document: Loose) => void): (() => unknown) => {
    const document = JSON.parse(text);
    edit(document);
    return () => parseReceipt(JSON.stringify(document));
  };
  it.each<[string, string, (document: Loose) => void]>([
    ['missing_field', 'issuer', (d) => delete d.issuer],
    ['missing_field', 'credentialSubject.model', (d) => delete d.credentialSubject.model],
    ['unknown_field', 'footnote', (d) => (d.footnote = 'x')],
    ['unknown_field', 'measurement.result[0].note', (d) => (d.measurement.result[0].note = 'x')],
    ['unknown_field', 'constructor', (d) => (d.constructor = 'x')],
    ['unknown_field', 'proof.created', (d) => (d.proof.created = d.validFrom)],
    ['wrong_value', 'tier', (d) => (d.tier = 'gold')],
    ['wrong_value', 'type', (d) => (d.type = ['VerifiableCredential'])],
    ['wrong_value', 'type', (d) => d.type.push('Other')],
    ['wrong_value', 'credentialSubject', (d) => (d.credentialSubject = [])],
    [
      'wrong_value',
      'credentialSubject.inputTokens',
      (d) => (d.credentialSubject.inputTokens = '12'),
    ],
    [
      'wrong_value',
      'credentialSubject.outputTokens',
      (d) => (d.credentialSubject.outputTokens = -1),
    ],
    ['wrong_value', 'credentialSubject.salt', (d) => (d.credentialSubject.salt = 'uAAAA')],
    ['wrong_value', 'measurement.result[0].value', (d) => (d.measurement.result[0].value = '1e-4')],
    ['wrong_value', 'measurement.result[0].value', (d) => (d.measurement.result[0].value = '-1')],
    ['wrong_value', 'measurement.result', (d) => (d.measurement.result = [])],
    ['unknown_field', 'measurement.used[0].digest', (d) => (d.measurement.used[0].digest = 'zQm')],
    ['contradiction', 'measurement.used', (d) => (d.measurement.used[0].type = 'GridFactor')],
    [
      'contradiction',
      'measurement.derivation',
      (d) => (d.measurement.derivation = 'https://gateway.example/derivations/x'),
    ],
    [
      'contradiction',
      'measurement.wasInformedBy',
      (d) => (d.measurement.wasInformedBy = 'https://gateway.example/requests/req_1'),
    ],
    [
      'contradiction',
      'measurement.qualifiedAssociation.agent',
      (d) => (d.measurement.qualifiedAssociation.agent = 'did:web:attacker.example'),
    ],
    ['wrong_value', 'measurement.used[0].record', (d) => (d.measurement.used[0].record = [])],
    ['wrong_value', 'measurement.used[0].record', (d) => (d.measurement.used[0].record = {})],
    ['wrong_value', 'measurement.used[0].record.a', (d) => (d.measurement.used[0].record.a = {})],
    ['wrong_value', 'measurement.used[0].record.A', (d) => (d.measurement.used[0].record.A = 1)],
    [
      'contradiction',
      'credentialSubject.cachedInputTokens',
      (d) => (d.credentialSubject.usageSource = 'unknown'),
    ],
    [
      'contradiction',
      'credentialSubject.usageReason',
      (d) => (d.credentialSubject.usageReason = 'not_counted'),
    ],
    [
      'contradiction',
      'credentialSubject.tokenizer',
      (d) => (d.credentialSubject.tokenizer = 'o200k_base'),
    ],
    ['missing_field', 'measurement.software', (d) => delete d.measurement.software],
    ['wrong_value', 'id', (d) => (d.id = 'receipts/1')],
    ['wrong_value', 'validFrom', (d) => (d.validFrom = '2026-11-20T09:38:06+01:00')],
    [
      'wrong_value',
      'credentialSubject.model',
      (d) => (d.credentialSubject.model = 'm'.repeat(2_000)),
    ],
    [
      'contradiction',
      'measurement.result',
      (d) => (d.measurement.result[1] = d.measurement.result[0]),
    ],
    ['contradiction', 'measurement.result', (d) => (d.measurement.result[0].unit = 'MJ')],
    ['contradiction', 'measurement', (d) => delete d.measurement],
    ['contradiction', 'degradation', (d) => (d.tier = 'degraded')],
    ['contradiction', 'explanation', (d) => (d.explanation = 'x')],
    [
      'contradiction',
      'credentialSubject.outputTokens',
      (d) => delete d.credentialSubject.outputTokens,
    ],
    ['missing_field', 'credentialSubject.salt', (d) => delete d.credentialSubject.salt],
    ['contradiction', 'measurement', (d) => (d.credentialSubject.outcome = 'refused')],
    ['contradiction', 'revisionNumber', (d) => (d.revisionNumber = 1)],
    ['contradiction', 'revisionNumber', (d) => d.type.push('RecalculatedReceipt')],
  ])('%s at %s', (code, path, edit) => {
    expect(edited(edit)).toThrow(expect.objectContaining({ name: 'MalformedData', code, path }));
  });
});

describe('a receipt of a request that came to no answer states none', () => {
  const signedText = (kind: 'failed' | 'refused'): string =>
    newIssuer().signer.sign(buildReceipt(INPUTS[kind]!));
  const full: Loose = JSON.parse(text);
  it.each<[string, 'failed' | 'refused', string, (document: Loose) => void]>([
    ['an estimate', 'failed', 'measurement', (d) => (d.measurement = full.measurement)],
    ['tokens', 'refused', 'inputTokens', (d) => (d.credentialSubject.inputTokens = 0)],
    ['tokens', 'failed', 'outputTokens', (d) => (d.credentialSubject.outputTokens = 5)],
    ['tokens', 'failed', 'usageSource', (d) => (d.credentialSubject.usageSource = 'counted')],
    ['an answer', 'failed', 'answerId', (d) => (d.credentialSubject.answerId = 'chatcmpl-1')],
    ['energy', 'refused', 'statedJoules', (d) => (d.credentialSubject.statedJoules = '1')],
    [
      'an answer',
      'failed',
      'responseDigest',
      (d) => (d.credentialSubject.responseDigest = full.credentialSubject.responseDigest),
    ],
    ['a part of one', 'failed', 'relayedTokens', (d) => (d.credentialSubject.relayedTokens = 0)],
    ['an answer', 'refused', 'upstreamMs', (d) => (d.credentialSubject.upstreamMs = 7)],
    ['no reason', 'failed', 'failure', (d) => delete d.credentialSubject.failure],
    ['no calls', 'failed', 'attempts', (d) => delete d.credentialSubject.attempts],
    [
      'a policy',
      'failed',
      'policy',
      (d) => (d.credentialSubject.policy = { version: '2026-11-01' }),
    ],
    ['another outcome', 'failed', 'attempts', (d) => (d.credentialSubject.outcome = 'refused')],
    ['another outcome', 'failed', 'measurement', (d) => (d.credentialSubject.outcome = 'complete')],
    ['another outcome', 'refused', 'attempts', (d) => (d.credentialSubject.outcome = 'failed')],
    ['calls', 'refused', 'attempts', (d) => (d.credentialSubject.attempts = 1)],
    [
      'an answer',
      'refused',
      'responseDigest',
      (d) => (d.credentialSubject.responseDigest = full.credentialSubject.responseDigest),
    ],
    [
      'an estimate that is owed',
      'failed',
      'degradation',
      (d) => {
        d.tier = 'degraded';
        d.explanation = 'x';
        d.degradation = { code: 'x', requestedTier: 'audit', stage: 'model' };
      },
    ],
  ])('%s of one that was %s (%s)', (_what, kind, field, edit) => {
    const signed: Loose = JSON.parse(signedText(kind));
    expect(parseReceipt(JSON.stringify(signed)).document.credentialSubject.outcome).toBe(kind);
    edit(signed);
    const ofSubject = field !== 'measurement' && field !== 'degradation';
    expect(() => parseReceipt(JSON.stringify(signed))).toThrow(
      expect.objectContaining({
        code: 'contradiction',
        path: ofSubject ? `credentialSubject.${field}` : field,
      }),
    );
  });
});

describe('a receipt of a request that failed', () => {
  it('may state what is known of its calls, and of its prompt with the vocabulary that counted it', () => {
    const signed: Loose = JSON.parse(newIssuer().signer.sign(buildReceipt(INPUTS['failed']!)));
    const known = { queuedMs: 3, statedJoules: '12.5', upstreamMs: 40 };
    const prompt = { inputTokens: 21, tokenizer: 'o200k_base' };
    Object.assign(signed.credentialSubject, known, prompt);
    expect(parseReceipt(JSON.stringify(signed)).document.credentialSubject).toMatchObject(known);
    delete signed.credentialSubject.tokenizer;
    expect(() => parseReceipt(JSON.stringify(signed))).toThrow('tokenizer');
  });
});

describe('a receipt is found in what callers save', () => {
  const answer = `{"id":"chatcmpl-1","choices":[{"logprobs":null,"p":0.5}],"receipt":${text}}`;
  it.each([
    ['the receipt itself', text],
    ['an answer', answer],
    ['an answer with white space', ` ${answer.replace('"receipt":', '"receipt" :\n')}\n`],
    ['a stream', `: keepalive\n\ndata: {"choices":[]}\n\ndata: ${answer}\n\ndata: [DONE]\n\n`],
    [
      'a stream with other line ends',
      `data: {"choices":[]}\r\n\r\ndata: ${answer}\r\n\r\ndata: [DONE]\r\n`,
    ],
  ])('%s', (_, saved) => {
    expect(locateReceipt(saved).receipt).toBe(text);
  });

  it('two receipts are none', () => {
    expect(codeOf(() => locateReceipt(`{"receipt":${text},"receipt":${text}}`))).toBe(
      'duplicate_key',
    );
    expect(codeOf(() => locateReceipt(`data: ${answer}\n\ndata: ${answer}\n\n`))).toBe(
      'duplicate_key',
    );
  });

  it('a stream without one says so', () => {
    expect(codeOf(() => locateReceipt('data: {"choices":[]}\n\n'))).toBe('missing_field');
  });

  it('the payloads of a stream are the same with any line ends, and with as many empty lines between', () => {
    const line = fc.string().map((any) => any.replaceAll(/[\r\n]/g, ''));
    const payload = fc
      .array(line, { minLength: 1 })
      .filter((lines) => lines.join('').trim() !== '');
    const end = fc.constantFrom('\n', '\r\n', '\r');
    forAll([fc.array(fc.tuple(payload, end, fc.integer({ min: 1, max: 9 })))], (events) => {
      const texts = events.map(
        ([lines, ending, empty]) =>
          lines.map((one) => `data: ${one}${ending}`).join('') + ending.repeat(empty),
      );
      const { pieces } = answerIn(`: begin\n\n${texts.join('')}data: [DONE]`);
      const sent = events.map(([lines]) => lines.join('\n'));
      expect(pieces).toEqual(sent.filter((one) => one.trim() !== '[DONE]'));
    });
  });

  it('anything else is left to the parser', () => {
    forAll([fc.string()], (any) => void codeOf(() => parseReceipt(locateReceipt(any).receipt)));
  });
});
