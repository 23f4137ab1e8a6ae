/** The playground: what a person runs from their session, and everything that keeps others from doing so. */
import { request as begin } from 'node:http';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { createBudgetRegistry } from '#shared/budgets/postgres/budgets.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { OrganisationRole, Person } from '#shared/persons/roles.ts';
import { createPersonRegistry } from '#shared/persons/postgres/persons.ts';
import { createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { chatBody, payloadsIn, requestIdOf, upstreamCalls } from '#test/support/calls.ts';
import { formTokenOf, newPerson, PASSWORD } from '#test/support/dashboard.ts';
import { newOrganisation, type TestOrganisation } from '#test/support/organisations.ts';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';

const product = await joinProduct();
const { pagesUrl: root } = inject('product');
const { pool } = product.database;
const registries = createRegistries(pool);

/** What a run is sent with in the place of what the script would send. */
interface Sent {
  org?: string;
  origin?: string;
  cookie?: string;
  token?: string;
  signal?: AbortSignal;
}

/** A person with a session, who sends what the page's script or its form would. */
class Visitor {
  readonly person: Person;
  readonly orgId: string;
  cookie = '';
  token = '';

  constructor(person: Person, orgId: string) {
    this.person = person;
    this.orgId = orgId;
  }

  async signIn(): Promise<this> {
    const page = await fetch(`${root}/dashboard/sign-in`);
    const form = formTokenOf(await page.text());
    const visit = cookieOf(page);
    const body = new URLSearchParams({ form, email: this.person.email, password: PASSWORD });
    const entered = await fetch(`${root}/dashboard/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: root, cookie: visit },
      body,
    });
    this.cookie = cookieOf(entered);
    this.token = formTokenOf(await (await this.get('playground')).text());
    return this;
  }

  get(page: string): Promise<Response> {
    return fetch(`${root}/dashboard/${this.orgId}/${page}`, {
      headers: { cookie: this.cookie },
      redirect: 'manual',
    });
  }

  /** As the script runs it; what is named is sent in the place of what it would send. */
  run(
    body: object = chatBody(),
    {
      org = this.orgId,
      origin = root,
      cookie = this.cookie,
      token = this.token,
      ...rest
    }: Sent = {},
  ): Promise<Response> {
    return fetch(`${root}/dashboard/${org}/playground/run`, {
      method: 'POST',
      headers: { origin, cookie, 'x-docket-form': token, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      ...rest,
    });
  }

  /** As the form without a script. */
  send(fields: Record<string, string>): Promise<Response> {
    return fetch(`${root}/dashboard/${this.orgId}/playground`, {
      method: 'POST',
      headers: { origin: root, cookie: this.cookie },
      body: new URLSearchParams({ form: this.token, model: 'llama-3.1-8b', ...fields }),
      redirect: 'manual',
    });
  }
}

const cookieOf = (answer: Response): string =>
  answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0]!)
    .filter((pair) => !pair.endsWith('='))
    .join('; ');

let org: TestOrganisation;
let member: Visitor;
const join = async (role: OrganisationRole, name?: string): Promise<Visitor> => {
  const person = await newPerson(pool, [{ kind: 'organisation', orgId: org.id, role }], name);
  return new Visitor(person, org.id).signIn();
};

beforeAll(async () => {
  org = await newOrganisation(product, {});
  member = await join('member', 'Ada <b>Lovelace</b>');
});

const statusOf = async (answer: Promise<Response>): Promise<number> => {
  const { status, body } = await answer;
  await body?.cancel();
  return status;
};

const keysOf = (person: Person) =>
  registries.keys
    .playgrounds(org.id)
    .then((keys) => keys.filter(({ playgroundOf }) => playgroundOf === person.id));

/** Rows of requests of a person's playground. */
async function ranBy(person: Person): Promise<{ id: string; status: number }[]> {
  const { rows } = await pool.query<{ id: string; status: number }>(
    `select r.id, r.status from request r join api_key k on k.id = r.key_id where k.playground_of = $1`,
    [person.id],
  );
  return rows;
}

describe('a run [dashboard.playground]', () => {
  it('is a request of the organisation, by a key that is its person’s and nothing else’s', async () => {
    const answers = await Promise.all([
      member.run(),
      member.run({ ...chatBody(), stream: true, stream_options: { include_usage: true } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const [whole, stream] = await Promise.all(answers.map((answer) => answer.text()));
    const { receipt } = JSON.parse(whole!) as { receipt: { id: string; proof: object } };
    const payloads = payloadsIn(stream!);
    expect(payloads.at(-1)).toBe('[DONE]');
    expect(receipt.proof).toBeDefined();
    expect(payloads.some((payload) => payload.includes('"proof"'))).toBe(true);
    // Two runs at once were the first, and have made one key.
    const keys = await keysOf(member.person);
    expect(keys).toHaveLength(1);
    const [key] = keys;
    expect(key).toMatchObject({
      name: 'Playground of Ada <b>Lovelace</b>',
      scopes: ['inference:read', 'inference:write'],
    });
    await until(async () => (await ranBy(member.person)).length === 2);
    const { items } = await registries.audit.list({
      orgId: org.id,
      limit: 10,
      order: 'desc',
      subject: key!.id,
    });
    expect(items.map(({ action, actorId }) => [action, actorId])).toEqual([
      ['key.issued', member.person.id],
    ]);
    // It is named where requests are, and is no key among keys.
    const page = await (await member.get('requests')).text();
    expect(page).toContain('Playground of Ada &#60;b&#62;Lovelace');
    const programs = await org.newKey({ scopes: ['admin:keys'] });
    const list = await fetch(`${root}/v1/keys`, {
      headers: { authorization: `Bearer ${programs}` },
    });
    expect(await list.text()).not.toContain(key!.id);
    const letters = await pool.query(
      `select 1 from mail_outbox where org_id = $1 and body like '%Playground of%'`,
      [org.id],
    );
    expect(letters.rowCount).toBe(0);
  });

  it('stops with its page: the model is called off, and what ran has a receipt', async () => {
    const abort = new AbortController();
    const body = chatBody({ stream: true, max_tokens: 50_000 });
    const answer = await member.run(body, { signal: abort.signal });
    const id = answer.headers.get('x-request-id');
    await answer.body!.getReader().read();
    abort.abort();
    await until(async () =>
      (await upstreamCalls(product)).some(
        (call) => requestIdOf(call) === id && call.state === 'aborted',
      ),
    );
    await until(async () => (await ranBy(member.person)).some((row) => row.id === id));
    expect((await ranBy(member.person)).find((row) => row.id === id)!.status).toBe(499);
  });

  it('without a script is a page with the whole answer, and an error is one with its code and its request', async () => {
    const answered = await member.send({ prompt: 'Tell me <i>more</i>', max_tokens: '4' });
    const page = await answered.text();
    expect([answered.status, answered.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(answered.headers.get('cache-control')).toBe('no-store');
    expect(page).toContain('Its receipt');
    expect(page).toContain('Tell me &#60;i&#62;more');
    const id = answered.headers.get('x-request-id')!;
    expect(page).toContain(`/requests?find=${id}`);
    const refused = await member.send({ prompt: 'x', temperature: '9' });
    const why = await refused.text();
    expect(refused.status).toBe(400);
    expect(why).toContain('#error-invalid-temperature');
    expect(why).toContain(refused.headers.get('x-request-id'));
    expect(await (await member.send({ prompt: 'x', tools: '[' })).text()).toContain(
      'The tools are not JSON',
    );
    const brackets = await member.send({
      prompt: 'x',
      tools: '['.repeat(5_000) + ']'.repeat(5_000),
    });
    expect(brackets.status).toBe(400);
    expect(await brackets.text()).toMatch(/^<!doctype html>[^]*nested more than 100 levels/);
  });

  it('is refused for what any request is: a budget, a model that is not there, a suspended organisation', async () => {
    const budgets = createBudgetRegistry(pool, systemSurroundings);
    const other = new Visitor(member.person, (await newOrganisation(product, {})).id);
    await newPartOf(other);
    await other.signIn();
    const code = async (body: object = chatBody()) => {
      const { error } = (await (await other.run(body)).json()) as { error: { code: string } };
      return error.code;
    };
    expect(await code({ ...chatBody(), model: 'no-such-model' })).toBe('invalid_model');
    const scope = { scope: 'organisation', target: null, measure: 'requests' } as const;
    const bound = { name: 'none', period: 'day', mode: 'hard', limit: 1, shares: [] } as const;
    await budgets.make(other.orgId, { ...scope, ...bound }, OPERATOR);
    await until(async () => (await statusOf(other.run())) === 429);
    expect(await code()).toBe('budget_exceeded');
    await registries.accounts.suspend(other.orgId, OPERATOR, 'a test');
    await until(async () => (await code()) === 'customer_suspended');
  });
});

it('a person has four runs open, and another one when one of them has ended [dashboard.playground]', async () => {
  const one = await join('member');
  const aborts = Array.from({ length: 4 }, () => new AbortController());
  const body = chatBody({ stream: true, max_tokens: 50_000 });
  const runs = await Promise.all(aborts.map(({ signal }) => one.run(body, { signal })));
  expect(runs.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await statusOf(one.run())).toBe(429);
  aborts[0]!.abort();
  await until(async () => (await statusOf(one.run())) === 200);
  for (const abort of aborts) abort.abort();
});

const newPartOf = ({ person, orgId }: Visitor) =>
  createPersonRegistry(pool, systemSurroundings).add(
    person,
    { kind: 'organisation', orgId, role: 'member' },
    OPERATOR,
  );

describe('nothing runs [dashboard.playground]', () => {
  it('for a visitor without a session, another site, another’s form, another organisation, or an auditor', async () => {
    const owner = await join('owner');
    const auditor = await join('auditor');
    const elsewhere = await newOrganisation(product, {});
    const before = await ranBy(owner.person);
    const statuses = await Promise.all(
      [
        owner.run(chatBody(), { cookie: '' }),
        owner.run(chatBody(), { origin: 'https://evil.example' }),
        owner.run(chatBody(), { origin: 'null' }),
        owner.run(chatBody(), { token: '' }),
        owner.run(chatBody(), { token: member.token }),
        owner.run(chatBody(), { org: elsewhere.id }),
        auditor.run(),
      ].map(statusOf),
    );
    expect(statuses).toEqual([401, 403, 403, 403, 403, 404, 403]);
    expect(await ranBy(auditor.person)).toEqual(before);
    expect(await keysOf(auditor.person)).toEqual([]);
    expect(await (await auditor.get('playground')).text()).toContain('Your role runs no models');
    // With a key of the organisation in place of a session there is no playground either.
    const key = await org.newKey();
    const keyed = await fetch(`${root}/dashboard/${org.id}/playground/run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', origin: root },
      body: JSON.stringify(chatBody()),
    });
    expect(await statusOf(Promise.resolve(keyed))).toBe(401);
  });

  it('once the role is lost, the part is taken away, or the playground is switched off; its key is revoked with that', async () => {
    const persons = createPersonRegistry(pool, systemSurroundings);
    const leaver = await join('member');
    const demoted = await join('admin');
    const stays = await join('owner');
    for (const one of [leaver, demoted, stays]) expect(await statusOf(one.run())).toBe(200);
    const place = { kind: 'organisation', orgId: org.id } as const;
    await persons.remove(leaver.person.email, { ...place, role: 'member' }, OPERATOR);
    await persons.add(demoted.person, { ...place, role: 'auditor' }, OPERATOR);
    expect(await statusOf(leaver.run())).toBe(404);
    expect(await statusOf(demoted.run())).toBe(403);
    await registries.accounts.setPlayground(org.id, false, OPERATOR);
    expect(await statusOf(stays.run())).toBe(403);
    expect(await (await stays.get('playground')).text()).toContain(
      'The playground is switched off',
    );
    for (const { person } of [leaver, demoted, stays]) {
      const keys = await keysOf(person);
      expect(keys.map(({ state }) => state)).toEqual(['revoked']);
      const of = { orgId: org.id, limit: 1, order: 'desc', subject: keys[0]!.id } as const;
      expect((await registries.audit.list(of)).items[0]!.action).toBe('key.revoked');
      // It is not for keys' own ways to bring it back.
      await expect(registries.keys.restore(org.id, keys[0]!.id, OPERATOR)).rejects.toMatchObject({
        code: 'key_state_conflict',
      });
    }
    await registries.accounts.setPlayground(org.id, true, OPERATOR);
    expect(await statusOf(stays.run())).toBe(200);
    expect((await keysOf(stays.person)).map(({ state }) => state)).toEqual(['active', 'revoked']);
  });

  it('of what is no form and no JSON, or too large: each address says so in its own way', async () => {
    const send = async (page: string, type: string, body: string) => {
      const answer = await fetch(`${root}/dashboard/${org.id}/${page}`, {
        method: 'POST',
        headers: {
          origin: root,
          cookie: member.cookie,
          'x-docket-form': member.token,
          'content-type': type,
        },
        body,
      });
      const told = answer.headers.get('content-type')!.split(';')[0];
      return [answer.status, told, (await answer.text()).includes('error')];
    };
    const [form, json] = ['application/x-www-form-urlencoded', 'application/json'];
    const huge = 'x'.repeat(3 * 1024 * 1024);
    expect([
      await send('playground/run', form, 'model=x'),
      await send('playground/run', json, '{"model":'),
      await send('playground/run', json, JSON.stringify(huge)),
      await send('playground/run', json, '[]'),
    ]).toEqual([415, 400, 413, 400].map((status) => [status, json, true]));
    expect(
      await Promise.all([
        send('playground', json, '{}'),
        send('playground', form, `form=${member.token}&prompt=${huge}`),
        send('playground', form, 'form=x&prompt=x'),
        send('playground', form, 'prompt=%00'),
      ]),
    ).toEqual([415, 413, 403, 400].map((status) => [status, 'text/html', expect.anything()]));
  });

  it('of a body whose session ended while it came', async () => {
    const one = await join('member');
    expect(await statusOf(one.run())).toBe(200);
    const body = JSON.stringify(chatBody());
    const answer = Promise.withResolvers<number>();
    const sending = begin(`${root}/dashboard/${org.id}/playground/run`, {
      method: 'POST',
      headers: {
        origin: root,
        cookie: one.cookie,
        'x-docket-form': one.token,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    sending.on('response', (reply) => {
      reply.resume();
      answer.resolve(reply.statusCode!);
    });
    sending.write(body.slice(0, 10));
    await pool.query(`delete from persons.session where person_id = $1`, [one.person.id]);
    sending.end(body.slice(10));
    expect(await answer.promise).toBe(401);
    await until(async () => (await ranBy(one.person)).length >= 1);
    expect((await ranBy(one.person)).filter(({ status }) => status === 200)).toHaveLength(1);
  });
});
