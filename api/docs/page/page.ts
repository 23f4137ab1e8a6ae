import { readFileSync } from 'node:fs';
import { ASSETS } from '#api/front/assets.ts';
import type { ApiDocument, Method, Operation } from '../document-shape.ts';
import { html, type Html } from '#api/html.ts';
import { headings, markdown } from './markdown.ts';
import { operationSection } from './operation.ts';

export const STYLESHEET = readFileSync(new URL('docs.css', import.meta.url));

type Listed = [method: Method, path: string, operation: Operation];

/** The whole description as one page: no script, nothing from elsewhere. */
export function docsPage(document: ApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Listed => [method as Method, path, operation]),
  );
  const { title, summary, version, description } = document.info;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} API</title>
        <link rel="icon" type="image/svg+xml" href="${ASSETS.addresses.icon}" />
        <link rel="stylesheet" href="/docs/docs.css" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        ${navigation(document, operations)}
        <main id="content">
          <header>
            <h1>${title} API</h1>
            <p class="lead">
              ${summary}. Version ${version}, <a href="/openapi.json">OpenAPI 3.1</a>.
            </p>
          </header>
          <div class="prose">${markdown(description)}</div>
          ${document.tags.map(({ name, description: about }) => {
            return html`<section class="group">
              <h2 id="${anchorOf(name)}">${name}</h2>
              <p>${about}</p>
              ${operations
                .filter(([, , { tags }]) => tags.includes(name))
                .map(([method, path, operation]) =>
                  operationSection(document, method, path, operation),
                )}
            </section>`;
          })}
        </main>
      </body>
    </html> `;
  return page.text;
}

/** Apart from the sections of the introduction, some of which have the same name. */
function anchorOf(tag: string): string {
  return `${tag.toLowerCase()}-operations`;
}

function navigation(document: ApiDocument, operations: readonly Listed[]): Html {
  return html`<nav aria-label="Contents">
    <p class="brand"><a href="#content">${document.info.title}</a></p>
    <ul>
      ${headings(document.info.description).map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
    </ul>
    ${document.tags.map(
      ({ name }) =>
        html`<p class="tag"><a href="#${anchorOf(name)}">${name}</a></p>
          <ul>
            ${operations
              .filter(([, , { tags }]) => tags.includes(name))
              .map(
                ([method, , { operationId, summary }]) =>
                  html`<li>
                    <a href="#${operationId}"
                      ><span class="method ${method}">${method}</span> ${summary}</a
                    >
                  </li>`,
              )}
          </ul>`,
    )}
  </nav>`;
}
