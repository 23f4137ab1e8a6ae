import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createCircuitBoard } from '#shared/catalogue/redis/circuits.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import type { Report } from '#cli/doctor/examine.ts';
import { createSandbox } from '#embedded/sandbox/server.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { NativeUpstream } from '#test/support/native-upstream.ts';
import { startTestRedis } from '#test/support/redis.ts';

const SECRET = 'sk-that-nobody-may-read';
const servers: Server[] = [];
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'docket-probe-'));
});
afterAll(async () => {
  for (const server of servers) server.closeAllConnections();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  await rm(directory, { recursive: true });
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Habits {
  models?: string[];
  usageInStreams?: boolean;
  /** What it does with a prompt of more bytes than this. */
  longBytes?: number;
  tooLong?: { status: number; body: object };
  countsAtMost?: number;
  refusesMaxTokens?: boolean;
  /** What it says to the role `developer`. */
  developerSays?: { status: number; body: object };
  /** What it does with what a model thought: DeepSeek thinks aloud and demands it back, others took it for a mistake. */
  thought?: 'demanded' | 'answered' | 'refused';
}

/** As DeepSeek says it. */
const THOUGHT_SAYS = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
const usageOf = (tokens: number) => ({
  prompt_tokens: tokens,
  completion_tokens: 1,
  total_tokens: tokens + 1,
});

/** A server that speaks OpenAI's protocol under /v1, with habits that real ones have. Wants a credential. */
function modelServer(habits: Habits = {}): Promise<string> {
  const {
    models = ['m'],
    usageInStreams = true,
    longBytes = 1_500,
    tooLong,
    countsAtMost = 1e6,
  } = habits;
  const json = (response: ServerResponse, status: number, body: object): void =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(body));
  const answer = (request: IncomingMessage, response: ServerResponse, text: string): void => {
    if (!request.url?.startsWith('/v1/')) return json(response, 404, { detail: 'Not Found' });
    const key = request.headers.authorization?.slice(7);
    if (key !== SECRET)
      return json(response, 401, { error: { message: `Incorrect API key provided: ${key}` } });
    if (request.url === '/v1/models')
      return json(response, 200, { data: models.map((id) => ({ id })) });
    const body = JSON.parse(text) as { stream?: boolean; model: string; max_tokens?: number };
    if (habits.refusesMaxTokens === true && body.max_tokens !== undefined) {
      const message = "Use 'max_completion_tokens' instead.";
      return json(response, 400, {
        error: { message, param: 'max_tokens', code: 'unsupported_parameter' },
      });
    }
    if (!models.includes(body.model) && !models.includes('any'))
      return json(response, 404, {
        error: { message: `The model \`${body.model}\` does not exist.` },
      });
    if (text.includes('"developer"') && habits.developerSays !== undefined)
      return json(response, habits.developerSays.status, habits.developerSays.body);
    const isBack = text.includes('"reasoning_content"');
    if (
      (habits.thought === 'demanded' && text.includes('"tool_calls"') && !isBack) ||
      (habits.thought === 'refused' && isBack)
    )
      return json(response, 400, {
        error: { message: THOUGHT_SAYS, type: 'invalid_request_error' },
      });
    if (text.length > longBytes && tooLong !== undefined)
      return json(response, tooLong.status, tooLong.body);
    const thoughts = habits.thought === 'answered' ? { reasoning_content: 'Hm.' } : {};
    const usage = usageOf(Math.min(countsAtMost, Math.ceil(text.length / 2)));
    if (body.stream !== true)
      return json(response, 200, {
        choices: [{ index: 0, message: { ...thoughts, content: 'a' }, finish_reason: 'length' }],
        usage,
      });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frames: object[] = [
      { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'length' }] },
      ...(usageInStreams ? [{ choices: [], usage }] : []),
    ];
    for (const frame of frames) response.write(`data: ${JSON.stringify(frame)}\n\n`);
    return void response.end('data: [DONE]\n\n');
  };
  return listen(
    createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      request.on('end', () => answer(request, response, text));
    }),
  );
}

interface Written {
  address: string;
  path?: string;
  model?: string;
  adapter?: string;
  key?: string;
  responses?: boolean;
  messages?: boolean;
  developerRole?: boolean;
  reasoningContent?: boolean;
}

/** A catalogue with an endpoint for each of these, all for one model with a window of 1,000 tokens. */
async function catalogueOf(endpoints: Record<string, Written>): Promise<string> {
  const rows = Object.entries(endpoints);
  const text = `
version: 1
regions: [{ code: eu, zone: FRA }]
endpoints:
${rows
  .map(
    ([
      name,
      {
        address,
        path = '/v1',
        adapter = 'openai-compatible',
        key = 'KEY',
        responses,
        messages,
        developerRole,
        reasoningContent,
      },
    ]) =>
      `  - { name: ${name}, adapter: ${adapter}, base_url: 'http://${address}${path}', api_key_env: ${key}, regions: [eu]${adapter === 'ai-sdk' ? ', provider: anthropic' : ''}${responses === undefined ? '' : `, responses: ${responses}`}${messages === undefined ? '' : `, messages: ${messages}`}${developerRole === undefined ? '' : `, developer_role: ${developerRole}`}${reasoningContent === undefined ? '' : `, reasoning_content: ${reasoningContent}`} }`,
  )
  .join('\n')}
models:
  - id: ours
    kinds: [chat]
    context_window: 1000
    footprint: {}
    endpoints: [${rows.map(([name, { model = 'm' }]) => `{ name: ${name}, model: ${model} }`).join(', ')}]
`;
  const path = join(directory, `catalogue-${Math.random()}.yaml`);
  await writeFile(path, text);
  return path;
}

const OPENAI_SAYS = {
  status: 400,
  body: { error: { message: 'too long', code: 'context_length_exceeded', param: 'messages' } },
};
const ENV = { KEY: SECRET, WRONG: 'sk-wrong-but-secret' };

interface Probed {
  endpoint: string;
  problems: string[];
  warnings: string[];
  [field: string]: unknown;
}

async function probed(catalogue: string, ...more: string[]) {
  const { code, stdout, stderr } = await runDocket(
    ['catalogue', 'check', catalogue, '--probe', '--json', ...more],
    ENV,
  );
  expect(stderr).toBe('');
  expect(stdout).not.toMatch(/sk-/);
  const { ok, probes } = JSON.parse(stdout) as { ok: boolean; probes: Probed[] };
  return { code, ok, of: Object.fromEntries(probes.map((one) => [one.endpoint, one])) };
}

async function closedPort(): Promise<string> {
  const server = createServer();
  const address = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  servers.splice(servers.indexOf(server), 1);
  return address;
}

describe('docket catalogue check --probe', () => {
  it('says of an endpoint that works that it is reached, lists the model, answers, streams with usage, and how it refuses a long prompt', async () => {
    const address = await modelServer({ tooLong: OPENAI_SAYS });
    const file = await catalogueOf({ good: { address } });
    const { code, ok, of } = await probed(file);
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(of['good']).toEqual({
      endpoint: 'good',
      address,
      model: 'ours',
      upstream_model: 'm',
      reached: true,
      listed: true,
      answers: true,
      streams: true,
      usage_in_answers: true,
      usage_in_streams: true,
      responses: null,
      messages: null,
      developer: true,
      reasoning_content: null,
      overflow: '400 prompt_too_long',
      problems: [],
      warnings: [],
    });
    const { stdout, stderr } = await runDocket(['catalogue', 'check', file, '--probe'], ENV);
    expect(stdout).toMatch(
      /^good +127\.0\.0\.1:\d+ +ours +yes +yes +yes +yes +yes +yes +- +- +yes +400 prompt_too_long$/m,
    );
    expect(stderr).toBe('');
  });

  it('asks an endpoint that is said to have responses for one, whole and as a stream, and says what comes instead', async () => {
    const speaks = await listen(createSandbox({ tokensPerSecond: 0, apiKey: SECRET }));
    const speaksChat = await modelServer();
    const { code, of } = await probed(
      await catalogueOf({
        has: { address: speaks, responses: true },
        not: { address: speaksChat, responses: true },
        unsaid: { address: speaks },
      }),
    );
    expect([code, of['has']!['responses'], of['unsaid']!['responses']]).toEqual([2, true, null]);
    expect(of['has']!.problems).toEqual([]);
    expect(of['not']!['responses']).toBe(false);
    expect(of['not']!.problems).toHaveLength(1);
    expect(of['not']!.problems[0]).toMatch(/^as a response \(`responses: true`/);
  });

  it('asks one that is said to have messages for one in the same way', async () => {
    const speaks = new NativeUpstream();
    speaks.answer = { fixture: 'anthropic/text' };
    onTestFinished(() => speaks.close());
    const address = new URL(await speaks.listen()).host;
    const { code, of } = await probed(
      await catalogueOf({
        has: { address, adapter: 'ai-sdk', messages: true },
        not: { address: await modelServer(), messages: true },
      }),
    );
    expect([code, of['has']!['messages'], of['has']!.problems]).toEqual([2, true, []]);
    expect(of['not']!['messages']).toBe(false);
    expect(of['not']!.problems).toHaveLength(1);
    expect(of['not']!.problems[0]).toMatch(/^as a message \(`messages: true`/);
  });

  it('finds a server that takes `system` and not `developer`, says how the catalogue mends that, and finds it mended then', async () => {
    const [refuses, busy] = await Promise.all([
      modelServer({
        tooLong: OPENAI_SAYS,
        developerSays: { status: 500, body: { error: { message: 'Unexpected message role.' } } },
      }),
      modelServer({
        tooLong: OPENAI_SAYS,
        developerSays: { status: 429, body: { error: { message: 'Slow down.' } } },
      }),
    ]);
    const { code, of } = await probed(
      await catalogueOf({
        refuses: { address: refuses },
        mended: { address: refuses, developerRole: false },
        busy: { address: busy },
      }),
    );
    expect(code).toBe(0);
    expect(of['refuses']!.warnings).toEqual([
      `${refuses}: it takes \`system\` and not \`developer\`, which \`developer_role: false\` in the catalogue mends: "Unexpected message role."`,
    ]);
    expect(of['mended']!.warnings).toEqual([]);
    expect(Object.values(of).map(({ developer }) => developer)).toEqual([false, true, null]);
  });

  it('finds a server that wants back what its model thought, or refuses it, and says which property of the endpoint that is', async () => {
    const [demands, answers, refuses] = await Promise.all(
      (['demanded', 'answered', 'refused'] as const).map((thought) =>
        modelServer({ tooLong: OPENAI_SAYS, thought }),
      ),
    );
    const { code, of } = await probed(
      await catalogueOf({
        demands: { address: demands! },
        mended: { address: demands!, reasoningContent: true },
        answers: { address: answers! },
        refuses: { address: refuses! },
        wrong: { address: refuses!, reasoningContent: true },
      }),
    );
    expect(code).toBe(0);
    const property = '`reasoning_content: true` in the catalogue sends';
    expect(Object.values(of).map(({ warnings }) => warnings)).toEqual([
      [
        `${demands}: it demands what the model thought back, which ${property}: ${JSON.stringify(THOUGHT_SAYS)}`,
      ],
      [],
      [
        `${answers}: it answers what the model thought in \`reasoning_content\` and takes it back, which ${property}`,
      ],
      [],
      [
        `${refuses}: it refuses what the model thought, which ${property}: ${JSON.stringify(THOUGHT_SAYS)}`,
      ],
    ]);
    const found = Object.values(of).map(({ reasoning_content: wants }) => wants);
    expect(found).toEqual(['demanded', 'demanded', 'taken', null, null]);
  });

  it('says in a line each what is wrong: port, path, credential, model; exits with 2; and prints no credential, not even one that a server repeats', async () => {
    const [address, closed] = await Promise.all([modelServer(), closedPort()]);
    const file = await catalogueOf({
      closed: { address: closed },
      'closed-native': { address: closed, adapter: 'ai-sdk' },
      path: { address, path: '' },
      key: { address, key: 'WRONG' },
      unset: { address, key: 'NOT_SET' },
      model: { address, model: 'other' },
    });
    const { code, ok, of } = await probed(file);
    expect({ code, ok }).toEqual({ code: 2, ok: false });
    const problem = (name: string): string => of[name]!.problems.join('\n');
    const refused = `ECONNREFUSED ${closed}: nothing listens there`;
    expect(problem('closed')).toContain(refused);
    expect(problem('closed-native')).toContain(refused);
    expect(of['closed']).toMatchObject({ reached: false, answers: null });
    expect(problem('path')).toContain(`404 ${address}: does base_url end in /v1?`);
    expect(problem('key')).toBe(
      `401 ${address}: it refuses the credential; is WRONG set, and right? (it says "Incorrect API key provided: [WRONG]")`,
    );
    expect(problem('unset')).toContain('is NOT_SET set');
    expect(problem('model')).toContain(`404 ${address}: it has no model "other"`);
    expect(of['model']!['listed']).toBe(false);

    const people = await runDocket(['catalogue', 'check', file, '--probe'], ENV);
    expect(people.code).toBe(2);
    expect(people.stderr).toContain(`closed: ${refused}\n`);
    expect(people.stderr).toContain('endpoints[2].base_url: does base_url end in /v1?');
    expect(people.stdout + people.stderr).not.toMatch(/sk-/);
  });

  it('warns of what works and is not meant: another model behind the name, no usage in streams, a prompt cut without a word, an overflow that is not understood', async () => {
    const [other, silent, cutting, taking, unclear] = await Promise.all([
      modelServer({ models: ['any', 'x'], tooLong: OPENAI_SAYS }),
      modelServer({ usageInStreams: false, tooLong: OPENAI_SAYS }),
      modelServer({ countsAtMost: 100 }),
      modelServer(),
      modelServer({ tooLong: { status: 500, body: { error: { message: 'slot 0: no' } } } }),
    ]);
    const { code, of } = await probed(
      await catalogueOf({
        other: { address: other, model: 'theirs' },
        silent: { address: silent },
        cutting: { address: cutting },
        taking: { address: taking },
        unclear: { address: unclear },
      }),
    );
    expect(code).toBe(0);
    const warning = (name: string): string => of[name]!.warnings.join('\n');
    expect(warning('other')).toBe(`${other}: it answers, and lists no model "theirs": "any", "x"`);
    expect(warning('silent')).toBe(`${silent}: its streams report no usage: it is counted here`);
    expect(of['silent']).toMatchObject({ streams: true, usage_in_streams: false });
    expect(warning('cutting')).toContain('to 100 tokens, without a word');
    expect(of['taking']).toMatchObject({ overflow: 'taken', warnings: [] });
    expect(warning('unclear')).toContain('is not understood: "slot 0: no"');
  });

  it('asks models that want another name for the bound of an answer under that name', async () => {
    const address = await modelServer({ refusesMaxTokens: true, tooLong: OPENAI_SAYS });
    const { code, of } = await probed(await catalogueOf({ newer: { address } }));
    expect(code).toBe(0);
    expect(of['newer']).toMatchObject({ answers: true, streams: true });
  });

  it('gives up on a server that does not answer within --timeout, and asks only the endpoints that are named', async () => {
    const mute = await listen(createServer(() => {}));
    const file = await catalogueOf({ mute: { address: mute }, other: { address: '127.0.0.1:9' } });
    const { code, of } = await probed(file, '--timeout', '0.2', '--endpoint', 'mute');
    expect(code).toBe(2);
    expect(Object.keys(of)).toEqual(['mute']);
    expect(of['mute']!.problems).toEqual([`${mute}: it did not begin to answer in time`]);
    const unknown = await runDocket(['catalogue', 'check', file, '--endpoint', 'none'], ENV);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toContain('no endpoint none');
    const wrong = await runDocket(['catalogue', 'check', file, '--timeout', 'soon'], ENV);
    expect(wrong.code).toBe(1);
  });

  it('finds the sandbox in order, for every kind of model', async () => {
    const address = await listen(createSandbox({ tokensPerSecond: 0 }));
    const { code, stdout, stderr } = await runDocket(['catalogue', 'check', '--probe', '--json'], {
      SANDBOX_URL: `http://${address}/v1`,
    });
    const { probes } = JSON.parse(stdout) as { probes: Probed[] };
    expect(probes.length).toBeGreaterThan(10);
    expect(probes.flatMap(({ problems, warnings }) => [...problems, ...warnings])).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('docket doctor', () => {
  let env: Record<string, string>;
  let redis: Awaited<ReturnType<typeof startTestRedis>>;
  beforeAll(async () => {
    redis = await startTestRedis({ durable: true });
    env = {
      ...ENV,
      DATABASE_URL: (await createTestDatabase()).url,
      REDIS_URL: redis.url,
      EXPORT_STORE: join(directory, 'exports'),
      PORT: '0',
    };
  });

  async function examined(more: Record<string, string>, ...options: string[]) {
    const { stdout } = await runDocket(['doctor', '--json', ...options], { ...env, ...more });
    expect(stdout).not.toMatch(/sk-/);
    return JSON.parse(stdout) as Report;
  }

  it('finds the same of each endpoint, in the same words, unless it is told to ask none', async () => {
    const [good, closed] = await Promise.all([modelServer({ tooLong: OPENAI_SAYS }), closedPort()]);
    const CATALOGUE = await catalogueOf({ good: { address: good }, closed: { address: closed } });
    const { findings } = await examined({ CATALOGUE });
    expect(findings).toContainEqual({
      name: 'upstream good',
      verdict: 'ok',
      detail: `${good}: its model answers`,
    });
    expect(findings).toContainEqual(
      expect.objectContaining({
        name: 'upstream closed',
        verdict: 'problem',
        detail: expect.stringContaining(`ECONNREFUSED ${closed}: nothing listens`) as string,
      }),
    );
    const silent = await examined({ CATALOGUE }, '--no-upstreams');
    expect(silent.findings.filter(({ name }) => name.startsWith('upstream '))).toEqual([]);
    expect(silent.findings).toContainEqual(
      expect.objectContaining({ name: 'upstreams', verdict: 'skipped' }),
    );
  });

  it('says that something must be fixed while a circuit is open', async () => {
    const before = await examined({}, '--no-upstreams');
    expect(before.findings).toContainEqual(
      expect.objectContaining({ name: 'circuits', verdict: 'ok' }),
    );
    const client = connectRedis({ url: redis.url, name: 'test', use: 'interactive' }, () => {});
    await once(client, 'ready');
    const board = createCircuitBoard(client, 'worker');
    // It is believed for seconds, and a worker says it again and again.
    const say = (): Promise<void> =>
      board.publish([{ region: 'eu', endpoint: 'local', open: true }]);
    await say();
    const again = setInterval(() => void say(), 1_000);
    const { healthy, findings } = await examined({}, '--no-upstreams').finally(() => {
      clearInterval(again);
      client.disconnect();
    });
    expect(healthy).toBe(false);
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'circuit eu local', verdict: 'problem' }),
    );
  });
});
