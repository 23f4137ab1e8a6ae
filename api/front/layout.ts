import { html, type Html } from '#api/html.ts';
import { documentOf } from '#api/dashboard/pages/layout.ts';
import { ASSETS } from './assets.ts';

/** The pages for everybody, as the line on top of each names them. */
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
  /** The address of a script of its own. */
  script?: string;
  body: Html;
}

/** A page for everybody: a line of links, and the page. */
export function publicPage({ title, path, hasDashboard, script, body }: PublicPage): Html {
  return documentOf(
    ASSETS.addresses,
    title,
    html`<div class="open">
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
        <main id="content">${body}</main>
      </div>
      ${script === undefined ? undefined : html`<script type="module" src="${script}"></script>`}`,
  );
}
