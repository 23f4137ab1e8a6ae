import { expect, it } from 'vitest';
import { SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { createStatusHistory } from '#shared/catalogue/postgres/status-history.ts';
import { LOOK_EVERY_MS } from '#shared/catalogue/service-history.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
let now = Date.UTC(2026, 10, 20, 12);
const surroundings = { ...systemSurroundings, now: () => now };
const history = createStatusHistory(database.poolAs('docket_api', 2), surroundings);
const operator = { kind: 'operator', id: 'os:ada@host', address: 'os:ada@host' } as const;

it('of processes that look at once one counts, each state of a day is counted, and days without a look are not there [dashboard.everyone]', async () => {
  const looks = ['normal', 'degraded', 'normal'];
  for (const state of looks) {
    // Two processes, one after the other, and at the same time.
    await Promise.all([1, 2].map(() => history.note({ ledger: 'normal', 'region:eu': state })));
    now += LOOK_EVERY_MS;
  }
  now += 2 * DAY_MS;
  await history.note({ ledger: 'behind', 'region:eu': 'normal' });
  expect(await history.days()).toEqual([
    { day: '2026-11-20', component: 'ledger', found: { normal: 3 } },
    { day: '2026-11-20', component: 'region:eu', found: { normal: 2, degraded: 1 } },
    { day: '2026-11-22', component: 'ledger', found: { behind: 1 } },
    { day: '2026-11-22', component: 'region:eu', found: { normal: 1 } },
  ]);
  now += 88 * DAY_MS;
  await history.note({ ledger: 'normal' });
  expect((await history.days()).map(({ day }) => day)).toEqual([
    '2026-11-22',
    '2026-11-22',
    '2027-02-18',
  ]);
});

it('an incident is told, said more of and ended by operators at either place, in the audit log of the service, and stands for ninety days [dashboard.everyone]', async () => {
  const beganAt = now;
  const told = { title: 'Slow', text: 'We look at it.', components: ['ledger'], beganAt };
  const id = await history.open(told, operator);
  now += 60_000;
  const byCommand = createStatusHistory(database.poolAs('docket_operator', 1), surroundings);
  const saidAt = now;
  expect(await byCommand.say(id, { text: 'Still slow.', isOver: false }, operator)).toBe(true);
  expect(await history.incidents()).toMatchObject([{ id, endedAt: null }]);
  now += 60_000;
  expect(await byCommand.say(id, { text: 'It is over.', isOver: true }, operator)).toBe(true);
  expect(await byCommand.say('inc_none', { text: 'Nothing.', isOver: false }, operator)).toBe(
    false,
  );
  expect(await history.incidents()).toEqual([
    {
      id,
      title: 'Slow',
      components: ['ledger'],
      beganAt,
      endedAt: now,
      words: [
        { at: now, text: 'It is over.' },
        { at: saidAt, text: 'Still slow.' },
        { at: beganAt, text: 'We look at it.' },
      ],
    },
  ]);
  const audit = createAuditLog(database.pool, surroundings);
  const { items } = await audit.list({ orgId: SERVICE_CHAIN, limit: 5, order: 'asc' });
  expect(items.map(({ action, subject }) => `${action} ${subject}`)).toEqual([
    `incident.opened ${id}`,
    `incident.told ${id}`,
    `incident.ended ${id}`,
  ]);
  const endedAt = now;
  now = endedAt + 90 * DAY_MS;
  expect(await history.incidents()).toMatchObject([{ id, endedAt }]);
  now += 1;
  expect(await history.incidents()).toEqual([]);
});
