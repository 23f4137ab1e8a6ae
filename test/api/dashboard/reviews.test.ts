import { beforeAll, describe, expect, it } from 'vitest';
import {
  createRegistries,
  currentVetting,
  declaration,
  newAccount,
  OPERATOR,
  referApplicant,
  vetting,
} from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  formTokenOf,
  newPerson,
  openDashboardEdge,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import type { Person } from '#shared/persons/roles.ts';
import type { Vetting } from '#shared/accounts/vetting.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { accounts, vettings, audit } = registries;
const { browser, errors } = await openDashboardEdge(database);
const REVIEWS = '/dashboard/service/reviews';

const persons = {} as Record<'rita' | 'rob' | 'otto' | 'owner', Person>;
const visitors = {} as Record<keyof typeof persons, TestBrowser>;

beforeAll(async () => {
  const pool = database.pool;
  persons.rita = await newPerson(pool, [{ kind: 'staff', role: 'reviewer' }], 'Rita Reviewer');
  persons.rob = await newPerson(pool, [{ kind: 'staff', role: 'reviewer' }], 'Rob <i>Reviewer</i>');
  persons.otto = await newPerson(pool, [{ kind: 'staff', role: 'operator' }], 'Otto Operator');
  const { id } = await accounts.create(newAccount(), OPERATOR);
  persons.owner = await newPerson(pool, [{ kind: 'organisation', orgId: id, role: 'owner' }]);
  let last = 10;
  for (const who of Object.keys(persons) as (keyof typeof persons)[]) {
    visitors[who] = browser({ address: `192.0.2.${(last += 1)}` });
    await visitors[who].signIn(persons[who]);
  }
});

const RESEMBLANCE: Partial<Vetting> = {
  outcome: 'flagged',
  lists: [{ source: 'un', version: 'ab'.repeat(32) }],
  reasons: [
    {
      kind: 'list_match',
      score: 0.881,
      text: '"Dora Example" resembles "Dora Exampel" of un 7, score 0.881.',
      name: 'Dora Example',
      entity: 'un:7',
    },
  ],
};

/** An applicant in review; returns its id and the review's. */
async function referred({
  found = RESEMBLANCE,
  ...over
}: Parameters<typeof referApplicant>[1] = {}) {
  const { orgId, reviewId: id } = await referApplicant(registries, { found, ...over });
  return { orgId, id };
}

async function importList(version: string, current: boolean): Promise<void> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into sanctions_list
       (source, version, file_name, imported_at, imported_by, current, entities, names, published_on)
     values ('un', $1, 'un.xml', now() - interval '3 days', 'ada', $2, 1, 2, '2026-11-01') returning id`,
    [version, current],
  );
  await database.pool.query(
    `insert into sanctions_name (list_id, entity_id, ordinal, name, kind, weak, programme, countries)
     values ($1, '7', 0, 'Dora Exampel', 'person', false, 'DPRK', '{}'),
            ($1, '7', 1, '<b>Dodo</b>', 'person', true, 'DPRK', '{}')`,
    [rows[0]!.id],
  );
}

/** The screening that a page of a review shows. */
const shownScreening = (page: string): string => /name="screening" value="([^"]*)"/.exec(page)![1]!;

describe('the review queue', () => {
  it('a reviewer sees applicant, people, answers and list entry, and decides with a reason that stands in the audit log with their name [dashboard.reviews]', async () => {
    await importList('ab'.repeat(32), true);
    const { orgId, id } = await referred();
    expect((await visitors.rita.get('/dashboard')).headers.location).toBe(REVIEWS);
    expect((await visitors.rita.get(REVIEWS)).payload).toContain(`${REVIEWS}/${id}`);
    const page = (await visitors.rita.get(`${REVIEWS}/${id}`)).payload;
    for (const text of [
      'Harmless Bakery',
      'Dora Example',
      'director, France (FR)',
      'Bill Example',
      'Will the service be used for unlawful surveillance or repression?',
      'score 0.881',
      'Dora Exampel',
      'weak alias',
      'DPRK',
      'abababababab',
      '1 Nov 2026',
      '3 days ago',
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain('<b>Dodo');
    expect(page).toContain('no name of the 1 list that was compared is as similar as 0.85');
    const fields = { decision: 'approved', screening: shownScreening(page) };
    const address = `${REVIEWS}/${id}`;
    // An address says nothing that is not so.
    const told = await visitors.rita.get(`${address}?done=approved`);
    expect(told.payload).not.toContain('Review approved');
    const silent = await visitors.rita.send(address, `${address}/decide`, fields);
    expect([silent.statusCode, (await accounts.get(orgId)).state]).toEqual([400, 'in_review']);
    expect(silent.payload).toContain('enter a reason');
    const decided = await visitors.rita.send(address, `${address}/decide`, {
      ...fields,
      'approved-note': 'Another person: born 1990',
    });
    expect(decided.headers.location).toBe(`${address}?done=approved`);
    expect((await accounts.get(orgId)).state).toBe('approved');
    const { items } = await audit.list({ orgId, limit: 1, order: 'desc' });
    expect(items[0]).toMatchObject({
      action: 'account.approved',
      actorKind: 'operator',
      actorId: persons.rita.id,
      address: '192.0.2.11',
      reason: 'Another person: born 1990',
    });
    // Where no list was imported nothing can be said of a name.
    const unlisted = await referred({ found: { outcome: 'flagged' } });
    const { payload } = await visitors.rita.get(`${REVIEWS}/${unlisted.id}`);
    expect(payload).toContain('not compared');
    expect(payload).toContain('no list had been imported when this was screened');
    expect(payload).not.toContain('is as similar as');
    expect(payload).not.toContain('>nothing<');
    const after = (await visitors.rob.get(address)).payload;
    expect(after).toContain('Rita Reviewer');
    expect(after).not.toContain('name="decision"');
    const again = await visitors.rob.send(`${REVIEWS}/${id}`, `${address}/decide`, {
      decision: 'rejected',
      'rejected-note': 'no',
    });
    expect([again.statusCode, (await accounts.get(orgId)).state]).toEqual([400, 'approved']);
    expect((await visitors.rita.get(`${REVIEWS}?show=decided`)).payload).toContain(address);
  });

  it('at high risk a second reviewer has to approve the same screening; one alone cannot do it twice [dashboard.reviews, accounts.four-eyes]', async () => {
    const { orgId, id } = await referred({ found: { ...RESEMBLANCE, outcome: 'hit' } });
    const address = `${REVIEWS}/${id}`;
    const approve = async (visitor: TestBrowser) => {
      const screening = (await vettings.openReview(orgId))!.vettingId!;
      const fields = { decision: 'approved', screening, 'approved-note': 'not them' };
      return visitor.send(address, `${address}/decide`, fields);
    };
    expect((await approve(visitors.rita)).headers.location).toBe(`${address}?done=first`);
    expect((await visitors.rita.get(address)).payload).toContain('You have approved this');
    expect((await approve(visitors.rita)).payload).toContain('someone else has to approve');
    expect((await accounts.get(orgId)).state).toBe('in_review');
    expect((await visitors.rob.get(address)).payload).toContain('Rita Reviewer');
    expect((await approve(visitors.rob)).headers.location).toBe(`${address}?done=approved`);
    expect((await accounts.get(orgId)).state).toBe('approved');
  });

  it('a decision on a screening that was replaced meanwhile is refused, and the page shows the new one with what was typed [dashboard.reviews]', async () => {
    const { orgId, id } = await referred();
    const address = `${REVIEWS}/${id}`;
    const screening = shownScreening((await visitors.rita.get(address)).payload);
    await accounts.declare(orgId, declaration({ industry: 'nuclear' }), OPERATOR);
    expect((await visitors.rita.get(address)).payload).toContain(
      'A new screening follows automatically',
    );
    const text = 'The industry nuclear is reviewed by a person.';
    await vettings.record(
      orgId,
      vetting({ ...RESEMBLANCE, reasons: [{ kind: 'industry', score: 1, text }] }),
    );
    const refused = await visitors.rita.send(address, `${address}/decide`, {
      decision: 'approved',
      screening,
      'approved-note': 'seen <script>',
    });
    expect([refused.statusCode, (await accounts.get(orgId)).state]).toEqual([400, 'in_review']);
    expect(refused.payload).toContain('there is a newer screening');
    expect(refused.payload).toContain(text);
    expect(refused.payload).toContain('seen &#60;script&#62;');
    expect(shownScreening(refused.payload)).not.toBe(screening);
  });

  it('no name counts as compared that was changed after the screening, and of a closed account nothing is promised [dashboard.reviews]', async () => {
    const { orgId, id } = await referred();
    const { reasons } = RESEMBLANCE;
    await vettings.record(
      orgId,
      await currentVetting(registries, orgId, { outcome: 'flagged', reasons: reasons! }),
    );
    const shown = async () => (await visitors.rita.get(`${REVIEWS}/${id}`)).payload;
    const before = await shown();
    expect(before).toContain('>nothing<');
    expect(before).not.toContain('before the change');
    await database.pool.query(`update account set name = 'Dora Exampel' where id = $1`, [orgId]);
    const renamed = await shown();
    expect(renamed).toContain('nothing before the change');
    expect(renamed).toContain('A new screening follows automatically');
    expect(renamed).not.toContain('>nothing<');
    await accounts.close(orgId, OPERATOR, 'They gave up.');
    const closed = await shown();
    expect(closed).toContain('The account stays closed.');
    expect(closed).not.toMatch(/reinstate|comes by itself/);
  });
});

describe('who reviews', () => {
  it('for owners and visitors there is no queue; operators read it; only reviewers decide, and not about their own organisation [dashboard.reviews, dashboard.roles]', async () => {
    const { orgId, id } = await referred();
    const address = `${REVIEWS}/${id}`;
    const act = `${address}/decide`;
    const { vettingId: screening } = (await vettings.openReview(orgId))!;
    const fields = { decision: 'rejected', screening: screening!, 'rejected-note': 'because' };
    const form = formTokenOf((await visitors.owner.get('/dashboard/account')).payload);
    for (const path of [REVIEWS, address]) {
      expect((await visitors.owner.get(path)).statusCode).toBe(404);
      expect((await browser({ address: '192.0.2.77' }).get(path)).statusCode).toBe(303);
    }
    expect((await visitors.owner.post(act, { form, ...fields })).statusCode).toBe(404);
    const read = (await visitors.otto.get(address)).payload;
    expect(read).toContain('Reviewers decide this');
    const otto = { form: formTokenOf(read), ...fields };
    expect((await visitors.otto.post(act, otto)).statusCode).toBe(403);
    // Without the token of their own session a reviewer's browser can be made to decide nothing.
    expect((await visitors.rita.post(act, fields)).statusCode).toBe(403);
    expect((await visitors.rita.post(act, otto)).statusCode).toBe(403);
    const both = await newPerson(database.pool, [
      { kind: 'staff', role: 'reviewer' },
      { kind: 'organisation', orgId, role: 'member' },
    ]);
    const member = browser({ address: '192.0.2.78' });
    await member.signIn(both);
    expect((await member.get(address)).payload).toContain('You are a member');
    expect((await member.send(address, act, fields)).statusCode).toBe(403);
    for (const wrong of ['rev_none', 'x', orgId]) {
      expect((await visitors.rita.get(`${REVIEWS}/${wrong}`)).statusCode).toBe(404);
    }
    expect((await accounts.get(orgId)).state).toBe('in_review');
    expect(errors).toEqual([]);
  });

  it('what applicants and reviewers typed is text on the pages of reviews [dashboard.escaped]', async () => {
    const evil = '"><script>alert(1)</script>';
    const { orgId, id } = await referred({
      account: { name: evil },
      declared: {
        tradingNames: [evil],
        parties: [{ role: 'owner', name: evil, country: 'FR' }],
        declaredBy: evil,
      },
      found: {
        ...RESEMBLANCE,
        outcome: 'hit',
        reasons: [{ ...RESEMBLANCE.reasons![0]!, text: evil, name: evil }],
      },
    });
    const address = `${REVIEWS}/${id}`;
    const screening = (await vettings.openReview(orgId))!.vettingId!;
    const fields = { decision: 'approved', screening, 'approved-note': evil };
    await visitors.rob.send(address, `${address}/decide`, fields);
    for (const path of [REVIEWS, address]) {
      const { payload, headers } = await visitors.rita.get(path);
      expect(payload).not.toContain('<script>alert');
      expect(payload).not.toContain('<i>Reviewer');
      expect(headers['cache-control']).toBe('no-store');
    }
  });
});
