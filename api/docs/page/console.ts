import type { Method, Operation, Parameter } from '../document-shape.ts';
import { ASSETS } from '#api/front/assets.ts';
import { html, type Html } from '#api/html.ts';
import { typeOf } from './schema.ts';

/**
 * The form that sends one operation from the page. It is hidden until the script is there, and sent by nothing else: a
 * browser that submitted it by itself would put the key into an address.
 */
export function tryIt(method: Method, path: string, operation: Operation): Html {
  const { operationId, parameters = [], requestBody, security } = operation;
  const scope = security.flatMap((one) => Object.values(one).flat())[0];
  return html`<details class="act try" hidden>
    <summary>Try it</summary>
    <form
      class="stack"
      method="dialog"
      data-method="${method.toUpperCase()}"
      data-path="${path}"
      aria-label="Try: ${operation.summary}"
    >
      <p class="soft small">${told(method, operation)}</p>
      ${security.length === 0 ? undefined : keyField(operationId, scope)}
      ${parameters.map((parameter) => parameterField(parameter))}
      ${
        requestBody === undefined
          ? undefined
          : html`<label class="field"
                ><strong>Body</strong>
                <textarea name="body" rows="10" spellcheck="false"></textarea>
              </label>
              <p class="row small" data-examples hidden></p>`
      }
      <p class="row">
        <button class="primary" type="submit">Send ${method.toUpperCase()} request</button>
        <button type="button" data-stop hidden>Stop</button>
      </p>
    </form>
    <div class="stack tight" data-outcome></div>
  </details>`;
}

/**
 * The field for a key, of which the script tells every form on the page. `name` is its own on the page. Its forms have the
 * method `dialog`: without their script they send nothing, and the key into no address.
 */
export function keyField(name: string, scope: string | undefined): Html {
  return html`<label class="field"
    ><span
      ><strong>API key</strong>
      <span class="type">${scope === undefined ? 'any' : `scope ${scope}`}</span></span
    >
    <input
      name="key"
      class="masked"
      required
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      placeholder="dkt_…"
      aria-describedby="${name}-key"
    />
    <span class="help" id="${name}-key"
      >Kept in this page’s memory alone, until it is closed or loaded again.</span
    ></label
  >`;
}

/** What happens when it is sent, before it is. */
function told(method: Method, { tags, security }: Operation): string {
  if (security.length === 0) return 'Sent to this service from your browser. It needs no key.';
  if (tags.includes('Inference')) {
    return 'Sent to this service with your key, for real: a model runs, the request counts towards your limits, and gets a receipt.';
  }
  return method === 'get'
    ? 'Sent to this service with your key. It changes nothing.'
    : 'Sent to this service with your key, for real: what it changes is changed.';
}

/** Examples are placeholders: what they name is hardly the visitor’s. */
function parameterField({ name, in: place, required, schema, example }: Parameter): Html {
  const {
    enum: values,
    default: otherwise,
    examples,
  } = schema as {
    enum?: readonly string[];
    default?: unknown;
    examples?: readonly unknown[];
  };
  const shown = otherwise ?? (place === 'header' ? undefined : (example ?? examples?.[0]));
  const field = `${place}:${name}`;
  return html`<label class="field"
    ><span
      ><code>${name}</code> <span class="type">${place}, ${typeOf(schema)}</span>${
        required ? html` <span class="required">required</span>` : undefined
      }</span
    >
    ${
      values === undefined
        ? html`<input
            name="${field}"
            autocomplete="off"
            spellcheck="false"
            ${required ? html`required` : undefined}
            placeholder="${typeof shown === 'string' ? shown : shown === undefined ? '' : JSON.stringify(shown)}"
          />`
        : html`<select name="${field}">
            ${required ? undefined : html`<option value="">not sent</option>`}
            ${values.map((value) => html`<option>${value}</option>`)}
          </select>`
    }</label
  >`;
}

/** Where the receipt of an answer is shown, and what checking it in the browser came to; a script fills it in. */
export function receiptPlace(heading: Html): Html {
  return html`<section class="stack tight" data-receipt hidden>
    ${heading}
    <p class="row">
      <code data-receipt-id></code> <span class="soft small" data-receipt-tier></span>
    </p>
    <dl class="figures" data-figures></dl>
    <p><span class="badge" data-verdict>Being checked…</span></p>
    <details>
      <summary>What was checked</summary>
      <pre tabindex="0" data-checks></pre>
    </details>
    <div class="stack tight" data-record hidden>
      <p>
        Its figures follow from a published record, <code data-record-digest></code>. The button
        asks this service for it by this digest, and sends nothing else.
      </p>
      <p>
        <button type="button" data-ask>Fetch the record and compute the figures again</button>
      </p>
    </div>
    <p><a class="button" href="/verify" data-to-verify>Check it on the verifier’s page</a></p>
  </section>`;
}

/** What stands below a form once there is an answer; the script fills in a copy. */
export function outcomeTemplate(): Html {
  return html`<template
    id="outcome"
    data-verifier="/verify/docket-verify.js"
    data-scales="/verify/figures.js"
    data-receipt-script="${ASSETS.receipt}"
  >
    <p role="status">
      <span class="badge" data-status>Sending…</span> <span class="soft small" data-took></span>
    </p>
    <p class="note bad" data-problem hidden></p>
    ${receiptPlace(html`<h4>Receipt</h4>`)}
    <h4>Answer</h4>
    <pre class="answer" tabindex="0" aria-label="Answer" data-answer></pre>
    <p data-save hidden><a class="button" download>Save the file</a></p>
    <details>
      <summary>Headers</summary>
      <pre tabindex="0" data-headers></pre>
    </details>
  </template>`;
}
