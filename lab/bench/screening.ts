import { performance } from 'node:perf_hooks';
import { loadScreen } from '#shared/screening/files/load.ts';
import { readNumbers } from './support/arguments.ts';

/*
 * Prints how long screening takes for texts of 10 KB, the size that the budget of 200 µs is for. The texts differ in
 * what they cost: plain prose, prose full of terms that lead nowhere, source code (marks start further readings),
 * digits, other alphabets, emoji, and letters that stand apart.
 */
const UNITS = 10_240;
const ROUNDS = 400;
readNumbers('screening', {});

const TEXTS: Readonly<Record<string, string>> = {
  'plain prose':
    'The committee met on Tuesday to review the plans for the new library. After a long talk it agreed that ' +
    'the reading room should face the garden, and that the old oak in front of it must stay where it is. ',
  'prose with terms':
    'Help me write a short guide to making bread, and explain how to build a simple oven; I want to create a ' +
    'game about people who develop a village, sell honey, and use what they find in the forest to make tools. ',
  'source code':
    'export function sum(items: readonly number[]): number {\n  let total = 0;\n  for (const item of items) ' +
    '{ total += item["value"] ?? 0x1f; }\n  return total; // see docs/sum.md#L12\n}\n',
  digits:
    '1024 3.14159 2025-11-20T09:32:22Z 192.168.10.14 +1-555-0100 $12,345.67 8f14e45fceea167a5a36dedd4bea2543 ',
  cyrillic:
    'Комитет собрался во вторник, чтобы обсудить планы новой библиотеки. Решение приняли единогласно. ',
  chinese: '委员会星期二开会讨论新图书馆的计划。经过长时间的讨论,大家一致同意阅览室应该面向花园。',
  emoji: 'So happy 🎉🎉 see you soon 👩‍👩‍👧‍👦 at the beach 🏖️ with everyone ❤️ ',
  'letters apart': 't h e  c o m m i t t e e  m e t  o n  t u e s d a y ',
};

const started = performance.now();
const screen = loadScreen();
console.log(
  `pack ${screen.policyVersion} read, compiled and proved in ${(performance.now() - started).toFixed(0)} ms`,
);
console.log(
  'text of 10 KB'.padEnd(20),
  'p50 µs'.padStart(8),
  'p99 µs'.padStart(8),
  'steps/char'.padStart(11),
);
for (const [name, sample] of Object.entries(TEXTS)) {
  const text = sample.repeat(Math.ceil(UNITS / sample.length)).slice(0, UNITS);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS * 2; round += 1) {
    // A fresh string each round, as requests bring them; the first half of the rounds warms the compiler up.
    const fresh = Buffer.from(text).toString();
    const begun = performance.now();
    const verdict = screen.check([fresh]);
    if (round >= ROUNDS) times.push((performance.now() - begun) * 1_000);
    if (verdict !== null) throw new Error(`"${name}" is blocked by ${verdict.rule}`);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): string =>
    times[Math.floor(times.length * share)]!.toFixed(1).padStart(8);
  const perUnit = (screen.lastSteps / UNITS).toFixed(2).padStart(11);
  console.log(name.padEnd(20), at(0.5), at(0.99), perUnit);
}
