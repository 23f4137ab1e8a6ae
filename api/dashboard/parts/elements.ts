import { html, Html } from '#api/html.ts';
import { dateTime, DAY_MS, HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';

/** `22 Nov 2026, 14:05 UTC`, and beside it how long ago that was. */
export function moment(at: number, now: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}" title="${iso}">${dateTime(at)}</time>
    <span class="soft small nowrap">${ago(at, now)}</span>`;
}

/** The same in a list, where each of the two stays on one line. */
export function shortMoment(at: number, now: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time class="nowrap" datetime="${iso}" title="${iso}">${dateTime(at)}</time>
    <span class="soft small nowrap">${ago(at, now)}</span>`;
}

function ago(at: number, now: number): string {
  const ms = Math.abs(now - at);
  if (ms < MINUTE_MS) return at > now ? 'in less than a minute' : 'just now';
  const [size, unit] =
    ms < HOUR_MS ? [MINUTE_MS, 'min'] : ms < 2 * DAY_MS ? [HOUR_MS, 'h'] : [DAY_MS, 'days'];
  const text = `${Math.floor(ms / size)} ${unit}`;
  return at > now ? `in ${text}` : `${text} ago`;
}

/** An id that is too long for its place, shortened in the middle; the whole of it on hover. */
export function shortId(id: string): Html {
  const text = id.length > 18 ? `${id.slice(0, 10)}…${id.slice(-4)}` : id;
  return html`<code class="nowrap" title="${id}">${text}</code>`;
}

/** Text in monospace with a button that copies it, where there is a script. */
export function copyable(name: string, text: string): Html {
  return html`<code id="${name}">${text}</code>
    <button class="copy" type="button" hidden data-copy="${name}">Copy</button>`;
}

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

/** What was done, or what went wrong; read out when the page comes. */
export function note(tone: Tone, ...body: readonly (Html | string)[]): Html {
  return html`<div class="note ${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">
    ${body}
  </div>`;
}

/** An e-mail to support, with what support looks things up by; the person adds what they have to say. */
export function supportLink(
  supportEmail: string,
  { subject, lines }: { subject: string; lines: readonly string[] },
): Html {
  const body = ['', '', ...lines].join('\r\n');
  const asked = Object.entries({ subject, body }).map(
    ([name, text]) => `${name}=${encodeURIComponent(text)}`,
  );
  return html`<a href="mailto:${supportEmail}?${asked.join('&')}">Write to support</a>`;
}

/** What the page after an act says: that it was refused and why, or that it was done. */
export interface Told {
  problem?: Html | string;
  done?: Html | string;
}

export function told({ problem, done }: Told): Html {
  return html`${problem === undefined ? undefined : note('bad', problem)}
  ${done === undefined ? undefined : note('good', done)}`;
}

export type Fact = readonly [name: string, value: Html | string | undefined];

/** Facts by their names; those that are not there are left out. */
export function facts(all: readonly Fact[]): Html {
  return html`<dl class="facts">
    ${all
      .filter(([, value]) => value !== undefined)
      .map(
        ([name, value]) =>
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
      )}
  </dl>`;
}

/** The same under a heading. */
export function factsSection(title: string, all: readonly Fact[]): Html {
  return html`<section class="stack tight">
    <h2>${title}</h2>
    ${facts(all)}
  </section>`;
}

/** In place of a list that has nothing in it: why, and what would be there. */
export function empty(title: string, ...body: readonly (Html | string)[]): Html {
  return html`<div class="empty">
    <h2>${title}</h2>
    ${body.map((text) => html`<p class="prose">${text}</p>`)}
  </div>`;
}

/** The form by which one of a list is found by an id; `notFound` says why there is none of that id. */
export function findForm(
  address: string,
  {
    find,
    placeholder,
    notFound,
  }: { find: string; placeholder: string; notFound?: Html | undefined },
): Html {
  return html`<form class="row end" method="get" action="${address}" role="search">
      <div class="field grow">
        <label for="find">Id</label>
        <input
          id="find"
          name="find"
          value="${find}"
          maxlength="512"
          placeholder="${placeholder}"
          ${notFound === undefined ? undefined : html`aria-invalid="true" aria-describedby="find-error"`}
        />
      </div>
      <button type="submit">Find</button>
    </form>
    ${
      notFound === undefined
        ? undefined
        : html`<p class="error" id="find-error" role="alert">${notFound}</p>`
    }`;
}

/** The steps of something that takes several, and which of them is under way; all are done when it is past the last. */
export function progress(steps: readonly string[], current: number): Html {
  return html`<ol class="steps" aria-label="Steps">
    ${steps.map((name, index) => {
      const state = index < current ? 'done' : index === current ? 'now' : 'next';
      return html`<li class="${state}" ${state === 'now' ? html`aria-current="step"` : undefined}>
        <span class="mark" aria-hidden="true">${state === 'done' ? '✓' : index + 1}</span>
        <span>${name}<span class="hidden-words">${state === 'done' ? ', done' : ''}</span></span>
      </li>`;
    })}
  </ol>`;
}

/** Where a page of a list stands: what the list was asked for, and the ids that this page and the next begin after. */
interface ListPage {
  address: string;
  /** An empty text asks for nothing. */
  filters?: Readonly<Record<string, string>>;
  after: string | undefined;
  /** Undefined on the last page. */
  next: string | undefined;
  /** What comes after this page. */
  way?: 'older' | 'newer';
}

/** The way back to the beginning of a list, and on to what comes after; `of` is what they are, in the plural. */
export function pager(
  of: string,
  { address, filters = {}, after, next, way = 'older' }: ListPage,
): Html {
  const [first, on] = way === 'older' ? ['Newest', 'Older'] : ['Oldest', 'Newer'];
  const from = (id: string): string => {
    const asked = Object.entries({ ...filters, after: id }).filter(([, text]) => text !== '');
    const query = new URLSearchParams(asked).toString();
    return query === '' ? address : `${address}?${query}`;
  };
  return html`<p class="row">
    ${after === undefined ? undefined : html`<a href="${from('')}">${first}</a>`}
    ${next === undefined ? undefined : html`<a href="${from(next)}">${on} ${of}</a>`}
  </p>`;
}

export interface FieldOptions {
  name: string;
  /** On a page with several forms; the name otherwise. */
  id?: string;
  label: string;
  type?: string;
  value?: string;
  help?: string;
  error?: string | undefined;
  autocomplete?: string;
  required?: boolean;
  min?: string;
  /** Fewer characters are told before anything is sent. */
  minLength?: number;
  max?: string;
}

/** More than people type, and little to draw. */
const VALUE_CHARS_MAX = 2_048;

/** What a field is drawn with: also what is too long for it, so that it can be cut. What programs send is not repeated whole. */
const shownValue = (value: string, max: string | undefined): string =>
  value.slice(0, Math.max(VALUE_CHARS_MAX, Number(max ?? 0)));

/** A field with its label above, its help below and its error beside it. */
export function field(options: FieldOptions): Html {
  const {
    name,
    id = name,
    label,
    type = 'text',
    value,
    help,
    error,
    autocomplete,
    required,
  } = options;
  const described = [
    ...(error === undefined ? [] : [`${id}-error`]),
    ...(help === undefined ? [] : [`${id}-help`]),
  ];
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input
      id="${id}"
      name="${name}"
      type="${type}"
      ${value === undefined ? undefined : html`value="${shownValue(value, options.max)}"`}
      ${autocomplete === undefined ? undefined : html`autocomplete="${autocomplete}"`}
      ${options.min === undefined ? undefined : html`min="${options.min}"`}
      ${options.minLength === undefined ? undefined : html`minlength="${options.minLength}"`}
      ${options.max === undefined ? undefined : html`maxlength="${options.max}"`}
      ${required === true ? html`required` : undefined}
      ${error === undefined ? undefined : html`aria-invalid="true"`}
      ${described.length === 0 ? undefined : html`aria-describedby="${described.join(' ')}"`}
    />
    ${error === undefined ? undefined : html`<p class="error" id="${id}-error">${error}</p>`}
    ${help === undefined ? undefined : html`<p class="help" id="${id}-help">${help}</p>`}
  </div>`;
}

export type Option = readonly [value: string, words: string];

export function optionList(options: readonly Option[], chosen: string | undefined): Html[] {
  return options.map(
    ([value, words]) =>
      html`<option value="${value}" ${value === chosen ? html`selected` : undefined}>
        ${words}
      </option>`,
  );
}

/** A field whose value is one of a few. */
export function choice(
  {
    name,
    id = name,
    label,
    help,
  }: Pick<FieldOptions, 'name' | 'id' | 'label'> & { help?: Html | string },
  chosen: string | undefined,
  options: readonly Option[],
): Html {
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <select
      id="${id}"
      name="${name}"
      ${help === undefined ? undefined : html`aria-describedby="${id}-help"`}
    >
      ${optionList(options, chosen)}
    </select>
    ${help === undefined ? undefined : html`<p class="help" id="${id}-help">${help}</p>`}
  </div>`;
}

interface Box {
  value: string;
  words: Html | string;
  isChosen: boolean;
  help?: Html | string | undefined;
  /** Shown, and not to be chosen. */
  isOff?: boolean;
}

/** Boxes of which any may be ticked, or buttons of which one is pressed. */
export function choices(type: 'checkbox' | 'radio', name: string, boxes: readonly Box[]): Html {
  return html`<div class="choices">
    ${boxes.map(
      ({ value, words, isChosen, help, isOff = false }) =>
        html`<label ${isOff ? html`class="off"` : undefined}>
          <input
            type="${type}"
            name="${name}"
            value="${value}"
            ${isChosen ? html`checked` : undefined}
            ${isOff ? html`disabled` : undefined}
          />
          <span
            >${words}
            ${help === undefined ? undefined : html`<span class="help">${help}</span>`}</span
          >
        </label>`,
    )}
  </div>`;
}

/** The days of a period. Unlike the end of a span of the API, the last day belongs to it, and the label says so. */
export function dayFields({ from, to }: { from: string; to: string }): Html {
  return html`${field({ name: 'from', label: 'From, UTC', type: 'date', value: from })}
  ${field({ name: 'to', label: 'To, this day included', type: 'date', value: to })}`;
}

/** A field of several lines. */
export function textArea({
  name,
  id = name,
  label,
  value = '',
  help,
  error,
  max,
  required = true,
}: FieldOptions): Html {
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <textarea
      id="${id}"
      name="${name}"
      rows="3"
      ${required ? html`required` : undefined}
      ${max === undefined ? undefined : html`maxlength="${max}"`}
      ${error === undefined ? undefined : html`aria-invalid="true"`}
      ${help === undefined ? undefined : html`aria-describedby="${id}-help"`}
    >
${shownValue(value, max)}</textarea>
    ${help === undefined ? undefined : html`<p class="help" id="${id}-help">${help}</p>`}
  </div>`;
}

/** The head of a column of acts, which only a screen reader needs to be told. */
export const ACT = html`<span class="hidden-words">Act</span>`;

/**
 * A table under these heads. Where the page is too narrow it scrolls by itself, also by keyboard; a `stacked` one has its rows
 * as blocks instead, their cells one below the other.
 */
export function table(
  label: string,
  heads: readonly (string | Html)[],
  rows: readonly Html[],
  narrow: 'scrolls' | 'stacked' = 'scrolls',
): Html {
  return html`<div class="table ${narrow}" tabindex="0" role="region" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(withoutBlanks)}
      </tbody>
    </table>
  </div>`;
}

/** A cell that holds nothing but blanks is empty, which a style sheet can tell. Values are escaped, so that no other text looks like one. */
function withoutBlanks({ text }: Html): Html {
  return new Html(text.replaceAll(/(<td[^>]*>)\s+(?=<\/td>)/g, '$1'));
}
