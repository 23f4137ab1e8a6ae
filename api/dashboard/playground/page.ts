import { receiptPlace } from '#api/docs/page/console.ts';
import { errorLink } from '#api/docs/page/errors.ts';
import { inline } from '#api/docs/page/markdown.ts';
import { ASSETS } from '#api/front/assets.ts';
import { html, type Html } from '#api/html.ts';
import { codeRow } from '#shared/kernel/error-codes.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { count, QUANTITY_TITLES } from '#shared/methodology/readable.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import { may, type Membership } from '#shared/persons/roles.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { age, card, estimateCards, money } from '../parts/figures.ts';
import { badge, choice, empty, field, note, type Option } from '../parts/elements.ts';
import type { Form } from '../forms.ts';
import { type Frame, token } from '../parts/layout.ts';
import { codeOfBody, bodyOf, type Fields, TEXT_CHARS_MAX } from './call.ts';

/** An answer that came to a page without a script. */
export interface Answer {
  requestId: string;
  text: string;
  /** Calls of tools, as JSON. */
  calls: string | undefined;
  ms: number;
  tokens: { input: number; output: number } | undefined;
  /** As `EUR 0.00042`. */
  cost: string | null | undefined;
  receipt: ReceiptDocument | undefined;
}

/** What became of a run. */
export type Ran = Answer | Fault;

export interface PlaygroundParts {
  fields: Fields;
  /** Ids of chat models that the organisation may use. */
  models: readonly string[];
  regions: readonly Option[];
  baseUrl: string;
  /** Of what it costs; null where there are no prices. */
  currency: string | null;
  /** The request whose answer this page is, and what became of it. */
  ran?: { requestId: string; is: Ran };
}

/** The longest text of a parameter. */
const PARAMETER_CHARS_MAX = 40;
const NAME_CHARS_MAX = 300;
/** More is not drawn: the receipt covers all of it, and programs read it. */
const SHOWN_CHARS_MAX = 200_000;

/** What a form of the page was sent with. */
export function fieldsIn(form: Form): Fields {
  // Browsers end lines of forms as mail does; what is typed in a page has one character for it.
  const lines = (name: string): string => form.exact(name).replaceAll('\r\n', '\n');
  return {
    model: form.text('model'),
    region: form.text('region'),
    system: lines('system'),
    prompt: lines('prompt'),
    temperature: form.text('temperature'),
    max_tokens: form.text('max_tokens'),
    top_p: form.text('top_p'),
    seed: form.text('seed'),
    stop: lines('stop'),
    tools: lines('tools'),
    stream: form.text('stream') !== '',
  };
}

/** In place of the playground, for members who have none. */
export function noPlaygroundPage(
  { membership, supportEmail }: Frame,
  { isOn }: { isOn: boolean },
): Html {
  return html`<div class="head"><h1>Playground</h1></div>
    ${whyNone(membership!, isOn, supportEmail)}`;
}

function whyNone(membership: Membership, isOn: boolean, supportEmail: string): Html {
  const { orgId, orgState, role } = membership;
  if (!may(membership, 'use the playground')) {
    return empty(
      'Your role runs no models',
      `You are ${role} of this organisation: you read what others run, with its receipts, and run nothing yourself.`,
      html`<a href="/dashboard/${orgId}/receipts">Receipts</a>
        <a href="/dashboard/${orgId}/requests">Requests</a>`,
    );
  }
  if (!isOn) {
    return empty(
      'The playground is switched off',
      may(membership, 'switch the playground')
        ? html`You can switch it on under
            <a href="/dashboard/${orgId}/settings#playground">Settings</a>.`
        : html`Owners of the organisation decide that, under
            <a href="/dashboard/${orgId}/settings#playground">Settings</a>.`,
    );
  }
  if (orgState === 'suspended') {
    return empty(
      'Nothing runs while the organisation is suspended',
      html`Write to <a href="mailto:${supportEmail}">${supportEmail}</a>.`,
    );
  }
  if (orgState === 'rejected') {
    return empty(
      'No model can be tried: the application is not approved',
      html`Write to <a href="mailto:${supportEmail}">${supportEmail}</a> if you believe that this is
        wrong.`,
    );
  }
  return empty(
    'Models can be tried once the organisation is active',
    html`Its application is under <a href="/dashboard/${orgId}/onboarding">Onboarding</a>.`,
  );
}

export function playgroundPage(frame: Frame, parts: PlaygroundParts): Html {
  const base = `/dashboard/${frame.membership!.orgId}`;
  const { fields, models, baseUrl, ran } = parts;
  const made = bodyOf(fields);
  const code = codeOfBody(baseUrl, 'body' in made ? made.body : {});
  return html`<div class="head"><h1>Playground</h1></div>
    <p class="prose soft">
      What you run here is a request like any other: a model runs for real, it counts towards the
      limits and budgets of ${frame.membership!.orgName}, and gets a receipt. It counts as
      <em>Playground of ${frame.person.name}</em>. Neither prompts nor answers are kept here: they
      are gone with this page.
    </p>
    ${
      models.length === 0
        ? note('warn', html`<p>No model for chat is open to your organisation now.</p>`)
        : undefined
    }
    <form
      class="form wide"
      id="playground-form"
      method="post"
      action="${base}/playground"
      data-run="${base}/playground/run"
      data-base="${base}"
      data-url="${baseUrl}"
      data-code="/verify/playground.js"
      data-script-at="${ASSETS.playground}"
      autocomplete="off"
    >
      ${token(frame)} ${modelFields(parts)}
      ${area({ name: 'system', label: 'System message (optional)', value: fields.system, rows: 2 })}
      ${area({ name: 'prompt', label: 'Message', value: fields.prompt, rows: 5, required: true })}
      ${parameters(fields)}
      <p class="row">
        <button class="primary" type="submit" aria-keyshortcuts="Control+Enter Meta+Enter">
          Run
        </button>
        <button type="button" data-stop hidden>Stop</button>
        <span class="soft small" data-script>Ctrl-Enter runs it.</span>
      </p>
    </form>
    <div class="sides" id="outcomes">
      ${ran === undefined ? undefined : outcome(frame, parts, ran)}
    </div>
    <section class="stack tight">
      <h2>Code of this call</h2>
      <p class="soft small">
        For programs, with a key of their own from <code>DOCKET_API_KEY</code>: the playground’s has
        no secret.
      </p>
      ${code.map(
        ({ language, code: text }) =>
          html`<details class="act">
            <summary>${language}</summary>
            <div class="stack tight">
              <pre id="code-${language}" tabindex="0" data-language="${language}">${text}</pre>
              <div><button type="button" hidden data-copy="code-${language}">Copy</button></div>
            </div>
          </details>`,
      )}
    </section>
    ${outcomeTemplate()}`;
}

function modelFields({ fields, models, regions, currency: _currency }: PlaygroundParts): Html {
  const any: Option = ['', 'any that is open'];
  const modelField = (name: string, label: string, value: string, help?: string): Html =>
    html`<div class="field grow">
      <label for="${name}">${label}</label>
      <input
        id="${name}"
        name="${name}"
        list="models"
        value="${value.slice(0, NAME_CHARS_MAX)}"
        maxlength="${NAME_CHARS_MAX}"
        spellcheck="false"
        ${name === 'model' ? html`required` : undefined}
        ${help === undefined ? undefined : html`aria-describedby="${name}-help"`}
      />
      ${help === undefined ? undefined : html`<p class="help" id="${name}-help">${help}</p>`}
    </div>`;
  return html`<datalist id="models">
      ${models.map((id) => html`<option value="${id}"></option>`)}
    </datalist>
    <div class="row end">
      ${modelField('model', 'Model', fields.model)}
      ${choice({ name: 'region', label: 'Region' }, fields.region, [any, ...regions])}
    </div>
    <div class="row end" data-script>
      ${modelField('second-model', 'Beside it (optional)', '')}
      ${choice({ name: 'second-region', label: 'Region of that' }, '', [any, ...regions])}
    </div>`;
}

interface AreaOptions {
  name: string;
  label: string;
  value: string;
  rows: number;
  required?: boolean;
  help?: string;
  isCode?: boolean;
  max?: number;
}

function area(options: AreaOptions): Html {
  const { name, label, value, rows, required = false, help, isCode = false } = options;
  const max = options.max ?? TEXT_CHARS_MAX;
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <textarea
      id="${name}"
      name="${name}"
      rows="${rows}"
      maxlength="${max}"
      dir="auto"
      ${required ? html`required` : undefined}
      ${isCode ? html`spellcheck="false"` : undefined}
      ${help === undefined ? undefined : html`aria-describedby="${name}-help"`}
    >
${value.slice(0, max)}</textarea>
    ${help === undefined ? undefined : html`<p class="help" id="${name}-help">${help}</p>`}
  </div>`;
}

const TOOLS_EXAMPLE = `[{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]`;

function parameters(fields: Fields): Html {
  const { temperature, max_tokens, top_p, seed, stop, tools, stream } = fields;
  const isSet = [temperature, max_tokens, top_p, seed, stop, tools].some((text) => text !== '');
  const parameter = (name: string, label: string, value: string): Html =>
    field({ name, label, value, max: String(PARAMETER_CHARS_MAX) });
  return html`<details class="act" ${isSet ? html`open` : undefined}>
      <summary>Parameters and tools</summary>
      <div class="stack">
        <p class="help">What is left empty is not sent.</p>
        <div class="row end">
          ${parameter('temperature', 'Temperature', temperature)}
          ${parameter('max_tokens', 'Tokens at most', max_tokens)}
          ${parameter('top_p', 'Top p', top_p)} ${parameter('seed', 'Seed', seed)}
        </div>
        ${area({ name: 'stop', label: 'Stop at', value: stop, rows: 2, help: 'One sequence a line.', max: 2_000 })}
        ${area({ name: 'tools', label: 'Tools', value: tools, rows: 4, help: `A JSON array, such as ${TOOLS_EXAMPLE}. What the model asks of them is shown; nothing of it is run.`, isCode: true })}
      </div>
    </details>
    <div class="choices" data-script>
      <label>
        <input type="checkbox" name="stream" value="yes" ${stream ? html`checked` : undefined} />
        <span>Show the answer as it comes</span>
      </label>
    </div>`;
}

/** What became of a run that a page without a script has asked for. */
function outcome(
  frame: Frame,
  { currency, fields }: PlaygroundParts,
  { requestId, is }: NonNullable<PlaygroundParts['ran']>,
): Html {
  const base = `/dashboard/${frame.membership!.orgId}`;
  const link = html`<a href="${base}/requests?find=${requestId}"><code>${requestId}</code></a>`;
  if (!('text' in is)) {
    const { advice } = codeRow(is.code);
    return html`<section class="stack tight" aria-label="Outcome">
      ${note(
        'bad',
        html`<p><strong>${is.status}</strong> ${errorLink(is.code, '/docs')}</p>`,
        html`<p>${is.message}</p>`,
        html`<p>${inline(advice)}</p>`,
        html`<p>Request ${link}, under Requests about a second later.</p>`,
      )}
    </section>`;
  }
  const { receipt } = is;
  const cost = is.cost?.split(' ')[1];
  return html`<section class="stack" aria-label="Outcome">
    <h2><bdi>${fields.model}</bdi></h2>
    <p>${badge('good', 'answered')} <span class="soft small">Request ${link}</span></p>
    ${answerText(is.text)}
    ${
      is.calls === undefined
        ? undefined
        : html`<h3>Calls of tools</h3>
            <pre tabindex="0">${is.calls.slice(0, SHOWN_CHARS_MAX)}</pre>`
    }
    ${estimateCards(
      QUANTITIES.map((name) => {
        const found = receipt?.measurement?.result.find(
          ({ quantityKind }) => quantityKind === name,
        );
        return [name, found] as const;
      }),
      card('In all', age(is.ms)),
      card('Tokens in', is.tokens === undefined ? 'not known' : count(is.tokens.input)),
      card('Tokens out', is.tokens === undefined ? 'not known' : count(is.tokens.output)),
      ...(currency === null
        ? []
        : [card('Cost', cost === undefined ? 'not known' : money(cost, currency))]),
    )}
    <p class="row">
      <a class="button" href="${base}/receipts/${receiptIdOf(requestId)}">Its receipt</a>
      <a class="button" href="/verify#${receiptIdOf(requestId)}">Verify in this browser</a>
    </p>
  </section>`;
}

const QUANTITIES = Object.keys(QUANTITY_TITLES) as QuantityName[];

function answerText(text: string): Html {
  const more = text.length - SHOWN_CHARS_MAX;
  return html`<pre class="said-by-model" dir="auto" tabindex="0" aria-label="Answer">
${text.slice(0, SHOWN_CHARS_MAX)}</pre>
    ${more > 0 ? html`<p class="soft small">And ${count(more)} characters more.</p>` : undefined}`;
}

/** What the script fills in for each model that runs. */
function outcomeTemplate(): Html {
  return html`<template
    id="outcome"
    data-verifier="/verify/docket-verify.js"
    data-scales="/verify/figures.js"
    data-receipt-script="${ASSETS.receipt}"
    data-shown="${SHOWN_CHARS_MAX}"
  >
    <section class="stack">
      <h2><bdi data-model></bdi></h2>
      <p role="status">
        <span class="badge plain" data-status>Waiting…</span>
        <span class="soft small" data-region></span>
        <span class="soft small" data-named hidden>Request <a data-request-link></a></span>
      </p>
      <div class="note bad" role="alert" data-problem hidden>
        <p><strong data-problem-status></strong> <a data-problem-code hidden></a></p>
        <p data-problem-message></p>
        <p data-problem-advice></p>
        <p data-problem-request hidden>
          Request <a data-request></a>, under Requests about a second later.
        </p>
      </div>
      <pre class="said-by-model" dir="auto" tabindex="0" aria-label="Answer" data-answer></pre>
      <p class="soft small" data-more hidden></p>
      <div class="stack tight" data-calls-place hidden>
        <h3>Calls of tools</h3>
        <pre tabindex="0" data-calls></pre>
      </div>
      <dl class="figures" data-counts></dl>
      ${receiptPlace(html`<h3>Receipt</h3>`)}
      <p data-links hidden><a class="button" data-to-receipt>The receipt’s page</a></p>
    </section>
  </template>`;
}
