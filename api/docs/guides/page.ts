import { publicPage } from '#api/front/layout.ts';
import { html, type Html } from '#api/html.ts';
import { addressOf, SEARCH_SCRIPT, STYLESHEET } from '../page/files.ts';
import { markdownInTurns, type Picture } from '../page/markdown.ts';
import { searchField } from '../page/page.ts';
import { type Guide, type Guides, linkingOf } from './guides.ts';

export interface GuidePageParts {
  guides: Guides;
  /** Those that are served, by their paths. */
  pictures: ReadonlyMap<string, Picture>;
  /** The address of the index of the search. */
  index: string;
  hasDashboard: boolean;
}

/** A page of the repository beside the list of all of them, which by itself is the beginning. */
export async function guidePage(guide: Guide, parts: GuidePageParts): Promise<Html> {
  const { guides, pictures, index, hasDashboard } = parts;
  const linking = linkingOf(guide, guides, pictures);
  return publicPage({
    title: `${guide.title} · Docket`,
    path: guide.address,
    hasDashboard,
    stylesheet: addressOf(STYLESHEET),
    scripts: [addressOf(SEARCH_SCRIPT)],
    side: html`<aside class="contents">${searchField(index)} ${navigation(guide, guides)}</aside>`,
    body: html`<article class="said guide">
      ${await markdownInTurns(guide.source, linking, guide.headings)}
    </article>`,
  });
}

function navigation(shown: Guide, { beginning, audiences }: Guides): Html {
  const entry = (guide: Guide, name: string): Html =>
    html`<li>
      <a href="${guide.address}" ${guide === shown ? html`aria-current="page"` : undefined}
        >${name}</a
      >
      ${guide === shown && guide !== beginning ? sections(guide) : undefined}
    </li>`;
  return html`<nav aria-label="Contents">
    <ul>
      <li><a href="/docs">API reference</a></li>
      ${entry(beginning, 'Guides')}
    </ul>
    ${audiences.map(
      ({ name, guides: listed }) =>
        html`<p class="tag">${name}</p>
          <ul>
            ${listed.map((one) => entry(one.guide, one.name))}
          </ul>`,
    )}
  </nav>`;
}

function sections({ headings }: Guide): Html | undefined {
  const shown = headings.filter(({ depth }) => depth === 2);
  if (shown.length === 0) return undefined;
  return html`<ul>
    ${shown.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
  </ul>`;
}
