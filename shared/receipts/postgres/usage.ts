import type { Pool } from 'pg';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import { primaryAlone, type Reads } from '#shared/kernel/postgres/replica.ts';
import {
  type Columns,
  queryRow,
  queryRows,
  type Row,
  statement,
} from '#shared/kernel/postgres/statement.ts';
import {
  figureOf,
  USAGE_COUNTS,
  USAGE_DIMENSIONS,
  USAGE_FIGURES,
  type UsageFigure,
} from '#shared/ledger/usage-columns.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { OTHER_VALUES } from '#shared/kernel/tags.ts';
import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import { planByIndex } from '#shared/ledger/postgres/append.ts';
import { USAGE_MOVED } from '#shared/ledger/postgres/usage-sums.ts';
import {
  DATA_QUALITIES,
  QUANTITY_UNITS,
  type QuantityName,
} from '#shared/methodology/measurement.ts';
import {
  tagKeyOf,
  USAGE_GROUPINGS_MAX,
  type USAGE_GROUPS,
  USAGE_ROWS_MAX,
  type UsageAmount,
  type UsageFigures,
  type UsageGrouping,
  type UsageRange,
  type UsageReport,
} from '../usage.ts';

export interface UsageRequest {
  orgId: string;
  range: UsageRange;
  groupBy: readonly UsageGrouping[];
  /** Of requests with this tag alone. Where they are grouped by a tag too, it must be the same one. */
  tag?: { key: string; value: string } | undefined;
  /** Of requests with this key alone, by its id. */
  keyId?: string;
}

export type UsageReader = ReturnType<typeof createUsageReader>;

/**
 * Figures of a period or of a range of the ledger, exact to the last digit, as of the entries that the ledger has. Whole
 * days and hours are read from the sums that integration keeps; receipts themselves are read only of the hours in which
 * the range begins and ends (of a period the part of the hour that has gone by inside it, or outside it where that is
 * shorter: up to now, nothing), and of a log whose sums are made anew. Periods are read by `periods`, which may lag; a range
 * of the ledger is the same whenever it is read, and so read where all of it is.
 */
export function createUsageReader(pool: Pool, periods: Reads = primaryAlone(pool)) {
  const ranges = primaryAlone(pool);
  return {
    /** Whether a request of the organisation was counted by a tag with this key. */
    hasTag: async (orgId: string, key: string): Promise<boolean> =>
      (await queryRow(pool, HAS_TAG, [orgId, key])) !== undefined,

    /** Groups with at least one request, in the order of their names. */
    async usage({ orgId, range, groupBy, tag, keyId }: UsageRequest): Promise<UsageReport> {
      const hourly = groupBy.includes('hour');
      const values = 'from' in range ? timesOf(range, hourly, Date.now()) : indexesOf(range);
      const partsOf = (source: Source): Parts =>
        'from' in range ? partsOfTime(source) : partsOfIndexes(source, hourly);
      const key = tag?.key ?? groupBy.map(tagKeyOf).find((each) => each !== undefined);
      const tags = key === undefined ? [] : [key, tag?.value ?? null];
      const parts =
        key === undefined ? partsOf(ALL) : partsOfTag(partsOf, values.length, tag?.value);
      const keys = keyId === undefined ? [] : [keyId];
      const given = [orgId, ...values, ...tags, ...keys];
      const meant = keyId === undefined ? '' : `where f.key_id = $${given.length}`;
      const query = statement(COLUMNS, sumOf(parts, groupBy, meant));
      const rows = await ('from' in range ? periods : ranges).run((db) =>
        inTransaction(db, async (client) => {
          await planByIndex(client);
          return queryRows(client, query, given);
        }),
      );
      // The total is a row of its own, which is always there and comes first.
      const [total, ...groups] = rows as [UsageRow, ...UsageRow[]];
      return {
        ledgerSize: Number(total.ledger_size),
        currency: total.currency,
        groups:
          groups.length > USAGE_ROWS_MAX
            ? null
            : groups.map((row) => ({ names: namesOf(row, groupBy.length), ...figuresOf(row) })),
        total: figuresOf(total),
      };
    },
  };
}

const HAS_TAG = statement({}, 'select from usage_tag_day where org_id = $1 and tag = $2 limit 1');

const COLUMNS = {
  ...Object.fromEntries(
    Array.from({ length: USAGE_GROUPINGS_MAX }, (_, i) => [`g${i}`, 'text?'] as const),
  ),
  ...(Object.fromEntries(USAGE_FIGURES.map((name) => [name, 'numeric'])) as Record<
    UsageFigure,
    'numeric'
  >),
  qualities: '_text',
  ledger_size: 'int8',
  currency: 'text?',
} satisfies Columns;
type UsageRow = Row<ReturnType<typeof statement<typeof COLUMNS>>> & Record<string, string | null>;

/** The name of a row's group; rows have the columns of the sums. */
const GROUPS: Readonly<Record<(typeof USAGE_GROUPS)[number], string>> = {
  hour: `to_char(f.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
  day: `to_char(f.at at time zone 'UTC', 'YYYY-MM-DD')`,
  month: `to_char(f.at at time zone 'UTC', 'YYYY-MM')`,
  model: 'f.model',
  region: 'f.region',
  key: 'f.key_id',
  tier: 'f.tier',
  quality: 'f.quality',
};

const nameOf = (grouping: UsageGrouping): string =>
  tagKeyOf(grouping) === undefined ? GROUPS[grouping as keyof typeof GROUPS] : 'f.value';

/** What figures are read from: the sums of all receipts, or of those with a tag, which have its value. */
interface Source {
  hours: string;
  days: string;
  /** Begins the names of its tables. */
  prefix: string;
  dimensions: readonly string[];
  /** What rows of sums must be, and what receipts must be. */
  isMeant: (row: string) => string;
  isMeantReceipt: string;
  /** Joins the value to receipts `r` of inferences `m`. */
  joined: string;
  /** The value of such a row. */
  value: string;
}

const ALL: Source = {
  hours: 'usage_hour',
  days: 'usage_day',
  prefix: '',
  dimensions: USAGE_DIMENSIONS,
  isMeant: () => 'true',
  isMeantReceipt: 'true',
  joined: '',
  value: `''`,
};

/** Receipts with the tag that the parameter at `at` has the key of, with the value in the next one, where it has one. */
const taggedAs = (at: number): Source => ({
  hours: 'usage_tag_hour',
  days: 'usage_tag_day',
  prefix: 'tag_',
  dimensions: [...USAGE_DIMENSIONS, 'value'],
  isMeant: (row) =>
    `${row}.tag = $${at} and ($${at + 1}::text is null or ${row}.value = $${at + 1})`,
  isMeantReceipt: `($${at + 1}::text is null or t.value = $${at + 1})`,
  joined: `cross join lateral (
      select coalesce(v.value, '${OTHER_VALUES}') as value
      from unnest(r.tags) as x (tag)
      left join usage_tag v on v.org_id = $1 and v.at = date_trunc('day', receipt_hour(m.first_id), 'UTC')
        and v.tag = $${at} and v.value = split_part(x.tag, '=', 2)
      where split_part(x.tag, '=', 1) = $${at}) t`,
  value: 't.value',
});

/**
 * With a value, figures of the requests that have it. Without one, of all requests by their value: those that have none are all
 * without those that have one, which is exact, since decimals are.
 */
function partsOfTag(
  partsOf: (source: Source) => Parts,
  parameters: number,
  value: string | undefined,
): Parts {
  const tagged = partsOf(taggedAs(parameters + 2));
  if (value !== undefined) return tagged;
  const all = partsOf(ALL);
  const names = `at, ${DIMENSIONS}`;
  return {
    tables: [
      ...new Set([...all.tables, ...tagged.tables]),
      `of_tag as materialized (${tagged.queries.join(' union all ')})`,
    ],
    queries: [
      ...all.queries,
      `select ${names}, value, ${USAGE_FIGURES.join(', ')} from of_tag`,
      `select ${names}, '', ${USAGE_FIGURES.map((name) => `-${name}`).join(', ')} from of_tag`,
    ],
  };
}

const DIMENSIONS = USAGE_DIMENSIONS.join(', ');
const sumsFrom = ({ prefix }: Source): string =>
  `at, ${DIMENSIONS}, ${prefix === '' ? `''::text as value` : 'value'}, ${USAGE_FIGURES.join(', ')}`;

/** Where figures come from: queries that give the columns of the sums, and the tables that they name. */
interface Parts {
  /** Common table expressions, by which the queries below it can be written. */
  tables: string[];
  queries: string[];
}

function sumOf(
  { tables, queries }: Parts,
  groupBy: readonly UsageGrouping[],
  meant: string,
): string {
  const names = groupBy.map(nameOf);
  const columns = Array.from({ length: USAGE_GROUPINGS_MAX }, (_, i) => {
    const name = names[i];
    return name === undefined ? `null as g${i}` : `${name} collate "C" as g${i}`;
  });
  const sums = USAGE_FIGURES.map((name) => `trim_scale(coalesce(sum(f.${name}), 0)) as ${name}`);
  const qualities = DATA_QUALITIES.map(
    (tier) => `coalesce(sum(f.covered) filter (where f.quality = '${tier}'), 0)::text`,
  );
  const order = names.map((_, i) => `g${i}`).join(', ');
  return `
    with head as materialized (select size, usage_size from ledger_head where org_id = $1), ${tables.join(', ')}
    select ${columns.join(', ')}, ${sums.join(', ')}, array[${qualities.join(', ')}] as qualities,
      coalesce((select size from head), 0) as ledger_size, (select code from currency) as currency
    from (${queries.join(' union all ')}) f ${meant}
    group by grouping sets ((${names.join(', ')}), ())
    having grouping(${names[0]}) = 1 or sum(${USAGE_COUNTS.map((name) => `f.${name}`).join(' + ')}) <> 0
    order by grouping(${names[0]}) desc, ${order}
    limit ${USAGE_ROWS_MAX + 2}`;
}

/**
 * Inferences one by one (`offset 0` and `limit 1` keep the planner from reading the whole ledger for the sake of an index in it): those of `piece`, ranges of ids that are summed up and the sign
 * with which they count, by their current receipt, and what entries that are not summed up yet change.
 */
function oneByOne(
  { prefix, joined, value }: Source,
  piece: string,
  isMeant: string,
  isCut: string,
): Parts {
  return {
    tables: [
      `${prefix}piece as materialized (${piece})`,
      `${prefix}standing as (
         select b.entry_id as first_id, e.index as first_index, coalesce(n.entry_id, b.entry_id) as entry_id, p.sign
         from ${prefix}piece p
         cross join lateral (
           select b.entry_id from ledger_body b where b.org_id = $1 and b.entry_id >= p.first_id and b.entry_id < p.end_id
             and b.kind in ('inference', 'degraded', 'failed', 'refused') offset 0) b
         cross join lateral (
           select e.index from ledger_entry e where e.entry_id = b.entry_id and e.org_id = $1 limit 1) e
         left join lateral (
           select s.entry_id from receipt_revision v join ledger_entry s on s.entry_id = v.revision_id
           where v.org_id = $1 and v.first_id = b.entry_id and s.index < (select usage_size from head)
           order by s.index desc limit 1) n on true
         where e.index < (select usage_size from head))`,
      `entry as (
         select e.org_id, e.index, e.entry_id, e.supersedes from ledger_entry e
         where e.org_id = $1 and e.index >= (select usage_size from head))`,
      USAGE_MOVED,
    ],
    queries: [
      `select receipt_hour(m.first_id) as at, ${USAGE_DIMENSIONS.map((name) => `r.${name}`).join(', ')}, ${value} as value,
         ${USAGE_FIGURES.map((name) => `m.sign * ${figureOf(name)}`).join(', ')}
       from (select first_id, first_index, entry_id, sign, true as summed from ${prefix}standing
         union all select first_id, first_index, entry_id, sign, false from moved) m
       join receipt_figure r on r.org_id = $1 and r.entry_id = m.entry_id ${joined}
       where case when m.summed then ${isCut} else ${isMeant} end`,
    ],
  };
}

/** The parameters of `partsOfTime`. */
function timesOf(
  { from, to }: { from: number; to: number },
  hourly: boolean,
  now: number,
): unknown[] {
  const up = (ms: number, unit: number): number => Math.ceil(ms / unit) * unit;
  const down = (ms: number, unit: number): number => Math.floor(ms / unit) * unit;
  const span = (start: number, end: number): [number, number][] =>
    start < end ? [[start, end]] : [];
  /** What `unit` covers wholly, and what is left on both sides of it. */
  const cut = (start: number, end: number, unit: number) => {
    const [first, last] = [up(start, unit), down(end, unit)];
    return first < last
      ? { whole: span(first, last), rest: [...span(start, first), ...span(last, end)] }
      : { whole: [], rest: span(start, end) };
  };
  const days = hourly ? { whole: [], rest: span(from, to) } : cut(from, to, DAY_MS);
  const hours = days.rest.map(([start, end]) => cut(start, end, HOUR_MS));
  const wholeHours = hours.flatMap(({ whole }) => whole);
  const pieces: { start: number; end: number; sign: 1 | -1 }[] = [];
  for (const [start, end] of hours.flatMap(({ rest }) => rest)) {
    const around = [...span(down(start, HOUR_MS), start), ...span(end, up(end, HOUR_MS))];
    if (hasGoneBy(around, now) < hasGoneBy([[start, end]], now)) {
      wholeHours.push([down(start, HOUR_MS), up(end, HOUR_MS)]);
      pieces.push(
        ...around.map(([first, last]) => ({ start: first, end: last, sign: -1 }) as const),
      );
    } else pieces.push({ start, end, sign: 1 });
  }
  const times = (spans: [number, number][], end: 0 | 1): Date[] =>
    spans.map((each) => new Date(each[end]));
  return [
    firstReceiptIdAt(from),
    firstReceiptIdAt(to),
    times(days.whole, 0),
    times(days.whole, 1),
    times(wholeHours, 0),
    times(wholeHours, 1),
    pieces.map(({ start }) => firstReceiptIdAt(start)),
    pieces.map(({ end }) => firstReceiptIdAt(end)),
    pieces.map(({ sign }) => sign),
  ];
}

function partsOfTime(source: Source): Parts {
  const sums = (table: string, first: number): string =>
    `select ${sumsFrom(source)} from unnest($${first}::timestamptz[], $${first + 1}::timestamptz[]) as w (start, "end")
     join ${table} u on u.org_id = $1 and u.at >= w.start and u.at < w."end" and ${source.isMeant('u')}`;
  const { tables, queries } = oneByOne(
    source,
    'select * from unnest($8::text[], $9::text[], $10::int[]) as p (first_id, end_id, sign)',
    `m.first_id >= $2 and m.first_id < $3 and ${source.isMeantReceipt}`,
    source.isMeantReceipt,
  );
  return { tables, queries: [sums(source.days, 4), sums(source.hours, 6), ...queries] };
}

/** How much of these times is over, in milliseconds: as many receipts there may be. */
function hasGoneBy(spans: readonly [number, number][], now: number): number {
  return spans.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(end, now) - start), 0);
}

/**
 * Sums count whole where all their first receipts lie in the range. Where some do, those of the hours are looked at, and
 * in the hours the receipts: the ledger follows time, so these are a few hours at either end.
 */
function partsOfIndexes(source: Source, hourly: boolean): Parts {
  const { prefix } = source;
  const touches = (of: string): string =>
    `${of}.first_index <= $3 and ${of}.last_index >= $2 and ${source.isMeant(of)}`;
  const inside = (of: string): string => `(${of}.first_index >= $2 and ${of}.last_index <= $3)`;
  const sameGroup = (one: string, other: (name: string) => string): string =>
    source.dimensions.map((name) => `${one}.${name} = ${other(name)}`).join(' and ');
  const hours = hourly
    ? `select u.* from ${source.hours} u where u.org_id = $1 and ${touches('u')}`
    : `select u.* from ${prefix}days d join ${source.hours} u on u.org_id = $1 and u.at >= d.at and u.at < d.at + interval '24 hours'
         and ${sameGroup('u', (name) => `d.${name}`)}
       where not ${inside('d')} and ${touches('u')}`;
  const ofReceipt = (name: string): string => (name === 'value' ? source.value : `r.${name}`);
  const each = oneByOne(
    source,
    `select receipt_id_at(at) as first_id, receipt_id_at(at + interval '1 hour') as end_id, 1 as sign
     from (select distinct at from ${prefix}hours u where not ${inside('u')}) c`,
    `m.first_index between $2 and $3 and ${source.isMeantReceipt}`,
    `m.first_index between $2 and $3 and ${source.isMeantReceipt}
       and exists (select from ${prefix}hours u where u.at = receipt_hour(m.first_id) and not ${inside('u')} and ${sameGroup('u', ofReceipt)})`,
  );
  return {
    tables: [
      ...(hourly
        ? []
        : [
            `${prefix}days as materialized (select u.* from ${source.days} u where u.org_id = $1 and ${touches('u')})`,
          ]),
      `${prefix}hours as materialized (${hours})`,
      ...each.tables,
    ],
    queries: [
      ...(hourly ? [] : [`select ${sumsFrom(source)} from ${prefix}days u where ${inside('u')}`]),
      `select ${sumsFrom(source)} from ${prefix}hours u where ${inside('u')}`,
      ...each.queries,
    ],
  };
}

function indexesOf({
  firstIndex,
  lastIndex,
}: {
  firstIndex: number;
  lastIndex: number;
}): unknown[] {
  return [firstIndex, lastIndex];
}

function namesOf(row: UsageRow, count: number): string[] {
  return Array.from({ length: count }, (_, i) => row[`g${i}`] ?? '');
}

function figuresOf(row: UsageRow): UsageFigures {
  const [refused, failed, covered, uncovered] = USAGE_COUNTS.map((name) => Number(row[name])) as [
    number,
    number,
    number,
    number,
  ];
  const tokens = (prefix: '' | 'uncovered_') => ({
    input: Number(row[`${prefix}input_tokens`]),
    cachedInput: Number(row[`${prefix}cached_input_tokens`]),
    output: Number(row[`${prefix}output_tokens`]),
  });
  const amount = (name: QuantityName): UsageAmount => {
    return { value: row[name], lower: row[`${name}_lower`], upper: row[`${name}_upper`] };
  };
  return {
    requests: refused + failed + covered + uncovered,
    refused,
    failed,
    covered,
    uncovered,
    tokens: tokens(''),
    uncoveredTokens: tokens('uncovered_'),
    amounts: Object.fromEntries(
      Object.keys(QUANTITY_UNITS).map((name) => [name, amount(name as QuantityName)]),
    ) as UsageFigures['amounts'],
    cost: row.cost,
    priced: Number(row.priced),
    quality: row.qualities.map(Number),
  };
}
