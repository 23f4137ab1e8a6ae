import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { UnreadAnswers } from '#api/inference/unread-answers.ts';

const MIB = 1_048_576;

class ResponseDouble extends EventEmitter {
  destroyed = false;
  timeout: { ms: number; fire: () => void } | undefined;

  setTimeout(ms: number, fire: () => void): this {
    this.timeout = { ms, fire };
    return this;
  }

  destroy(): this {
    this.destroyed = true;
    this.emit('close');
    return this;
  }
}

function open() {
  const unread = new UnreadAnswers();
  const add = (orgId: string, mib: number): ResponseDouble => {
    const response = new ResponseDouble();
    unread.add(orgId, mib * MIB, response as never);
    return response;
  };
  return { unread, add };
}

it(
  'an organisation that reads none of its large answers loses the oldest, and another keeps its own',
  { tags: ['limits.answers'] },
  () => {
    const { unread, add } = open();
    const other = add('b', 20);
    const unreadOnes = Array.from({ length: 40 }, () => add('a', 20));
    expect(unreadOnes.map(({ destroyed }) => destroyed)).toEqual([
      ...Array.from({ length: 24 }, () => true),
      ...Array.from({ length: 16 }, () => false),
    ]);
    expect(other.destroyed).toBe(false);
    expect(unread.chars).toBe(17 * 20 * MIB);
  },
);

it('over the bound of all, the organisation with the most unread gives way', () => {
  const { add } = open();
  const most = Array.from({ length: 3 }, () => add('a', 100));
  const others = ['b', 'c', 'd'].map((org) => add(org, 120));
  expect(most.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  expect(others.every(({ destroyed }) => !destroyed)).toBe(true);
});

it('an answer that is larger than the bound by itself is sent, and one that was read counts no more', () => {
  const { unread, add } = open();
  const giant = add('a', 1_000);
  expect(giant.destroyed).toBe(false);
  giant.emit('close');
  expect(unread.chars).toBe(0);
  expect(add('a', 0.1).timeout).toBeUndefined();
});

it('a reader that takes nothing of a large answer for a minute is let go', () => {
  const { unread, add } = open();
  const response = add('a', 1);
  expect(response.timeout?.ms).toBe(60_000);
  response.timeout!.fire();
  expect(response.destroyed).toBe(true);
  expect(unread.chars).toBe(0);
});
