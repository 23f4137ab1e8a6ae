import { describe, expect, it } from 'vitest';
import { encodeUlid } from '#shared/kernel/ids.ts';
import { ClaimWindow } from '#workers/ledger/claim-window.ts';

const NOON = Date.UTC(2026, 10, 1, 12);
const idAt = (ms: number): string => `rcpt_${encodeUlid(ms, new Uint8Array(10).fill(7))}`;

function windowAt() {
  const clock = { ms: 0 };
  return { clock, window: new ClaimWindow(() => clock.ms) };
}

describe('where the ledger worker looks for promises', () => {
  it('the ledger worker looks at all promises until it has found one', () => {
    const { window } = windowAt();
    expect(window.next()).toBe('');
    window.found(undefined);
    expect(window.next()).toBe('');
  });

  it('after a find the worker looks at the end of the index, and a little before it', () => {
    const { window } = windowAt();
    window.next();
    window.found(idAt(NOON));
    const from = window.next();
    expect(from > idAt(NOON - 2_001)).toBe(true);
    expect(from <= idAt(NOON - 2_000)).toBe(true);
  });

  it('at least every two seconds the worker looks at all promises, so that none is forgotten', () => {
    const { clock, window } = windowAt();
    window.next();
    window.found(idAt(NOON));
    clock.ms = 1_999;
    expect(window.next()).not.toBe('');
    clock.ms = 2_000;
    expect(window.next()).toBe('');
    expect(window.next()).not.toBe('');
  });

  it('an id of the future does not keep the worker from the next find', () => {
    const { window } = windowAt();
    window.next();
    window.found(idAt(NOON + 86_400_000));
    expect(window.next() > idAt(NOON)).toBe(true);
    window.found(idAt(NOON));
    expect(window.next() <= idAt(NOON)).toBe(true);
  });

  it('the worker does not follow what is not a receipt id', () => {
    const { window } = windowAt();
    window.next();
    window.found('rcpt_of_a_test');
    expect(window.next()).toBe('');
  });
});
