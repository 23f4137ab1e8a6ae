import { describe, expect, it } from 'vitest';
import { keepReceipt, receiptOf } from '#client/receipt-of.ts';

const receipt = { tier: 'audit', id: 'https://gateway.example/receipts/rcpt_1' };
const pending = { tier: 'pending', type: ['PendingReceipt'] };

async function* parts(ended: string[] = []): AsyncGenerator<object> {
  try {
    yield { choices: [] };
    yield { choices: [], receipt };
    yield { choices: [] };
  } finally {
    ended.push('ended');
  }
}

describe('receiptOf', () => {
  it('finds the receipt of an answer, and the announcement of a late one', () => {
    expect(receiptOf({ object: 'chat.completion', receipt })).toBe(receipt);
    expect(receiptOf({ receipt: pending })).toBe(pending);
  });

  it.each([undefined, null, 'text', 7, [], {}, { receipt: null }, { receipt: 'late' }])(
    'finds none in %j',
    (part) => {
      expect(receiptOf(part)).toBeUndefined();
    },
  );
});

describe('keepReceipt', () => {
  it('hands every part on, and has the receipt from the part that carried it', async () => {
    const stream = keepReceipt(parts());
    const seen: unknown[] = [];
    for await (const part of stream) seen.push([part, stream.receipt]);
    expect(seen).toEqual([
      [{ choices: [] }, undefined],
      [{ choices: [], receipt }, receipt],
      [{ choices: [] }, receipt],
    ]);
  });

  it('ends the stream when the loop is left', async () => {
    const ended: string[] = [];
    const stream = keepReceipt(parts(ended));
    for await (const part of stream) {
      expect(part).toBeDefined();
      break;
    }
    expect(ended).toEqual(['ended']);
    expect(stream.receipt).toBeUndefined();
  });

  it('hands on the error of a stream that breaks off', async () => {
    async function* broken(): AsyncGenerator<object> {
      yield {};
      throw new Error('broke off');
    }
    const read = async (): Promise<void> => {
      for await (const part of keepReceipt(broken())) void part;
    };
    await expect(read()).rejects.toThrow('broke off');
  });
});
