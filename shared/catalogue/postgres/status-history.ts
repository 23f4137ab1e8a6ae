import type { Pool } from 'pg';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { type Actor, type AuditEvent, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { HISTORY_DAYS, type Incident, LOOK_EVERY_MS, type StatusDay } from '../service-history.ts';

/** More than ninety days have, and still a page. */
const INCIDENTS_MAX = 100;
/** Of one incident; the newest. */
const WORDS_MAX = 50;

export type StatusHistory = ReturnType<typeof createStatusHistory>;

/** What is kept of how the service was, and what operators have said of it. */
export function createStatusHistory(pool: Pool, surroundings: Surroundings) {
  const now = (): number => surroundings.now();
  const since = () => now() - (HISTORY_DAYS - 1) * DAY_MS;
  return {
    /** Notes how each part is. Where another process has just done so, nothing is. */
    async note(states: Readonly<Record<string, string>>): Promise<void> {
      const at = now();
      // A look that comes a little early counts.
      const before = at - LOOK_EVERY_MS * 0.8;
      await queryRows(pool, NOTE, [Object.keys(states), Object.values(states), at, before]);
      await queryRows(pool, FORGET, [since() - DAY_MS]);
    },
    /** Days of which something was noted. */
    async days(): Promise<StatusDay[]> {
      const rows = await queryRows(pool, DAYS, [since()]);
      return rows.map(({ day, component, found }) => ({
        day,
        component,
        found: JSON.parse(found) as StatusDay['found'],
      }));
    },
    /** Those that last, and those that have been over for ninety days at most, newest first. */
    async incidents(): Promise<Incident[]> {
      const rows = await queryRows(pool, INCIDENTS, [now() - HISTORY_DAYS * DAY_MS, INCIDENTS_MAX]);
      return rows.map(({ id, title, components, began_at, ended_at, words }) => ({
        id,
        title,
        components,
        beganAt: began_at,
        endedAt: ended_at,
        words: JSON.parse(words) as Incident['words'],
      }));
    },
    /** @param beganAt epoch milliseconds */
    open(
      incident: Pick<Incident, 'title' | 'components' | 'beganAt'> & { text: string },
      actor: Actor,
    ) {
      const { title, components, beganAt, text } = incident;
      const id = surroundings.newId('inc');
      return inTransaction(pool, async (client) => {
        await queryRows(client, OPEN, [id, title, components, beganAt]);
        await queryRows(client, SAY, [id, now(), text]);
        await appendAudit(client, surroundings, act('incident.opened', id, actor, { title, text }));
        return id;
      });
    },
    /** Says more of one, and that it is over where it is. Returns whether there is such an incident. */
    say(
      id: string,
      { text, isOver }: { text: string; isOver: boolean },
      actor: Actor,
    ): Promise<boolean> {
      return inTransaction(pool, async (client) => {
        const found = await queryRow(client, SAY_OF, [id, isOver ? now() : null]);
        if (found === undefined) return false;
        await queryRows(client, SAY, [id, now(), text]);
        const action = isOver ? 'incident.ended' : 'incident.told';
        await appendAudit(client, surroundings, act(action, id, actor, { text }));
        return true;
      });
    },
  };
}

const act = (
  action: AuditEvent['action'],
  subject: string,
  actor: Actor,
  details: NonNullable<AuditEvent['details']>,
): AuditEvent => ({ orgId: SERVICE_CHAIN, action, subject, actor, details });

/** A millisecond, in which two words of one incident cannot be said. */
const at = (place: string) => `to_timestamp(${place}::float8 / 1000)`;
const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;
const dayOf = (place: string) => `(${at(place)} at time zone 'utc')::date`;

/** A look counts once for its part: that of a process which comes within a few minutes of another's is none. */
const NOTE = statement(
  {},
  `insert into status_day as kept (day, component, found, looked_at)
   select ${dayOf('$3')}, component, jsonb_build_object(state, 1), ${at('$3')}
   from unnest($1::text[], $2::text[]) as look (component, state)
   on conflict (day, component) do update set
     found = kept.found || (select jsonb_object_agg(state, coalesce((kept.found ->> state)::int, 0) + 1)
                            from jsonb_object_keys(excluded.found) as state),
     looked_at = excluded.looked_at
   where kept.looked_at < ${at('$4')}`,
);

const FORGET = statement({}, `delete from status_day where day < ${dayOf('$1')}`);

const DAYS = statement(
  { day: 'text', component: 'text', found: 'text' },
  `select day::text, component, found::text from status_day where day >= ${dayOf('$1')} order by day, component`,
);

const INCIDENTS = statement(
  {
    id: 'text',
    title: 'text',
    components: '_text',
    began_at: 'float8',
    ended_at: 'float8?',
    words: 'text',
  },
  `select i.id, i.title, i.components, ${ms('i.began_at')} as began_at, ${ms('i.ended_at')} as ended_at,
     coalesce((select json_agg(json_build_object('at', ${ms('w.at')}, 'text', w.text) order by w.at desc)
      from (select at, text from incident_word where incident_id = i.id order by at desc limit ${WORDS_MAX}) w), '[]')::text as words
   from incident i
   where i.ended_at is null or i.ended_at >= ${at('$1')}
   order by i.began_at desc, i.id desc limit $2`,
);

const OPEN = statement(
  {},
  `insert into incident (id, title, components, began_at) values ($1, $2, $3::text[], ${at('$4')})`,
);
const SAY = statement(
  {},
  `insert into incident_word (incident_id, at, text) values ($1, ${at('$2')}, $3)`,
);
const SAY_OF = statement(
  { id: 'text' },
  // Of nothing and a time `greatest` is the time: without a case, every word would end the incident.
  `update incident set ended_at = case when $2::float8 is null then ended_at else greatest(${at('$2')}, began_at) end
   where id = $1 returning id`,
);
