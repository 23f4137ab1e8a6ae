import { html, type Html } from '#api/html.ts';
import { errorLink } from '#api/docs/page/errors.ts';
import { inline } from '#api/docs/page/markdown.ts';
import { codeRow, type ErrorCode } from '#shared/kernel/error-codes.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import type { Limits, Rate } from '#shared/kernel/plan.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import { receiptOf, replayed, type RequestRow } from '#shared/requests/row.ts';
import { copyable, factsSection, moment, shortId, supportLink, table } from '../parts/elements.ts';
import { limitWords, paceWords } from '../parts/figures.ts';
import type { Frame } from '../parts/layout.ts';
import { outcome } from './page.ts';

export interface RequestParts {
  row: RequestRow;
  /** Its receipt is there to be read. */
  hasReceipt: boolean;
  /** Names of keys by id. */
  keys: ReadonlyMap<string, string>;
  limits: LimitsThen;
}

/** The limits that a request met. */
export interface LimitsThen {
  limits: Limits;
  /** What its key has of its own, which never changes. */
  ofKey: Rate | null;
  /** When those of the organisation were changed since then; null where they are the same. */
  changedAt: number | null;
}

/** What became of one request, or of several alike. */
export function requestPage(frame: Frame, parts: RequestParts): Html {
  const { row } = parts;
  const base = `/dashboard/${frame.membership!.orgId}`;
  return html`<div class="head">
      <p class="crumb"><a href="${base}/requests">Requests</a></p>
      <h1>Request ${shortId(row.id)}</h1>
      ${outcome(row)}
    </div>
    ${ofSeveral(row)} ${error(frame, base, parts)} ${asked(frame, base, parts)} ${times(row)}
    ${receipt(base, parts)}`;
}

function ofSeveral({ requests }: RequestRow): Html | undefined {
  if (requests === 1) return undefined;
  return html`<p class="prose soft">
    This row stands for ${counted(requests, 'request')} of one key with the same outcome that took
    nothing from the daily budget: beyond ten a minute they are counted together. Fields in which
    they differ are left empty.
  </p>`;
}

/** What the code means, and what a caller can do. */
function error(frame: Frame, base: string, parts: RequestParts): Html | undefined {
  const { row, limits: then } = parts;
  const { code } = row;
  if (code === null) return undefined;
  const { when, advice, type } = codeRow(code as ErrorCode);
  const isLimit = type === 'rate_limit_error' && code !== 'budget_exceeded';
  return html`<section class="stack tight">
    <h2>What went wrong</h2>
    <dl class="facts">
      <dt>Code</dt>
      <dd>${errorLink(code, '/docs')}</dd>
      <dt>What it means</dt>
      <dd>${inline(when)}</dd>
      <dt>What to do</dt>
      <dd>${inline(advice)}</dd>
      ${
        code === 'budget_exceeded'
          ? html`<dt>Budgets now</dt>
              <dd><a href="${base}/budgets">What each has left</a></dd>`
          : undefined
      }
      ${
        isLimit
          ? html`<dt>${then.changedAt === null ? 'Limits at that moment' : 'Limits now'}</dt>
              <dd>
                ${limitWords(then.limits)}
                ${then.changedAt === null ? undefined : html`<span class="soft">set after this request, ${moment(then.changedAt, frame.now)}</span>`}
                ${then.ofKey === null ? undefined : html`<br />Its key alone: ${paceWords(then.ofKey)}`}
              </dd>`
          : undefined
      }
      ${
        type === 'policy_error'
          ? html`<dt>Support</dt>
              <dd>
                ${supportLink(frame.supportEmail, { subject: `Request ${row.id}: ${code}`, lines: [frame.address, `Request ${row.id}`] })},
                ${frame.supportEmail}
              </dd>`
          : undefined
      }
    </dl>
  </section>`;
}

function asked(frame: Frame, base: string, { row, keys }: RequestParts): Html {
  const at = timeOfId(row.id);
  const replayOf = replayed(row);
  const rows: readonly (readonly [string, Html | string | undefined])[] = [
    [row.requests > 1 ? 'First' : 'Asked', moment(at, frame.now)],
    ['Last', row.lastMs === null ? undefined : moment(at + row.lastMs, frame.now)],
    ['Route', row.route === null ? undefined : html`<code>${row.route}</code>`],
    [
      'Model',
      row.model === null && row.requestedModel === null
        ? undefined
        : html`${row.model === null ? undefined : html`<code>${row.model}</code>`}
          ${
            row.requestedModel === null
              ? undefined
              : html`<span class="soft">asked for as ${row.requestedModel}</span>`
          }`,
    ],
    ['Region', row.region === null ? undefined : html`<code>${row.region}</code>`],
    ['Stream', row.streamed === null ? undefined : row.streamed ? 'yes' : 'no'],
    ['Key', html`<a href="${base}/keys/${row.keyId}">${keys.get(row.keyId) ?? row.keyId}</a>`],
    ['From', row.network === null ? undefined : html`<code>${row.network}</code>`],
    [
      'Tags',
      row.tags === null ? undefined : html`${row.tags.map((tag) => html`<code>${tag}</code> `)}`,
    ],
    ['Tokens in', row.inputTokens === null ? undefined : count(row.inputTokens)],
    ['Tokens out', row.outputTokens === null ? undefined : count(row.outputTokens)],
    ['Calls upstream', row.upstreamCalls === null ? undefined : count(row.upstreamCalls)],
    ['Screening', screened(row)],
    [
      'Replay of',
      replayOf === null
        ? undefined
        : html`<a href="${base}/requests?find=${replayOf}"><code>${replayOf}</code></a>
            <span class="soft"
              >with the same Idempotency-Key; nothing ran, and the tokens are those of that
              request</span
            >`,
    ],
    ['Request', copyable('request-id', row.id)],
  ];
  return factsSection('What was asked', rows);
}

/** What screening said of it, as far as its row tells: what ran was let through. */
function screened({ code, hasReceipt, replayOf }: RequestRow): string | undefined {
  if (code === 'dual_use_screen_block' || code === 'acceptable_use_violation')
    return hasReceipt ? 'blocked it; its receipt names the rule' : 'blocked it';
  return hasReceipt && replayOf === null ? 'let it through' : undefined;
}

/** A stretch of a request's time. */
interface Stretch {
  name: string;
  ms: number;
  /** The class of its shape. */
  shape: 'missing' | 'band' | 'bar';
}

/** How the time of a request was spent, as far as it is known: what waits is outlined, what comes to its client is solid. */
function stretchesOf({
  queuedMs,
  firstMs,
  totalMs,
}: Pick<RequestRow, 'queuedMs' | 'firstMs' | 'totalMs'>): Stretch[] {
  // Each is measured where it is known, by two clocks: none begins before the one before it has ended, or ends after all.
  const queued = Math.min(queuedMs ?? 0, totalMs);
  const first = Math.min(Math.max(firstMs ?? totalMs, queued), totalMs);
  const stretches: Stretch[] = [
    { name: 'Before the upstream was called', ms: queued, shape: 'missing' },
    {
      name: firstMs === null ? 'Until the answer was there' : 'Until the first of the stream',
      ms: first - queued,
      shape: 'band',
    },
    { name: 'From the first to the end', ms: totalMs - first, shape: 'bar' },
  ];
  return stretches.filter(({ ms, shape }) => ms > 0 || (shape === 'band' && totalMs === 0));
}

const WIDTH = 1_000;
const HEIGHT = 24;

function times(row: RequestRow): Html {
  const stretches = stretchesOf(row);
  const scale = WIDTH / Math.max(row.totalMs, 1);
  let from = 0;
  const shapes = stretches.map(({ name, ms, shape }) => {
    const [x, width] = [(from * scale).toFixed(2), (ms * scale).toFixed(2)];
    from += ms;
    return html`<g
      ><title>${name}: ${count(ms)} ms</title
      ><rect class="${shape}" x="${x}" y="2" width="${width}" height="${HEIGHT - 4}"
    /></g>`;
  });
  return html`<section class="stack tight">
    <h2>How it went</h2>
    <figure class="chart">
      <figcaption>Time from the request to the end of its answer</figcaption>
      <div class="plot">
        <svg
          class="bar-of-times"
          viewBox="0 0 ${WIDTH} ${HEIGHT}"
          preserveAspectRatio="none"
          role="img"
          aria-label="Time of the request; the table below has the figures"
        >
          ${shapes}
        </svg>
      </div>
      <p class="ends soft small"><span>0 ms</span><span>${count(row.totalMs)} ms</span></p>
    </figure>
    ${table(
      'Times',
      ['Stretch', html`<span class="num">ms</span>`],
      [
        ...stretches.map(
          ({ name, ms }) =>
            html`<tr>
              <th scope="row">${name}</th>
              <td class="num">${count(ms)}</td>
            </tr>`,
        ),
        html`<tr>
          <th scope="row">${row.requests > 1 ? 'In all, the longest' : 'In all'}</th>
          <td class="num">${count(row.totalMs)}</td>
        </tr>`,
      ],
    )}
  </section>`;
}

function receipt(base: string, { row, hasReceipt }: RequestParts): Html {
  const id = receiptOf(row);
  return html`<section class="stack tight">
    <h2>Its receipt</h2>
    <p class="prose">
      ${
        id === null
          ? whyNone(row)
          : hasReceipt
            ? html`<a href="${base}/receipts/${id}"><code>${id}</code></a>`
            : html`<code>${id}</code> is not there yet, or not any more: it is issued within a
                moment of the answer, and to a client that left none is issued where nothing had
                run.`
      }
    </p>
  </section>`;
}

function whyNone({ code, status, streamed }: RequestRow): string {
  if (streamed === null && code === null) return 'None: no model was asked for an answer.';
  if (code === null) return 'None: the client left before anything ran.';
  return status >= 500
    ? 'None: the request got no answer, and no provider that was called can have used anything.'
    : 'None: the request was refused, and nothing ran.';
}
