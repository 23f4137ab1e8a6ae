import { html, type Html } from '#api/html.ts';
import { CHOSEN_TYPES, WEBHOOK_EVENTS } from '#shared/accounts/webhook-events.ts';
import type { Page } from '#shared/kernel/page.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import { CONFIRMED_MS } from '#shared/persons/sessions.ts';
import {
  ADDRESS_LENGTH_MAX,
  DESCRIPTION_LENGTH_MAX,
  ENDPOINTS_MAX,
  type WebhookEndpoint,
} from '#shared/webhooks/endpoint.ts';
import type { WebhookDelivery } from '#shared/webhooks/postgres/endpoints.ts';
import { ATTEMPTS_MAX, DELIVERY_DAYS } from '#shared/webhooks/retries.ts';
import {
  ACT,
  badge,
  choices,
  copyable,
  empty,
  factsSection,
  field,
  moment,
  note,
  pager,
  shortMoment,
  table,
  told,
  type Told,
} from '../parts/elements.ts';
import { act, buttonForm, form, type Frame } from '../parts/layout.ts';

/** What a form was sent with that was not taken. */
export interface Typed {
  address: string;
  description: string;
  events: readonly string[];
}

export interface WebhooksParts extends Told {
  endpoints: readonly WebhookEndpoint[];
  /** Whether this service sends any. */
  isOffered: boolean;
  typed?: Typed;
}

interface EndpointParts extends Told {
  endpoint: WebhookEndpoint;
  log: Page<WebhookDelivery>;
  after: string | undefined;
  /** Whether this service sends any. */
  isOffered: boolean;
  typed?: Typed;
}

const base = (frame: Frame): string => `/dashboard/${frame.membership!.orgId}/webhooks`;

/** Where an organisation is told by machines. */
export function webhooksPage(frame: Frame, parts: WebhooksParts): Html {
  const { endpoints, isOffered } = parts;
  return html`<div class="head"><h1>Webhooks</h1></div>
    ${told(parts)}
    <p class="prose">
      A webhook is an address of yours that is called when something happens: a budget is reached, a
      key leaks. Each call is signed as
      <a href="https://www.standardwebhooks.com/">Standard Webhooks</a> says, so that your receiver
      can tell it from others.
    </p>
    ${
      endpoints.length === 0
        ? empty(
            'No webhooks',
            isOffered
              ? 'Webhooks appear here, with whether their messages arrive. Add the first one below.'
              : 'This service does not send webhooks. Its operator can turn them on.',
          )
        : html`${isOffered ? undefined : NOT_SENT} ${list(frame, endpoints)}`
    }
    ${
      !isOffered
        ? undefined
        : endpoints.length < ENDPOINTS_MAX
          ? html`<section class="stack tight" id="new">
              <h2>Make a webhook</h2>
              <p class="prose">
                Its signing secret is shown once, when it is made. You are asked to confirm that it
                is you, unless you have in the last ${CONFIRMED_MS / MINUTE_MS} minutes.
              </p>
              ${form(frame, { action: base(frame), button: 'Make webhook', tone: 'primary' }, terms('new', parts.typed))}
            </section>`
          : html`<p class="soft">
              An organisation has at most ${ENDPOINTS_MAX} webhooks. End one that is not needed.
            </p>`
    }`;
}

/** Beside webhooks that were made while this service sent some. */
const NOT_SENT = note(
  'warn',
  html`<p>
    This service sends no webhooks at present: what stands here is not called. Its operator can set
    it up for them again.
  </p>`,
);

function list(frame: Frame, endpoints: readonly WebhookEndpoint[]): Html {
  return table(
    'Webhooks',
    ['Webhook', 'State', 'Events'],
    endpoints.map(
      (endpoint) =>
        html`<tr>
          <td>
            <a href="${base(frame)}/${endpoint.id}">${nameOf(endpoint)}</a><br />
            <span class="soft small">${new URL(endpoint.address).host}</span>
          </td>
          <td>${state(endpoint)}</td>
          <td>${endpoint.events.join(', ')}</td>
        </tr>`,
    ),
    'stacked',
  );
}

const nameOf = ({ description, address }: WebhookEndpoint): string =>
  description === '' ? new URL(address).host : description;

function state({ paused, failingSince }: WebhookEndpoint): Html {
  if (paused !== null) return badge('bad', 'paused');
  return failingSince === null ? badge('good', 'on') : badge('warn', 'failing');
}

/** One webhook: how it is, what was sent to it, and what can be done with it. */
export function endpointPage(frame: Frame, parts: EndpointParts): Html {
  const { endpoint, isOffered } = parts;
  const { failingSince, secretBeforeUntil, paused } = endpoint;
  const one = (path: string, button: string): Html =>
    buttonForm(frame, { action: `${base(frame)}/${endpoint.id}/${path}`, button });
  return html`<div class="head">
      <p class="crumb"><a href="${base(frame)}">Webhooks</a></p>
      <h1>${nameOf(endpoint)}</h1>
      ${state(endpoint)}
    </div>
    ${told(parts)} ${isOffered ? undefined : NOT_SENT} ${pausedNote(frame, endpoint)}
    ${factsSection('Webhook', [
      ['Address', html`<code>${endpoint.address}</code>`],
      ['Events', endpoint.events.join(', ')],
      ['Made', moment(endpoint.createdAt, frame.now)],
      ['Failing since', failingSince === null ? undefined : moment(failingSince, frame.now)],
      [
        'Secret before',
        secretBeforeUntil === null
          ? undefined
          : html`signs as well until ${moment(secretBeforeUntil, frame.now)}`,
      ],
    ])}
    <div class="row">
      ${paused === null ? one('test', 'Send a test') : one('resume', 'Resume webhook')}
    </div>
    ${acts(frame, parts)} ${messages(frame, parts)}`;
}

function pausedNote({ now }: Frame, { paused }: WebhookEndpoint): Html | undefined {
  if (paused === null) return undefined;
  const why =
    paused.reason === 'gone'
      ? 'its server answered that it is gone (410)'
      : 'nothing has arrived there for three days';
  return note(
    'warn',
    html`<p>
      <strong>Paused</strong> ${moment(paused.at, now)}, because ${why}. What happens meanwhile is
      not kept for it. When its receiver is well again, resume it; messages that were given up can
      be sent again below.
    </p>`,
  );
}

function acts(frame: Frame, { endpoint, typed }: EndpointParts): Html {
  const { id } = endpoint;
  const address = `${base(frame)}/${id}`;
  return html`<section class="stack tight">
    <h2>Change it</h2>
    ${act(
      frame,
      {
        summary: 'Change…',
        isOpen: typed !== undefined,
        action: `${address}/change`,
        button: 'Save webhook',
        tone: 'primary',
      },
      terms(id, typed ?? endpoint),
    )}
    ${act(
      frame,
      {
        summary: 'Rotate its secret…',
        action: `${address}/secret`,
        button: 'Rotate secret',
        tone: 'primary',
      },
      html`<p class="prose">
        A new secret is made and shown once. For a day messages are signed with both, so that your
        receiver can be given the new one meanwhile; the one before signs nothing after that.
      </p>`,
    )}
    ${act(
      frame,
      { summary: 'End…', action: `${address}/end`, button: 'End webhook', tone: 'danger' },
      html`<p class="prose">
        Nothing is sent to it any more, what waits neither, and its secret and the list of its
        messages are deleted. This cannot be undone.
      </p>`,
    )}
  </section>`;
}

function messages(frame: Frame, { endpoint, log, after }: EndpointParts): Html {
  const { items, hasMore } = log;
  return html`<section class="stack tight" id="messages">
    <h2>Messages</h2>
    <p class="soft">
      Each is tried up to ${ATTEMPTS_MAX} times within about a day, and stands here for
      ${DELIVERY_DAYS} days.
    </p>
    ${
      items.length === 0
        ? html`<p>No message was sent yet.</p>`
        : table(
            'Messages',
            ['Time', 'Event', 'State', 'Attempts', ACT],
            items.map((message) => messageRow(frame, endpoint, message)),
            'stacked',
          )
    }
    ${pager('messages', {
      address: `${base(frame)}/${endpoint.id}`,
      after,
      next: hasMore ? items.at(-1)!.id : undefined,
    })}
  </section>`;
}

function messageRow(frame: Frame, endpoint: WebhookEndpoint, message: WebhookDelivery): Html {
  const { id, type, createdAt, attempts } = message;
  return html`<tr>
    <td>${shortMoment(createdAt, frame.now)}</td>
    <td><code title="${id}">${type}</code></td>
    <td>${outcome(frame, message)}</td>
    <td>${attempts}</td>
    <td>
      ${
        message.state === 'waiting' || endpoint.paused !== null
          ? undefined
          : buttonForm(frame, {
              action: `${base(frame)}/${endpoint.id}/again`,
              button: 'Send again',
              hidden: { message: id },
            })
      }
    </td>
  </tr>`;
}

function outcome({ now }: Frame, message: WebhookDelivery): Html {
  const { state: is, status, failure, nextAttemptAt, deliveredAt } = message;
  if (is === 'delivered') {
    return html`${badge('good', 'delivered')}
      <span class="soft small">answered ${String(status ?? '')}</span>
      ${shortMoment(deliveredAt!, now)}`;
  }
  const why = failure === null ? undefined : html`<br /><span class="small">${failure}</span>`;
  if (is === 'given up') return html`${badge('bad', 'given up')} ${why}`;
  return html`${badge('plain', 'waiting')} next attempt ${shortMoment(nextAttemptAt!, now)} ${why}`;
}

/** The fields of a webhook, with what was typed in them or what is so. */
function terms(id: string, is: Typed | undefined): Html {
  const chosen = new Set<string>(is?.events ?? CHOSEN_TYPES);
  return html`${field({ name: 'address', id: `address-${id}`, label: 'Address', value: is?.address ?? '', required: true, max: String(ADDRESS_LENGTH_MAX), help: 'An https:// address of a server on the public internet. Redirects are not followed.' })}
    ${field({ name: 'description', id: `description-${id}`, label: 'Description', value: is?.description ?? '', max: String(DESCRIPTION_LENGTH_MAX), help: 'What it is for, as your team calls it.' })}
    <fieldset>
      <legend>Events</legend>
      ${choices(
        'checkbox',
        'event',
        CHOSEN_TYPES.map((type) => ({
          value: type,
          words: html`<code>${type}</code>`,
          help: WEBHOOK_EVENTS[type].when,
          isChosen: chosen.has(type),
        })),
      )}
    </fieldset>`;
}

/** The page that shows a signing secret, once. */
export function secretPage(
  frame: Frame,
  { endpoint, secret }: { endpoint: WebhookEndpoint; secret: string },
): Html {
  const { id, secretBeforeUntil } = endpoint;
  return html`<div class="head">
      <p class="crumb"><a href="${base(frame)}">Webhooks</a></p>
      <h1>${nameOf(endpoint)}</h1>
    </div>
    ${note(
      'good',
      html`<p>
        <strong>This is its signing secret.</strong> Give it to your receiver now: this is the only
        time it is shown.
      </p>`,
      html`<p class="secret">${copyable('secret', secret)}</p>`,
    )}
    ${
      secretBeforeUntil === null
        ? undefined
        : html`<p class="prose">
            The secret before signs as well until ${moment(secretBeforeUntil, frame.now)}.
          </p>`
    }
    <p><a class="button" href="${base(frame)}/${id}">I have stored it</a></p>`;
}

/** What the page after an act says. */
export const WEBHOOK_DONE = {
  changed: 'The webhook is saved.',
  resumed: 'The webhook is resumed.',
  ended: 'The webhook is ended.',
  tested: 'Test message sent. Reload this page in a few seconds.',
  again: 'Message sent again. Reload this page in a few seconds.',
} as const;
