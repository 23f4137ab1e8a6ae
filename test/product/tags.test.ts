import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { createBudgetRegistry } from '#shared/budgets/postgres/budgets.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { chatBody, codeOf, post } from '#test/support/calls.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';

const system = await joinProduct();

const MODEL = 'llama-3.1-8b';
const messages = [{ role: 'user' as const, content: 'Say one word.' }];

async function tagged(tags: string[]) {
  const org = await newOrganisation(system, {});
  await createRegistries(system.database.pool).accounts.setTags(org.id, tags, OPERATOR);
  const key = await org.newKey();
  const read = async (path: string): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${key}` };
    return (await (await fetch(`${system.baseUrl}${path}`, { headers })).json()) as never;
  };
  const byTeam = async (): Promise<Record<string, number>> => {
    const { data } = (await read('/usage?group_by=tag:team')) as {
      data: { by: Record<string, string>; requests: number }[];
    };
    return Object.fromEntries(data.map(({ by, requests }) => [by['tag:team']!, requests]));
  };
  return { id: org.id, key, read, byTeam };
}

it('what stock SDKs send as metadata is counted by its declared members on every route, once, and of no other organisation; receipts have none of it [tags.declared, tags.usage, tags.requests]', async () => {
  const [org, other] = [await tagged(['team', 'run']), await tagged(['team'])];
  const openai = new OpenAI({ baseURL: system.baseUrl, apiKey: org.key, maxRetries: 0 });
  const theirs = new OpenAI({ baseURL: system.baseUrl, apiKey: other.key, maxRetries: 0 });
  const anthropic = new Anthropic({
    baseURL: system.baseUrl.replace(/\/v1$/, ''),
    authToken: org.key,
    apiKey: null,
    maxRetries: 0,
  });
  const metadata = { team: 'search', run: 'r.7', session: 'x', user: 'u', ignored_tools: 'none' };
  const chat = { model: MODEL, messages, max_tokens: 3 };
  const once = { headers: { 'idempotency-key': 'tagged once' } };
  const { data: answer, response } = await openai.chat.completions
    .create({ ...chat, metadata }, once)
    .withResponse();
  const again = await openai.chat.completions.create({ ...chat, metadata }, once).withResponse();
  expect(again.response.headers.get('idempotent-replayed')).toBe('true');
  const stream = await openai.chat.completions.create({ ...chat, metadata, stream: true });
  for await (const chunk of stream) expect(chunk.object).toBe('chat.completion.chunk');
  await openai.responses.create({ model: MODEL, input: 'Hi', metadata, store: false });
  await openai.completions.create({
    model: MODEL,
    prompt: 'Once',
    max_tokens: 3,
    metadata,
  } as OpenAI.CompletionCreateParamsNonStreaming);
  await anthropic.messages.create({
    ...chat,
    metadata: { user_id: 'someone', team: 'search' } as Anthropic.Metadata,
  });
  await openai.chat.completions.create({ ...chat, metadata: { team: 'not a tag' } });
  await openai.chat.completions.create(chat);
  // A body that is read on a thread.
  await openai.chat.completions.create({
    ...chat,
    messages: [{ role: 'user', content: 'word '.repeat(14_000) }],
    metadata: { team: 'long' },
  });
  await theirs.chat.completions.create({ ...chat, metadata: { ...metadata, team: 'theirs' } });
  await until(async () => {
    const counted = await org.byTeam();
    return counted['search'] === 5 && counted[''] === 2 && counted['long'] === 1;
  }, 'every request is counted');
  await until(async () => (await other.byTeam())['theirs'] === 1);
  expect(await other.byTeam()).toEqual({ theirs: 1 });
  const { total } = (await org.read('/usage?tag=run=r.7')) as { total: { requests: number } };
  expect(total.requests).toBe(4);
  const id = again.response.headers.get('x-request-id')!;
  const found = async () =>
    ((await org.read('/requests?tag=run=r.7&limit=50')) as { data: { id: string }[] }).data;
  // The replay has a row of its own, and is in no usage. Rows come by the second, those of earlier requests too.
  await until(async () => (await found()).length >= 5);
  const rows = await found();
  expect(rows).toHaveLength(5);
  expect(rows.map((row) => row.id)).toContain(id);
  expect(await org.read(`/requests/${id}`)).toMatchObject({ tags: ['team=search', 'run=r.7'] });
  const receipt = await org.read(`/receipts/${response.headers.get('x-receipt-id')!}`);
  expect(JSON.stringify([receipt, answer])).not.toMatch(/search|r\.7/);
  for (const path of ['/usage?group_by=tag:taem', '/usage?group_by=tag:team,tag:run'])
    expect(await org.read(path)).toMatchObject({ error: { code: 'invalid_group_by' } });
  for (const path of ['/usage?tag=team', '/requests?tag=taem=search', '/usage?tag=project=a'])
    expect(await org.read(path)).toMatchObject({ error: { code: 'invalid_tag' } });
});

it('a hard budget of a tag refuses requests with it and no others [tags.budgets]', async () => {
  const org = await tagged(['team']);
  const budgets = createBudgetRegistry(system.database.pool, systemSurroundings);
  await budgets.make(
    org.id,
    {
      name: 'batch',
      scope: 'tag',
      target: 'team=batch',
      measure: 'requests',
      period: 'month',
      mode: 'hard',
      limit: 2,
      shares: [],
    },
    OPERATOR,
  );
  const ask = async (team?: string) => {
    const metadata = team === undefined ? undefined : { team };
    const body = chatBody({ max_tokens: 1, metadata });
    const answer = await post(system, '/chat/completions', body, { key: org.key });
    return (await codeOf(answer)) ?? 'answered';
  };
  const batch = await Promise.all(Array.from({ length: 6 }, () => ask('batch')));
  expect(batch.filter((each) => each === 'answered')).toHaveLength(2);
  expect(batch.filter((each) => each === 'budget_exceeded')).toHaveLength(4);
  expect([await ask('search'), await ask()]).toEqual(['answered', 'answered']);
});
