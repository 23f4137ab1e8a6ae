import { escapeHtml, html, type Html } from '#api/html.ts';
import { badge, type Tone } from '#api/dashboard/parts/elements.ts';
import { HISTORY_DAYS, type Incident, type StatusDay } from '#shared/catalogue/service-history.ts';
import { count } from '#shared/methodology/readable.ts';
import { dateTime, day as dayText, DAY_MS, isoDay } from '#shared/kernel/time.ts';
import type { ServiceHistory, ServiceStatus } from './status.ts';

/** States in which nothing is wrong. */
const WELL = ['normal', 'decommissioned'];

interface DrawnDay {
  day: string;
  tone: Tone;
  /** What was found, with how often it was looked. */
  words: string;
}

/** The ninety days of each part, and what operators said of incidents. */
export function historySections(
  history: ServiceHistory | undefined,
  { at, regions }: Pick<ServiceStatus, 'at' | 'regions'>,
): Html {
  if (history === undefined) {
    return html`<section class="stack tight">
      <h2>The last ${HISTORY_DAYS} days</h2>
      <p class="soft">What was is not known now: the database does not answer this process.</p>
    </section>`;
  }
  const parts = [
    ...regions.map(({ code, name }) => ({ component: `region:${code}`, name })),
    { component: 'ledger', name: 'Ledger' },
  ];
  return html`<section class="stack tight">
      <h2>The last ${HISTORY_DAYS} days</h2>
      <p class="soft small prose">
        Every five minutes one process of the service notes the state of each part. A day is drawn
        by what was noted on it; of a day without a note nothing is known, and a fault between two
        notes is not seen.
      </p>
      ${parts.map(({ component, name }) => partOf(name, daysOf(history.days, component, at)))}
    </section>
    <section class="stack tight">
      <h2>Incidents</h2>
      ${
        history.incidents.length === 0
          ? html`<p class="soft">Operators have told of none in these days.</p>`
          : history.incidents.map((incident) => incidentOf(incident, parts))
      }
      <p class="small"><a href="/status.atom">Atom feed of incidents</a></p>
    </section>`;
}

function daysOf(days: readonly StatusDay[], component: string, at: number): DrawnDay[] {
  const found = new Map(
    days.filter((each) => each.component === component).map((each) => [each.day, each.found]),
  );
  return Array.from({ length: HISTORY_DAYS }, (_, i) => {
    const day = isoDay(at - (HISTORY_DAYS - 1 - i) * DAY_MS);
    return drawn(day, found.get(day));
  });
}

const named = (day: string): string => dayText(Date.parse(day));

function drawn(day: string, found: StatusDay['found'] | undefined): DrawnDay {
  if (found === undefined) return { day, tone: 'plain', words: 'nothing was noted' };
  const looks = Object.values(found).reduce((sum, each) => sum + each, 0);
  const faults = Object.entries(found).filter(([state]) => !WELL.includes(state));
  if (faults.length === 0) {
    const states = Object.keys(found).join(' or ');
    return { day, tone: 'good', words: `${states} each of ${count(looks)} times` };
  }
  const words = faults
    .map(([state, times]) => `${state} ${count(times)} of ${count(looks)} times`)
    .join(', ');
  return { day, tone: faults.some(([state]) => state === 'degraded') ? 'bad' : 'warn', words };
}

function partOf(name: string, days: readonly DrawnDay[]): Html {
  const faults = days.filter(({ tone }) => tone === 'warn' || tone === 'bad');
  const unknown = days.filter(({ tone }) => tone === 'plain').length;
  const well = days.length - faults.length - unknown;
  return html`<div class="stack tight">
    <h3>${name}</h3>
    <svg
      class="days"
      viewBox="0 0 ${days.length * 4} 24"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      ${days.map(
        ({ day, tone, words }, i) =>
          html`<rect class="${tone}" x="${i * 4}" width="3" height="24"
            ><title>${named(day)}: ${words}</title></rect
          >`,
      )}
    </svg>
    <p class="soft small">
      Days without a fault at any note: ${count(well)}. With one: ${count(faults.length)}. Of which
      nothing was noted: ${count(unknown)}.
    </p>
    ${
      faults.length === 0
        ? undefined
        : html`<details class="act">
            <summary>Days with a fault</summary>
            <ul class="plain">
              ${faults.toReversed().map(({ day, words }) => html`<li>${named(day)}: ${words}</li>`)}
            </ul>
          </details>`
    }
  </div>`;
}

function incidentOf(
  { id, title, components, beganAt, endedAt, words }: Incident,
  parts: readonly { component: string; name: string }[],
): Html {
  const names = components.map(
    (each) => parts.find(({ component }) => component === each)?.name ?? each,
  );
  return html`<article class="stack tight" id="${id}">
    <h3>${title} ${endedAt === null ? badge('warn', 'not over yet') : badge('plain', 'over')}</h3>
    <p class="soft small">
      ${dateTime(beganAt)}${endedAt === null ? '' : ` to ${dateTime(endedAt)}`};
      ${names.length === 0 ? 'the whole service' : names.join(', ')}
    </p>
    ${words.map(({ at, text }) => html`<p class="prose"><span class="soft small">${dateTime(at)}</span> ${text}</p>`)}
  </article>`;
}

/** Incidents as an Atom feed (RFC 4287), each an entry that changes when more is said of it. */
export function incidentFeed(incidents: readonly Incident[], origin: string, at: number): string {
  const updated = (incident: Incident): number =>
    Math.max(incident.beganAt, incident.endedAt ?? 0, incident.words[0]?.at ?? 0);
  const iso = (time: number): string => new Date(time).toISOString();
  const newest = Math.max(...incidents.map(updated), 0);
  const entries = incidents.map((incident) => {
    const { id, title, beganAt, endedAt, words } = incident;
    const said = words.map((word) => `${dateTime(word.at)}: ${word.text}`);
    const text = [...(endedAt === null ? [] : [`Over since ${dateTime(endedAt)}.`]), ...said];
    return [
      '<entry>',
      `<id>${escapeHtml(`${origin}/status#${id}`)}</id>`,
      `<title>${escapeHtml(title)}</title>`,
      `<link href="${escapeHtml(`${origin}/status#${id}`)}"/>`,
      `<published>${iso(beganAt)}</published>`,
      `<updated>${iso(updated(incident))}</updated>`,
      `<content type="text">${escapeHtml(text.join('\n\n'))}</content>`,
      '</entry>',
    ].join('\n');
  });
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>${escapeHtml(`${origin}/status`)}</id>`,
    '<title>Incidents</title>',
    `<author><name>${escapeHtml(new URL(origin).host)}</name></author>`,
    `<link rel="self" href="${escapeHtml(`${origin}/status.atom`)}"/>`,
    `<updated>${iso(newest === 0 ? at : newest)}</updated>`,
    ...entries,
    '</feed>\n',
  ].join('\n');
}
