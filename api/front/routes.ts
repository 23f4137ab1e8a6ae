import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import type { Html } from '#api/html.ts';
import { PAGE_HEADERS, strictTransport } from '#api/dashboard/guard.ts';
import { compressPages } from '#api/plugins/compressed.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { ASSETS, serveAssets } from './assets.ts';
import { landingPage } from './landing-page.ts';
import { publicPage } from './layout.ts';
import type { StatusReader } from './deps.ts';
import { incidentFeed } from './status-history.ts';
import { statusPage } from './status-page.ts';
import { verifyPage } from './verify-page.ts';

export interface FrontOptions {
  publicUrl: string;
  supportEmail: string;
  /** A model for the examples. */
  exampleModel: () => string | undefined;
  hasDashboard: boolean;
  status: Pick<StatusReader, 'now' | 'history'>;
}

const ASKING = { config: { scope: 'public' }, schema: { hide: true } } as const;
const PUBLIC = { ...ASKING, config: { ...ASKING.config, asksNoStore: true } } as const;
/** Minutes for what says what this is; seconds for how it is. */
const BRIEFLY = 'public, max-age=300';
const NOW = 'public, max-age=5';

/** The public pages, without a session: what this is, and how it is. */
export const frontRoutes: FastifyPluginAsync<FrontOptions> = async (app, options) => {
  const { publicUrl, supportEmail, exampleModel, hasDashboard, status } = options;
  const { origin } = new URL(publicUrl);
  strictTransport(app, publicUrl);
  compressPages(app, { of: 'everyone' });
  serveAssets(app);
  app.get('/', PUBLIC, (_request, reply) => {
    const parts = { origin, model: exampleModel(), hasDashboard, supportEmail };
    const title = 'Docket: inference with a receipt';
    const page = publicPage({ title, path: '/', hasDashboard, body: landingPage(parts) });
    return send(reply, page, BRIEFLY);
  });
  app.get('/verify', PUBLIC, (_request, reply) => {
    const page = publicPage({
      title: 'Verify · Docket',
      path: '/verify',
      hasDashboard,
      scripts: [ASSETS.verify],
      body: verifyPage(origin),
    });
    return send(reply, page, BRIEFLY);
  });
  app.get('/status', ASKING, async (_request, reply) => {
    // At once: while PostgreSQL is silent, each of them takes as long as that is waited for.
    const [is, was] = await Promise.all([status.now(), status.history()]);
    const body = statusPage(is, supportEmail, was);
    const page = publicPage({ title: 'Status · Docket', path: '/status', hasDashboard, body });
    return send(reply, page, NOW);
  });
  app.get('/status.atom', ASKING, async (_request, reply) => {
    const history = await status.history();
    // An empty feed would say that there are no incidents.
    if (history === undefined) throw new Fault('store_unavailable');
    return reply
      .headers({ 'cache-control': NOW, 'x-content-type-options': 'nosniff' })
      .type('application/atom+xml; charset=utf-8')
      .send(incidentFeed(history.incidents, origin, Date.now()));
  });
};

function send(reply: FastifyReply, page: Html, cacheControl: string): FastifyReply {
  return reply
    .headers({ ...PAGE_HEADERS, 'cache-control': cacheControl })
    .type('text/html; charset=utf-8')
    .send(page.text);
}
