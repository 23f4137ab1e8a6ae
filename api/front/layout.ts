import { html, type Html } from '#api/html.ts';
import { documentOf } from '#api/dashboard/parts/layout.ts';
import { ASSETS } from './assets.ts';

/** The public pages, as the line on top of each names them. */
const PLACES = [
  ['/docs', 'Docs'],
  ['/verify', 'Verify'],
  ['/status', 'Status'],
] as const;

export interface PublicPage {
  title: string;
  /** Its own address, so that the line on top says where one is. */
  path: string;
  hasDashboard: boolean;
  /** The addresses of scripts of its own. */
  scripts?: readonly string[];
  /** The address of a stylesheet of its own, beside that of all pages. */
  stylesheet?: string;
  /** What stands in a column beside the page. */
  side?: Html;
  body: Html;
}

/** A public page: a line of links, and the page. */
export function publicPage(page: PublicPage): Html {
  const { title, path, hasDashboard, scripts = [], stylesheet, side, body } = page;
  return documentOf(
    ASSETS.addresses,
    title,
    html`${stylesheet === undefined ? undefined : html`<link rel="stylesheet" href="${stylesheet}" />`}
      <div class="open">
        <header class="top">
          <a class="brand" href="/">Docket</a>
          <nav aria-label="Docket">
            <ul>
              ${PLACES.map(
                ([address, label]) =>
                  html`<li>
                    <a href="${address}" ${address === path ? html`aria-current="page"` : undefined}
                      >${label}</a
                    >
                  </li>`,
              )}
              ${
                hasDashboard
                  ? html`<li><a class="button" href="/dashboard">Dashboard</a></li>`
                  : undefined
              }
            </ul>
          </nav>
        </header>
        ${side}
        <main id="content">${body}</main>
      </div>
      ${scripts.map((script) => html`<script type="module" src="${script}"></script>`)}`,
  );
}
