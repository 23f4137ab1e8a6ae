import { publicPage } from '#api/front/layout.ts';
import type { ApiDocument, Method, Operation } from '../document-shape.ts';
import { type Guides, guidePlaces } from '../guides/guides.ts';
import { html, type Html } from '#api/html.ts';
import { nextTurn } from '#shared/kernel/turns.ts';
import { outcomeTemplate } from './console.ts';
import { errorReference } from './errors.ts';
import { addressOf, CONSOLE_SCRIPT, type PageFile, SEARCH_SCRIPT, STYLESHEET } from './files.ts';
import { markdown, sectionsOf } from './markdown.ts';
import { operationSection } from './operation.ts';
import { searchIndex } from './search-index.ts';

type Listed = [method: Method, path: string, operation: Operation];

/** The whole description as one page, and what it loads: nothing from elsewhere. Requests are answered while it is made. */
export async function docsPage(
  document: ApiDocument,
  guides: Guides,
  hasDashboard: boolean,
): Promise<{ page: string; index: string; files: readonly PageFile[] }> {
  const { title, summary, version, description } = document.info;
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Listed => [method as Method, path, operation]),
  );
  const sections = new Map<Operation, Html>();
  for (const [method, path, operation] of operations) {
    await nextTurn();
    sections.set(operation, operationSection(document, method, path, operation));
  }
  const index: PageFile = {
    path: '/docs/index.json',
    type: 'application/json',
    text: JSON.stringify([
      ...searchIndex(document, sectionsOf(description)),
      ...guidePlaces(guides).map(({ address: a, name: t, words: w }) => ({ t, k: 'guide', a, w })),
    ]),
  };
  const page = publicPage({
    title: `${title} API`,
    path: '/docs',
    hasDashboard,
    stylesheet: addressOf(STYLESHEET),
    scripts: [addressOf(SEARCH_SCRIPT), addressOf(CONSOLE_SCRIPT)],
    side: html`<aside class="contents">
      ${searchField(addressOf(index))} ${navigation(document, operations)}
    </aside>`,
    body: html`<header>
        <h1 class="big">${title} API</h1>
        <p class="lead soft">
          ${summary}. Version ${version}, <a href="/openapi.json">OpenAPI 3.1</a>. What an operation
          cannot say by itself is in the <a href="/docs/guides">guides</a>.
        </p>
      </header>
      <div class="said">${markdown(description)}</div>
      ${errorReference()}
      ${document.tags.map(({ name, description: about }) => {
        return html`<section class="group">
          <h2 id="${anchorOf(name)}">${name}</h2>
          <p class="soft">${about}</p>
          ${operations
            .filter(([, , { tags }]) => tags.includes(name))
            .map(([, , operation]) => sections.get(operation))}
        </section>`;
      })}
      ${outcomeTemplate()}`,
  });
  return {
    page: page.text,
    index: addressOf(index),
    files: [STYLESHEET, SEARCH_SCRIPT, CONSOLE_SCRIPT, index],
  };
}

/** Hidden until its script is there. */
export function searchField(index: string): Html {
  return html`<div class="search" id="search" role="search" data-index="${index}" hidden>
    <input
      type="search"
      role="combobox"
      aria-label="Search these pages"
      aria-autocomplete="list"
      aria-controls="found"
      aria-expanded="false"
      aria-keyshortcuts="/"
      autocomplete="off"
      spellcheck="false"
      placeholder="Search (press /)"
    />
    <ul id="found" role="listbox" aria-label="Found" hidden></ul>
    <p class="soft small" role="status"></p>
  </div>`;
}

/** Apart from the sections of the introduction, some of which have the same name. */
function anchorOf(tag: string): string {
  return `${tag.toLowerCase()}-operations`;
}

function navigation(document: ApiDocument, operations: readonly Listed[]): Html {
  const sections = [
    ...sectionsOf(document.info.description),
    { id: 'error-reference', title: 'Error reference' },
  ];
  return html`<nav aria-label="Contents">
    <ul>
      <li><a href="/docs/guides">Guides</a></li>
      ${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
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
