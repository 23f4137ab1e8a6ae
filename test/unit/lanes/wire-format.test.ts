import { describe, expect, it } from 'vitest';
import {
  type InferenceEntry,
  KNOWN,
  type ReceiptEntry,
  type Reserve,
  unknownInOutcome,
  unknownInRequest,
} from '#shared/lanes/messages.ts';
import { receiptEntryOf } from '#shared/lanes/receipt-entry.ts';
import {
  decodeInferenceEntry,
  encodeInferenceEntry,
  decodeMessage,
  decodeReceiptEntry,
  encodeMessage,
} from '#shared/lanes/wire-format.ts';
import { inferenceRecord } from '#test/support/issuing.ts';
import { admissionRequest } from '#test/support/lanes.ts';
import { testSeals } from '#test/support/seals.ts';

const { entry } = admissionRequest({ receipt: 'required' });
const handed: ReceiptEntry = {
  record: inferenceRecord(),
  inbox: 'api-test',
  attempt: 1,
  receipt: 'best_effort',
};

describe('a message', () => {
  it('a message brings head and payload as they were, newlines in both included', () => {
    const text = encodeMessage({ ...entry, model: 'two\nlines' }, '{\n"a": 1}\n\n');
    expect(decodeMessage<InferenceEntry>(text)).toEqual({
      head: { ...entry, model: 'two\nlines' },
      payload: '{\n"a": 1}\n\n',
    });
  });

  it('a message without a payload is its head alone', () => {
    expect(encodeMessage({ kind: 'cancel', id: 'req_1' })).toBe('{"kind":"cancel","id":"req_1"}');
    expect(decodeMessage('{"kind":"cancel","id":"req_1"}').payload).toBe('');
  });
});

describe('a part of a budget', () => {
  it('a worker knows which measures it can settle, says so to others, and takes none of another', () => {
    const part = { budget: 'bgt_a', since: 0, measure: 'money', amount: 7 } as const;
    const later = { ...part, measure: 'water' } as unknown as Reserve;
    expect(unknownInRequest({ ...entry, reserves: [part] })).toBeUndefined();
    expect(unknownInRequest({ ...entry, reserves: [part, later] })).toBe('reserves.measure=water');
    expect(unknownInOutcome({ ...handed, reserves: [part] })).toBeUndefined();
    expect(unknownInOutcome({ ...handed, reserves: [later] })).toBe('reserves.measure=water');
    expect(KNOWN.request).toContain('reserves.measure=money');
    expect(KNOWN.outcome).toContain('reserves.measure=energy');
  });
});

describe('a lane entry', () => {
  it('a lane entry is read as it was written', () => {
    const { text } = encodeInferenceEntry(testSeals(), entry, '{}');
    const { head, sealed, place } = decodeInferenceEntry(text);
    expect([head, testSeals().open(sealed!, place)]).toEqual([entry, '{}']);
    expect(decodeReceiptEntry(encodeMessage(handed))).toEqual(handed);
  });

  it('a lane entry that is no JSON, or no object, is refused', () => {
    for (const text of ['', '{', 'null', 'x\n{}']) {
      expect(() => decodeInferenceEntry(text)).toThrow();
      expect(() => decodeReceiptEntry(text)).toThrow();
    }
    expect(() => decodeReceiptEntry('{}')).toThrow();
  });
});

describe('what the receipts lane is told', () => {
  const usage = {
    inputTokens: 1,
    cachedInputTokens: 0,
    outputTokens: 2,
    source: 'counted',
  } as const;

  it('the receipts lane is told what was asked for and what became of it', () => {
    const told = receiptEntryOf(entry, 2, {
      outcome: 'complete',
      endedAt: entry.startedAt + 5,
      usage,
      calls: 3,
      responseDigest: 'd',
      upstreamModel: 'm@upstream',
    });
    expect(told).toEqual({
      record: {
        requestId: entry.id,
        orgId: entry.orgId,
        keyId: entry.keyId,
        route: entry.route,
        model: entry.model,
        upstreamModel: 'm@upstream',
        region: entry.region,
        tier: entry.tier,
        startedAt: entry.startedAt,
        endedAt: entry.startedAt + 5,
        usage,
        attempts: 3,
        salt: entry.salt,
        requestDigest: entry.requestDigest,
        responseDigest: 'd',
        outcome: 'complete',
      },
      inbox: entry.inbox,
      attempt: 2,
      receipt: 'required',
    });
  });

  it('the receipts lane is not told what is not known', () => {
    const { record } = receiptEntryOf(entry, 1, {
      outcome: 'truncated',
      endedAt: 1,
      usage,
      calls: 1,
    });
    expect(Object.keys(record)).not.toContain('responseDigest');
    expect(Object.keys(record)).not.toContain('upstreamModel');
    expect(Object.keys(record)).not.toContain('policy');
  });
});
