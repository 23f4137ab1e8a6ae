import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { readPrompt } from '#api/inference/guard.ts';
import { prepare, read } from '#api/inference/prepare.ts';
import { withReceipt } from '#api/inference/answer.ts';
import { newId, randomBytesFromPool } from '#shared/kernel/system/new-id.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { loadCatalogue, DEFAULT_CATALOGUE } from '#shared/catalogue/files/load.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { hashKey } from '#shared/keys/format.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { decodeMessage, encodeMessage } from '#shared/lanes/wire-format.ts';
import { loadScreen } from '#shared/screening/files/load.ts';
import { upstreamBody } from '#workers/inference/bodies.ts';

/** The cost of each step of a request by itself, in microseconds, for a prompt of 1 KB: npm run bench hot-path [rounds] */
const rounds = Number(process.argv[2] ?? 20_000);
const { catalogue } = loadCatalogue(DEFAULT_CATALOGUE, {
  variable: (name) => (name === 'SANDBOX_URL' ? 'http://127.0.0.1:1/v1' : undefined),
  timeoutMs: 120_000,
});
const index = indexCatalogue(catalogue);
const screen = loadScreen();
const tokens = createTokenCounter();
const credential: Credential = {
  keyId: 'key_1',
  orgId: 'org_1',
  keyState: 'active',
  expiresAt: null,
  scopes: ['inference:write'],
  plan: 'enterprise',
  accountState: 'active',
  limits: PLAN_LIMITS.enterprise,
  keyLimit: null,
};
const text = JSON.stringify({
  model: 'llama-3.1-8b',
  messages: [
    {
      role: 'user',
      content: 'Explain what a signed receipt proves and what it does not. '.repeat(17),
    },
  ],
});
const rawBody = Buffer.from(text);
const receipt = readFileSync(
  new URL('../test/vectors/receipt/receipt.json', import.meta.url),
  'utf8',
);
const answer = JSON.stringify({
  id: 'x',
  choices: [{ message: { content: 'y'.repeat(400) } }],
  usage: {},
});

const deps = {
  index: () => index,
  health: () => ({ states: new Map(), openCircuits: new Set<string>() }),
  newSalt: () => Buffer.from(randomBytesFromPool(16)).toString('base64url'),
  processId: 'api-bench',
  shards: 1,
};
const request = { id: newId('req'), rawBody, headers: {}, credential, now: Date.now() };
const prepareNow = () => prepare(deps, read(deps, 'chat.completions', request), credential);
const prepared = prepareNow();
const entry = encodeMessage(prepared.entry, prepared.body);

const steps: Record<string, () => unknown> = {
  'hash a key': () => hashKey('dkt_0d5wzh1uVxZN66qt1H9Wisuwer51Qe1O2t9Nuu'),
  'make an id': () => newId('req'),
  'parse, validate, route, digest': prepareNow,
  'screen 1 KB': () => readPrompt({ screen, tokens } as never, prepared),
  'encode the lane entry': () => encodeMessage(prepared.entry, prepared.body),
  'decode the lane entry': () => decodeMessage(entry),
  'body for the upstream': () =>
    upstreamBody(prepared.body, 'chat.completions', 'meta-llama/Llama-3.1-8B-Instruct', false),
  'parse the answer': () => JSON.parse(answer) as unknown,
  'join answer and receipt': () => withReceipt(answer, receipt),
};
for (const [name, step] of Object.entries(steps)) {
  for (let i = 0; i < rounds / 4; i += 1) step();
  const samples: number[] = [];
  for (let batch = 0; batch < 20; batch += 1) {
    const start = performance.now();
    for (let i = 0; i < rounds / 20; i += 1) step();
    samples.push(((performance.now() - start) * 1_000) / (rounds / 20));
  }
  const median = samples.toSorted((a, b) => a - b)[10]!;
  process.stdout.write(`${name.padEnd(34)}${median.toFixed(2).padStart(8)} µs\n`);
}
