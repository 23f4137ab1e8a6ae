import { html, type Html } from '#api/html.ts';
import { OTHER_VALUES, TAG_LENGTH_MAX, TAG_VALUES_A_DAY_MAX } from '#shared/kernel/tags.ts';
import { day } from '#shared/kernel/time.ts';
import { count } from '#shared/methodology/readable.ts';
import {
  tagKeyOf,
  USAGE_GROUPS,
  USAGE_ROWS_MAX,
  type UsageGrouping,
  type UsageReport,
} from '#shared/receipts/usage.ts';
import type { Frame } from '../parts/layout.ts';
import { usageChart } from './stacked.ts';
import { figuresTable } from './overview.ts';
import { choice, dayFields, field, note } from '../parts/elements.ts';

export interface UsageParts {
  /** Days as the address names them, both included. */
  from: string;
  to: string;
  groupBy: readonly UsageGrouping[];
  report: UsageReport | undefined;
  problem: string | undefined;
  /** The tags that the organisation has declared, and the one that requests are filtered by, as it was typed. */
  tags: readonly string[];
  tag: string;
  keyNames: ReadonlyMap<string, string>;
  /** Epoch milliseconds of these days; undefined where they are none. */
  range: { from: number; to: number } | undefined;
}

/** A page shows so many rows, of a kilobyte each, within its budget of bytes; the CSV has all. */
const ROWS_MAX = 100;

/** Usage of a period by one or two things, as a table and as CSV. */
export function usagePage(frame: Frame, parts: UsageParts): Html {
  const { from, to, groupBy, report, problem, tags, tag } = parts;
  const address = `/dashboard/${frame.membership!.orgId}/usage`;
  const [by, and] = groupBy;
  const query = new URLSearchParams({
    from,
    to,
    by: by!,
    ...(and !== undefined && { and }),
    ...(tag !== '' && { tag }),
  });
  // One that is not declared any more, and that is asked for, stays chosen.
  const groups = [
    ...new Set([...USAGE_GROUPS, ...tags.map((key) => `tag:${key}` as const), ...groupBy]),
  ];
  const options = groups.map((each) => [each, each.replace(':', ' ')] as const);
  return html`<div class="head">
      <h1>Usage</h1>
      ${
        report?.groups == null || report.groups.length === 0
          ? undefined
          : html`<div class="acts">
              <a class="button" href="${address}.csv?${query.toString()}" download>Download CSV</a>
            </div>`
      }
    </div>
    <form class="row end" method="get" action="${address}">
      ${dayFields({ from, to })} ${choice({ name: 'by', label: 'By' }, by, options)}
      ${choice({ name: 'and', label: 'and by' }, and, [['', 'nothing else'], ...options])}
      ${
        tags.length === 0 && tag === ''
          ? undefined
          : field({
              name: 'tag',
              label: `Only the tag, as ${tags[0] ?? 'team'}=…`,
              value: tag,
              max: String(TAG_LENGTH_MAX),
            })
      }
      <button type="submit">Show</button>
    </form>
    ${problem === undefined ? undefined : note('bad', problem)}
    ${report === undefined ? undefined : rows(parts, report)}`;
}

function rows({ groupBy, keyNames, range }: UsageParts, report: UsageReport): Html {
  if (report.groups === null) {
    return note(
      'warn',
      `There are more than ${count(USAGE_ROWS_MAX)} rows. Choose a shorter period or fewer groups.`,
    );
  }
  if (report.groups.length === 0) {
    return html`<div class="empty">
      <h2>No requests in this period</h2>
      <p class="prose">
        Each request counts on the UTC day on which it was asked. Choose other days.
      </p>
    </div>`;
  }
  const nameOf = (name: string, grouping: UsageGrouping): string => {
    if (grouping === 'day') return day(Date.parse(name));
    if (name === OTHER_VALUES) return 'other values';
    return (grouping === 'key' ? keyNames.get(name) : undefined) ?? (name || 'not stated');
  };
  const shown = report.groups.slice(0, ROWS_MAX).map((group) => ({
    names: group.names.map((name, i) => nameOf(name, groupBy[i]!)),
    figures: group,
  }));
  return html`${range && usageChart({ report, groupBy, nameOf, range })}
    ${figuresTable(
      'Usage',
      groupBy.map((each) => capital(each.replace(':', ' '))),
      [{ names: groupBy.map((_, i) => (i === 0 ? 'Total' : '')), figures: report.total }, ...shown],
      { currency: report.currency },
    )}
    <p class="soft small">
      ${
        report.groups.length > ROWS_MAX
          ? `The first ${count(ROWS_MAX)} of ${count(report.groups.length)} rows; the CSV has all. `
          : undefined
      }Brackets
      are 5–95 % intervals, added up as if all receipts erred alike; requests that are not estimated
      are in no amount. The CSV has exact figures of all five quantities.
      ${
        groupBy.some((each) => tagKeyOf(each) !== undefined)
          ? `Requests without the tag are “not stated”. Beyond ${TAG_VALUES_A_DAY_MAX} values of a tag in a day (UTC), plus those with a budget, the rest are counted together as “other values”.`
          : undefined
      }
    </p>`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
