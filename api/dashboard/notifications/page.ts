import { html, type Html } from '#api/html.ts';
import {
  CHOSEN_TYPES,
  EVENT_DAYS,
  type WebhookData,
  type WebhookType,
} from '#shared/accounts/webhook-events.ts';
import { amountWords } from '#shared/budgets/words.ts';
import { isBudgetMeasure } from '#shared/kernel/budget-measures.ts';
import { dateTime } from '#shared/kernel/time.ts';
import { count } from '#shared/methodology/readable.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { Notification } from '#shared/persons/notifications.ts';
import { may } from '#shared/persons/roles.ts';
import {
  badge,
  choice,
  empty,
  pager,
  shortId,
  shortMoment,
  table,
  told,
  type Told,
} from '../parts/elements.ts';
import { sizeWords } from '../parts/figures.ts';
import { buttonForm, type Frame } from '../parts/layout.ts';

/** What is told to members: everything but the test of a webhook. */
type ToldType = Exclude<WebhookType, 'webhook.test'>;

interface Kind<T extends ToldType> {
  name: string;
  /** What happened, with a link to the thing; `base` is the address of the organisation. */
  words: (data: WebhookData[T], base: string, frame: Frame) => Html;
}

const keyLink = (base: string, { id, name, display }: WebhookData['key.leaked']['key']): Html =>
  html`<a href="${base}/keys/${id}">${name}</a> <code class="nowrap">${display}</code>`;

const KINDS: { readonly [T in ToldType]: Kind<T> } = {
  'budget.reached': {
    name: 'Budget reached',
    words: ({ budget, share, used, period_end: end }, base) =>
      html`<a href="${base}/budgets#${budget.id}">${budget.name}</a> reached ${share} %:
        ${budgetAmount(budget, used)}. Its period ends ${dateTime(Date.parse(end))}.
        ${
          budget.mode === 'hard' && share >= 100
            ? 'Requests that would exceed it are refused.'
            : undefined
        }`,
  },
  'key.expiring': {
    name: 'Key expires',
    words: ({ key, expires_at: at }, base) =>
      html`${keyLink(base, key)} expires ${dateTime(Date.parse(at))}. Rotate it before then.`,
  },
  'key.leaked': {
    name: 'Key leaked',
    words: ({ key }, base) =>
      html`${keyLink(base, key)} was reported as leaked. What was asked with it is among the
        <a href="${base}/requests?key=${key.id}">requests</a>.`,
  },
  'requests.failing': {
    name: 'Requests fail',
    words: ({ requests, failed, share, codes }, base) =>
      html`${count(failed)} of ${count(requests)} requests, ${share} %, were
        <a href="${base}/requests?status=failed">refused or failed</a> within ten minutes:
        ${codes.map(
          ({ code, requests: of }, i) =>
            html`${i === 0 ? '' : ', '}<a href="${base}/requests?code=${encodeURIComponent(code)}"
                ><code>${code}</code></a
              >
              ${count(of)}`,
        )}.`,
  },
  'receipts.degraded': {
    name: 'Receipts degraded',
    words: ({ receipt_id: id, stage, code }, base) =>
      html`<a href="${base}/receipts/${id}">${shortId(id)}</a> could not be estimated for half an
        hour (<code>${code}</code> at ${stage}), and others may not be either. The service looks
        into it.`,
  },
  'ledger.halted': {
    name: 'Ledger halted',
    words: (_data, base) =>
      html`The <a href="${base}/ledger">ledger</a> takes no more receipts until the service has
        looked at it. Receipts are issued meanwhile, and wait.`,
  },
  'export.ready': {
    name: 'Pack ready',
    words: ({ export: { id, size_bytes: bytes, expires_at: until } }, base) =>
      html`<a href="${base}/exports/${id}">${shortId(id)}</a>, ${sizeWords(bytes)}, can be
        downloaded until ${dateTime(Date.parse(until))}.`,
  },
  'organisation.suspended': {
    name: 'Organisation suspended',
    words: (_data, _base, { supportEmail }) =>
      html`Requests with its keys were refused from then on. Write to
        <a href="mailto:${supportEmail}">${supportEmail}</a>.`,
  },
};

/** What is used of a budget; of a measure that a newer build knows, the numbers. */
function budgetAmount(
  { measure, unit, limit }: WebhookData['budget.reached']['budget'],
  used: number,
): string {
  if (!isBudgetMeasure(measure)) return `${used} of ${limit} ${unit}`;
  return amountWords({ measure, used, limit, currency: unit });
}

const isTold = (type: string): type is ToldType => Object.hasOwn(KINDS, type);

interface NotificationsParts extends Told {
  page: Page<Notification>;
  type: WebhookType | undefined;
  after: string | undefined;
  /** Whether the service sends webhooks. */
  sendsWebhooks: boolean;
}

/** What the organisation was told, newest first, and what of it this member has not seen. */
export function notificationsPage(frame: Frame, parts: NotificationsParts): Html {
  const { page, type, after } = parts;
  const { orgId } = frame.membership!;
  const address = `/dashboard/${orgId}/notifications`;
  const next = page.hasMore ? page.items.at(-1)!.id : undefined;
  const newest = page.items[0];
  return html`<div class="head">
      <h1>Notifications</h1>
      ${
        // Of a page that is filtered or not the first, the newest one is not the newest of all.
        frame.unread === 0 || newest === undefined || type !== undefined || after !== undefined
          ? undefined
          : html`<div class="acts">
              ${buttonForm(frame, {
                action: `${address}/read`,
                button: 'Mark all as read',
                hidden: { through: newest.id },
              })}
            </div>`
      }
    </div>
    ${told(parts)} ${alsoTold(frame, parts)}
    <form class="row end" method="get" action="${address}">
      ${choice({ name: 'kind', label: 'Kind' }, type, [
        ['', 'all'],
        ...CHOSEN_TYPES.filter(isTold).map((each) => [each, KINDS[each].name] as const),
      ])}
      <button type="submit">Show</button>
      ${type === undefined ? undefined : html`<a href="${address}">Show all</a>`}
    </form>
    ${
      page.items.length === 0
        ? nothing(type, after)
        : table(
            'Notifications',
            ['When', 'Kind', 'What happened'],
            page.items.map((each) => row(frame, each)),
            'stacked',
          )
    }
    ${pager('notifications', { address, filters: { kind: type ?? '' }, after, next })}`;
}

/** How else one hears of the same. */
function alsoTold({ membership }: Frame, { sendsWebhooks }: NotificationsParts): Html {
  const webhooks = html`<a href="/dashboard/${membership!.orgId}/webhooks">webhooks</a>`;
  return html`<p class="prose soft">
    What happened to the organisation in the last ${EVENT_DAYS} days.
    ${
      sendsWebhooks && may(membership!, 'set up webhooks')
        ? html`Programs of yours can be told the same, by ${webhooks}.`
        : undefined
    }
  </p>`;
}

function nothing(type: WebhookType | undefined, after: string | undefined): Html {
  return type === undefined && after === undefined
    ? empty(
        'No notifications',
        `A budget that is reached, a key that expires or leaks, a pack that is ready and the like stand here for ${EVENT_DAYS} days. Nothing of that has happened.`,
      )
    : empty('Nothing here', 'Nothing of this kind has happened, or it is older.');
}

function row(frame: Frame, { type, data, at, isNew }: Notification): Html {
  const base = `/dashboard/${frame.membership!.orgId}`;
  return html`<tr>
    <td>${shortMoment(at, frame.now)}</td>
    <th scope="row" class="nowrap">
      ${isTold(type) ? KINDS[type].name : html`<code>${type}</code>`}
      ${isNew ? badge('warn', 'new') : undefined}
    </th>
    <td class="wrap">
      ${isTold(type) ? (KINDS[type] as Kind<ToldType>).words(data as WebhookData[ToldType], base, frame) : undefined}
    </td>
  </tr>`;
}
