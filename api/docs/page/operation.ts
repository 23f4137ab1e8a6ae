import type {
  ApiDocument,
  Example,
  MediaType,
  Method,
  Operation,
  Parameter,
  Reference,
  Response,
} from '../document-shape.ts';
import { html, Html } from '#api/html.ts';
import { codeBlock } from './code.ts';
import { tryIt } from './console.ts';
import { errorLink } from './errors.ts';
import { inline, markdown } from './markdown.ts';
import { samplesOf } from './samples.ts';
import { membersOf, typeOf } from './schema.ts';

/** One operation of the page. */
export function operationSection(
  document: ApiDocument,
  method: Method,
  path: string,
  operation: Operation,
): Html {
  const { operationId, summary, description = '', security, parameters = [] } = operation;
  const body = operation.requestBody?.content['application/json'];
  return html`<section class="operation" id="${operationId}">
    <h3><a href="#${operationId}">${summary}</a></h3>
    <p class="route">
      <span class="method ${method}">${method}</span> <code>${path}</code> ${demandOf(security)}
    </p>
    ${markdown(description)}
    ${
      parameters.length === 0
        ? ''
        : html`<h4>Parameters</h4>
            ${parameterList(parameters)}`
    }
    ${
      body === undefined
        ? ''
        : html`<h4>Body</h4>
            ${membersOf(document, body.schema)}${examples(document, body, 'Request')}`
    }
    <h4>Samples</h4>
    ${samplesOf(document, method, path, operation).map(
      ({ language, code }) =>
        html`<details>
          <summary>${language}</summary>
          ${codeBlock(code, language)}
        </details>`,
    )}
    ${
      parameters.some(({ name }) => name === 'Idempotency-Key')
        ? html`<p class="soft small">
            With SDKs, trying a 429 again, a stream and its receipt:
            <a href="/docs/guides/first-call">from a key to a verified receipt</a>.
          </p>`
        : ''
    }
    ${tryIt(method, path, operation)}
    <h4>Answers</h4>
    ${Object.entries(operation.responses)
      .filter(([status]) => status < '300')
      .map(([status, response]) => answer(document, status, response))}
    ${refusals(operation)}
  </section>`;
}

function demandOf(security: Operation['security']): Html {
  if (security.length === 0) return html`<span class="scope">no key</span>`;
  const [scope] = Object.values(security[0]!).flat();
  return html`<span class="scope">${scope ?? 'any key'}</span>`;
}

function parameterList(parameters: readonly Parameter[]): Html {
  return html`<dl class="members">
    ${parameters.map(
      ({ name, in: place, required, description, schema }) =>
        html`<dt>
            <code>${name}</code>
            <span class="type">${place}, ${typeOf(schema)}</span>${
              required ? html` <span class="required">required</span>` : ''
            }
          </dt>
          <dd>${inline(description ?? '')}</dd>`,
    )}
  </dl>`;
}

function answer(document: ApiDocument, status: string, response: Response): Html {
  const { description, headers = {}, content = {} } = response;
  const names = Object.keys(headers);
  return html`<div class="answer">
    <p><span class="status good">${status}</span> ${inline(description)}</p>
    ${Object.entries(content).map(
      ([type, media]) =>
        html`<p class="media"><code>${type}</code></p>
          ${foldedMembers(document, media)}${examples(document, media, 'Answer')}`,
    )}
    <details>
      <summary>${names.length === 1 ? 'Header' : `${names.length} headers`}</summary>
      <dl class="members">
        ${names.map((name) => {
          const header = document.components.headers[name]!;
          return html`<dt>
              <code>${name}</code> <span class="type">${typeOf(header.schema)}</span>
            </dt>
            <dd>${inline(header.description)}</dd>`;
        })}
      </dl>
    </details>
  </div>`;
}

function foldedMembers(document: ApiDocument, media: MediaType): Html {
  const members = membersOf(document, media.schema);
  if (members.text === '') return members;
  return html`<details>
    <summary>Members</summary>
    ${members}
  </details>`;
}

function examples(document: ApiDocument, media: MediaType, what: string): Html {
  const shown = Object.values(media.examples ?? {}).map((one) => exampleOf(document, one));
  return html`${shown.map(({ summary, value }, i) => {
    // The first request is short and what people look for; answers carry whole receipts.
    const open = i === 0 && what === 'Request' ? new Html(' open') : '';
    // The console fills its field with the examples of requests.
    const request = what === 'Request' ? html` data-request="${summary ?? ''}"` : '';
    return html`<details${open}${request}><summary>${what}: ${summary}</summary><pre tabindex="0"><code>${textOf(value)}</code></pre></details>`;
  })}`;
}

function exampleOf(document: ApiDocument, example: Example | Reference): Example {
  if (!('$ref' in example)) return example;
  return document.components.examples[example.$ref.slice(example.$ref.lastIndexOf('/') + 1)]!;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** Each code with its condition; what to do about it is in the reference, to which the code leads. */
function refusals({ responses }: Operation): Html {
  const failing = Object.entries(responses).filter(([status]) => status >= '400');
  return html`<details class="refusals">
    <summary>Errors</summary>
    <div class="scroll" tabindex="0">
      <table>
        <tbody>
          ${failing.flatMap(([status, { description }]) =>
            description.split('\n\n').map((line) => {
              const [, code = '', when = ''] = /^`([^`]+)`: (.*)$/s.exec(line) ?? [];
              return html`<tr>
                <td><span class="status">${status}</span></td>
                <td>${errorLink(code)}</td>
                <td>${inline(when)}</td>
              </tr>`;
            }),
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}
