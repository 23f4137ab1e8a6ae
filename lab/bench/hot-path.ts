import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ReaderHere } from '#api/inference/body-reader.ts';
import { routed } from '#api/inference/route.ts';
import { withReceipt } from '#api/inference/answer.ts';
import { newId, randomBytesFromPool } from '#shared/kernel/system/new-id.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { loadCatalogue, DEFAULT_CATALOGUE } from '#shared/catalogue/files/load.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { hashKey } from '#shared/keys/format.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { laneKeyId, Seals } from '#shared/lanes/seals.ts';
import { decodeMessage, encodeMessage } from '#shared/lanes/wire-format.ts';
import { loadScreen } from '#shared/screening/files/load.ts';
import { upstreamBody } from '#workers/inference/bodies.ts';
import { readNumbers } from './support/arguments.ts';

/**
 * The cost of each step of a request by itself, in microseconds of processor time, for a prompt of 1 KB and an answer of half of it:
 * npm run bench hot-path [rounds]. The steps take turns, so that what else happens on the machine happens to all of them.
 */
const { rounds } = readNumbers('hot-path [rounds]', { rounds: 20_000 });
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
  allowedRegions: null,
  allowedModels: null,
  keepResponses: false,
  tags: [],
  budgets: [],
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
  new URL('../../test/vectors/receipt/receipt.json', import.meta.url),
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
  mediaUrls: 'any' as const,
  newSalt: () => Buffer.from(randomBytesFromPool(16)).toString('base64url'),
  processId: 'api-bench',
  shards: 1,
  screen,
  tokens,
};
const reader = new ReaderHere(deps);
const request = {
  id: newId('req'),
  route: 'chat.completions',
  rawBody,
  headers: {},
  credential,
  now: Date.now(),
} as const;
const routeNow = () => routed(deps, reader.read(request), credential);
const chosen = routeNow();
const entry = encodeMessage(chosen.entry, text);

const bytes = randomBytes(32);
const laneKey = { id: laneKeyId(bytes), bytes };
const seals = new Seals(() => ({ sealing: laneKey, all: [laneKey] }), randomBytes(16));
const sealed = seals.seal(text, 'bench');

const steps: Record<string, () => unknown> = {
  'hash a key': () => hashKey('dkt_0d5wzh1uVxZN66qt1H9Wisuwer51Qe1O2t9Nuu'),
  'make an id': () => newId('req'),
  'parse, validate, route, digest': routeNow,
  'screen 1 KB': () => reader.readPrompt(chosen.resolution.model),
  'encode the lane entry': () => encodeMessage(chosen.entry, text),
  'decode the lane entry': () => decodeMessage(entry),
  'seal 1 KB': () => seals.seal(text, 'bench'),
  'open 1 KB': () => seals.open(sealed, 'bench'),
  'seal and open prompt and answer': () => {
    seals.open(seals.seal(text, 'bench'), 'bench');
    return seals.open(seals.seal(answer, 'bench'), 'bench');
  },
  'body for the upstream': () =>
    upstreamBody(
      text,
      'chat.completions',
      { endpoint: {}, model: 'meta-llama/Llama-3.1-8B-Instruct' },
      false,
    ),
  'parse the answer': () => JSON.parse(answer) as unknown,
  'join answer and receipt': () => withReceipt(answer, receipt),
};
const TURNS = 20;
const samples = new Map(Object.keys(steps).map((name): [string, number[]] => [name, []]));
// The first turn is for the compiler.
for (let turn = 0; turn <= TURNS; turn += 1) {
  for (const [name, step] of Object.entries(steps)) {
    const before = process.cpuUsage();
    for (let i = 0; i < rounds / TURNS; i += 1) step();
    const { user, system } = process.cpuUsage(before);
    if (turn > 0) samples.get(name)!.push(((user + system) * TURNS) / rounds);
  }
}
for (const [name, ofStep] of samples) {
  const median = ofStep.toSorted((a, b) => a - b)[TURNS / 2]!;
  process.stdout.write(`${name.padEnd(34)}${median.toFixed(2).padStart(8)} µs\n`);
}
