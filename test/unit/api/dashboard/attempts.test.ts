import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { AttemptCounter } from '#api/dashboard/session/attempts.ts';

const RATE = { burst: 2, intervalMs: 30_000 };

it('attempts of one name are counted one after the other, those of another meanwhile; once one is refused the others ask nothing [dashboard.brute-force]', async () => {
  let now = 0;
  const asked: string[] = [];
  const answers: ((waitMs: number) => void)[] = [];
  const counter = new AttemptCounter(
    (name) => {
      asked.push(name);
      return new Promise((answer) => answers.push(answer));
    },
    () => now,
  );
  const flood = Array.from({ length: 20 }, () => counter.take('flood', RATE));
  const honest = counter.take('honest', RATE);
  expect(asked).toEqual(['flood', 'honest']);
  answers[1]!(0);
  expect(await honest).toBe(0);
  answers[0]!(0);
  await turn();
  answers[2]!(30_000);
  expect(await Promise.all(flood)).toEqual([0, ...Array<number>(19).fill(30_000)]);
  expect(asked).toEqual(['flood', 'honest', 'flood']);
  now = 29_000;
  expect(await counter.take('flood', RATE)).toBe(1_000);
  now = 30_000;
  void counter.take('flood', RATE);
  expect(asked).toHaveLength(4);
});
