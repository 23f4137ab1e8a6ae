import type { FastifyReply } from 'fastify';
import { html, type Html } from '#api/html.ts';
import { keyField, outcomeTemplate } from '#api/docs/page/console.ts';
import { addressOf, CONSOLE_SCRIPT, STYLESHEET } from '#api/docs/page/files.ts';
import { seeOther, sendPage } from '#api/dashboard/guard.ts';
import { publicPage } from './layout.ts';

export interface ReceiptDoor {
  id: string;
  /** Where the service answers, without a path. */
  origin: string;
  hasDashboard: boolean;
}

/**
 * The page of a receipt for a browser that has not shown whose it is: the ways to it. It says the same of receipts that
 * there are and of those that there are not.
 */
export function receiptDoor({ id, origin, hasDashboard }: ReceiptDoor): Html {
  return publicPage({
    title: 'A receipt · Docket',
    path: '/receipts',
    hasDashboard,
    stylesheet: addressOf(STYLESHEET),
    scripts: [addressOf(CONSOLE_SCRIPT)],
    body: html`<section class="stack">
        <h1>A receipt</h1>
        <p><code>${id}</code></p>
        <p class="prose">
          A receipt is shown to the organisation that made the request: to its members in the
          dashboard, and to whoever has a key of it with the scope <code>service:read</code>. If
          someone gave you the receipt itself, <a href="/verify">check it in your browser</a>; it
          needs no sign-in.
        </p>
        ${
          hasDashboard
            ? html`<p>
                <a class="button primary" href="/dashboard/sign-in?to=${inDashboard(id)}"
                  >Sign in and open it</a
                >
              </p>`
            : undefined
        }
      </section>
      <section class="stack tight try" hidden>
        <h2>Open it with a key</h2>
        <form class="stack" method="dialog" data-method="GET" data-path="/receipts/{id}">
          <input type="hidden" name="path:id" value="${id}" />
          ${keyField('receipt', 'service:read')}
          <p class="row">
            <button type="submit">Open the receipt</button>
            <button type="button" data-stop hidden>Stop</button>
          </p>
        </form>
        <div class="stack tight" data-outcome></div>
      </section>
      <section class="stack tight">
        <h2>From a program</h2>
        <pre tabindex="0">
curl -s -H "Authorization: Bearer $DOCKET_API_KEY" \\
  '${origin}/receipts/${id}'</pre>
      </section>
      ${outcomeTemplate()}`,
  });
}

/** Where a member of the receipt's organisation finds it. */
function inDashboard(id: string): string {
  return `/dashboard/receipts/${id}`;
}

/**
 * What a browser gets at the address of a receipt: the dashboard sees its session, since the cookie is for nothing else, and
 * a process without one says how else it is had.
 */
export function receiptInBrowser({
  publicUrl,
  hasDashboard,
}: {
  publicUrl: string;
  hasDashboard: boolean;
}): (id: string, reply: FastifyReply) => FastifyReply {
  const { origin } = new URL(publicUrl);
  return (id, reply) =>
    hasDashboard
      ? seeOther(reply, inDashboard(id))
      : sendPage(reply, receiptDoor({ id, origin, hasDashboard }), 401);
}
