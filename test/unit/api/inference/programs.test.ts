/** What agents and other programs ask, as `npm run programs -- --record` found it, with its texts cut short. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { read } from '#api/inference/read.ts';
import { chatRequestOf } from '#shared/dialects/chat-of-response.ts';
import { type Dialect, type Route } from '#shared/kernel/inference.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/programs');
const ROUTES: Readonly<Record<string, Route>> = {
  '/v1/chat/completions': 'chat.completions',
  '/v1/messages': 'messages',
  '/v1/responses': 'responses',
};
const COUNTING = '/v1/messages/count_tokens';

interface Recorded {
  path: string;
  body: JsonObject;
}

const programs = globSync(join(FIXTURES, '*.json'))
  .toSorted()
  .map((file) => ({
    name: basename(file, '.json'),
    requests: JSON.parse(readFileSync(file, 'utf8')) as Recorded[],
  }));

/** The chat that a request is from the api on, or becomes before a server of chats. */
function chatOf({ path, body }: Recorded): JsonObject {
  const at = path.split('?')[0]!;
  const route = at === COUNTING ? 'messages' : ROUTES[at];
  if (route === undefined) throw new Error(`no route has the path ${path}`);
  const { parsed, route: dialect } = read(
    { newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA', processId: 'api-1', shards: 1 },
    {
      id: 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
      route,
      rawBody: Buffer.from(JSON.stringify(body)),
      headers: {},
      credential: { orgId: 'org_A', keyId: 'key_A', keepResponses: true, tags: [] },
      now: 0,
      counts: at === COUNTING,
    },
  ).body;
  return inChat(parsed, dialect);
}

const inChat = (parsed: JsonObject, dialect: Dialect): JsonObject =>
  dialect === 'responses' ? chatRequestOf(parsed) : parsed;

const namesOf = (tools: unknown): string[] =>
  listOf(tools)
    .filter(isObject)
    .map((tool) => String((tool['function'] as JsonObject | undefined)?.['name'] ?? tool['name']));

/** Tool runners of Anthropic's SDKs try it first, and send the whole conversation when they are told that it is not offered. */
const isTry = ({ body }: Recorded): boolean => body['thread'] !== undefined;

describe.each(programs)('$name', ({ requests: recorded }) => {
  const requests = recorded.filter((request) => !isTry(request));

  it('asks nothing that is refused by default, and what it said last is said to the model', () => {
    expect(requests.length).toBeGreaterThan(0);
    for (const request of requests) {
      const { messages } = chatOf(request);
      expect(listOf(messages).length).toBeGreaterThan(0);
    }
    for (const request of recorded.filter(isTry))
      expect(() => chatOf(request)).toThrow(/`thread` is not offered/);
  });

  it('has the tools that it runs itself before the model, by names of theirs', () => {
    for (const request of requests) {
      const own = listOf(request.body['tools'])
        .filter(isObject)
        .filter(({ type }) => type === undefined || type === 'function' || type === 'custom');
      const names = namesOf(chatOf(request)['tools']);
      expect(names).toEqual(expect.arrayContaining(namesOf(own)));
    }
  });
});
