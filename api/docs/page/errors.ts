import { codeRow, CODES, type CodeRow, type DocumentedCode } from '#shared/kernel/error-codes.ts';
import { fillIn } from '#shared/kernel/errors.ts';
import { table } from '#api/dashboard/parts/elements.ts';
import { html, type Html } from '#api/html.ts';
import { inline } from './markdown.ts';

/** What each type of error is, and how its codes are alike. */
const TYPES: Readonly<Record<CodeRow['type'], string>> = {
  auth_error: 'The key is not good, or not good for this.',
  validation_error: 'The request is malformed, or names what is not there.',
  rate_limit_error: 'A limit of the organisation or of the key is reached. Nothing was charged.',
  inference_error: 'The provider of the model failed, after what the gateway tried by itself.',
  region_unavailable: 'The region cannot take the request now, or never again.',
  policy_error: 'Screening or the state of the account forbids it.',
  methodology_error: 'The estimate could not be made, and the request demanded one.',
  internal_error: 'The gateway failed.',
};

/** Codes by their patterns: every parameter and every resource has one, with or without a row of its own. */
const PATTERNS = [
  ['invalid_{param}', codeRow('invalid_')],
  ['{resource}_not_found', codeRow('_not_found')],
] as const;

export interface ErrorEntry extends CodeRow {
  code: string;
  /** Of its place on the page. */
  anchor: string;
}

/** Every error that the service can answer with, from the table that it answers from. */
export const ERRORS: readonly ErrorEntry[] = [
  ...(Object.keys(CODES) as DocumentedCode[]).map((code) => [code, codeRow(code)] as const),
  ...PATTERNS,
].map(([code, row]) => ({ ...row, code, anchor: anchorOf(code) }));

function anchorOf(code: string): string {
  return `error-${code.replaceAll(/[{}]/g, '').replaceAll('_', '-')}`;
}

/** A code as a link to what the reference says of it, or of its pattern; `page` is the address of that from elsewhere. */
export function errorLink(code: string, page = ''): Html {
  const pattern = code.endsWith('_not_found') ? PATTERNS[1][0] : PATTERNS[0][0];
  const anchor = anchorOf(Object.hasOwn(CODES, code) ? code : pattern);
  return html`<a href="${page}#${anchor}"><code>${code}</code></a>`;
}

/** Each type with its codes: when it happens, what to do, and whether it helps to ask again. */
export function errorReference(): Html {
  const byType = Map.groupBy(ERRORS, ({ type }) => type);
  return html`<section class="stack" aria-labelledby="error-reference" data-errors>
    <h2 id="error-reference">Error reference</h2>
    <p class="prose">
      Made from the table that the service answers from. Match on <code>code</code>: codes are
      stable, messages may change.
    </p>
    <div class="row end" data-script>
      <div class="field grow">
        <label for="errors-filter">Only those with</label>
        <input
          id="errors-filter"
          type="search"
          autocomplete="off"
          spellcheck="false"
          placeholder="a code, a status or a word"
        />
      </div>
      <p class="soft" role="status" data-errors-shown>${ERRORS.length} codes</p>
    </div>
    ${[...byType].map(
      ([type, entries]) =>
        html`<section class="stack tight errors">
          <h3 id="type-${type.replaceAll('_', '-')}"><code>${type}</code></h3>
          <p class="soft">${TYPES[type]}</p>
          ${table(
            `Errors of the type ${type}`,
            ['Code', 'Status', 'A retry', 'When, and what to do'],
            entries.map((entry) => described(entry)),
            'stacked',
          )}
        </section>`,
    )}
  </section>`;
}

function described(entry: ErrorEntry): Html {
  const { code, anchor, status, when, advice, message, sample = {}, example, param } = entry;
  const said = example ?? (message === undefined ? undefined : fillIn(message, sample));
  return html`<tr class="error-entry" id="${anchor}">
    <th scope="row" class="wrap">
      <a href="#${anchor}"><code>${code}</code></a>
    </th>
    <td data-head="Status"><span class="status">${status}</span></td>
    <td class="small" data-head="A retry">${retryOf(entry)}</td>
    <td class="wrap">
      <p>${inline(when)}</p>
      <p><strong>What to do:</strong> ${inline(advice)}</p>
      ${
        said === undefined
          ? undefined
          : html`<p class="soft small">
              “${inline(said)}”${param === undefined ? undefined : html` · <span class="param"><code>param</code> ${param}</span>`}
            </p>`
      }
    </td>
  </tr>`;
}

function retryOf({ retry, retryAfterMs }: CodeRow): Html {
  if (!retry && retryAfterMs === undefined) return html`<span class="soft">does not help</span>`;
  if (!retry)
    return html`<span class="soft"
      >after the time in <code>retry-after</code>; libraries are told not to do so by
      themselves</span
    >`;
  return retryAfterMs === undefined
    ? html`may help, with backoff`
    : html`may help, after the time in <code>retry-after</code>`;
}
