import { html, type Html } from '#api/html.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import { publicPage } from './layout.ts';

export interface NotFoundParts {
  fault: Fault;
  requestId: string;
  hasDashboard: boolean;
}

/** The page in place of an address where nothing is, with the ways on from there. */
export function notFoundPage({ fault, requestId, hasDashboard }: NotFoundParts): Html {
  return publicPage({
    title: 'There is no such page · Docket',
    path: '',
    hasDashboard,
    body: html`<section class="stack">
      <h1>There is no such page</h1>
      <p class="prose">${fault.message}</p>
      <p><a class="button primary" href="/">Go to the first page</a></p>
      <p class="soft small">Request <code>${requestId}</code></p>
    </section>`,
  });
}
