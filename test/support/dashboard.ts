import type { SessionSecrets } from '#api/dashboard/session/secrets.ts';
import { randomBytes } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { type DashboardDeps, type DashboardOptions, openDashboard } from '#api/dashboard/deps.ts';
import { dashboardRoutes } from '#api/dashboard/routes.ts';
import type { Operations } from '#api/dashboard/operations.ts';
import type { RegionStatus } from '#shared/catalogue/catalogue.ts';
import type { RegionNote } from '#shared/catalogue/redis/region-status.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import type { ExportRoutesOptions } from '#api/routes/exports.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { openResources } from '#api/routes/deps.ts';
import { primaryAlone } from '#shared/kernel/postgres/replica.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import type { Rate } from '#shared/kernel/plan.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { hashPassword } from '#shared/persons/password-hash.ts';
import { createPersonRegistry, type Place } from '#shared/persons/postgres/persons.ts';
import type { Person } from '#shared/persons/roles.ts';
import { movableClock, OPERATOR } from './accounts.ts';
import { buildTestApp } from './app.ts';
import type { TestDatabase } from './database.ts';

export const PASSWORD = 'correct horse battery staple';
const ORIGIN = 'https://gateway.example';

/** One hash for all: hashing is slow by design. */
let passwordHash: Promise<string> | undefined;

/** A person who can sign in with `PASSWORD`, in each of these places. */
export async function newPerson(
  pool: Pool,
  places: readonly Place[],
  name = 'Ada Example',
): Promise<Person> {
  const persons = createPersonRegistry(pool, movableClock());
  const who = { name, email: `${randomBytes(6).toString('hex')}@person.example` };
  let person: Person | undefined;
  for (const place of places) person = await persons.add(who, place, OPERATOR);
  await persons.setPassword(person!, await (passwordHash ??= hashPassword(PASSWORD)));
  return person!;
}

export interface DashboardEdge {
  app: FastifyInstance;
  errors: unknown[];
  /** What its pages are made of. */
  dashboard: DashboardDeps;
  /** A browser without any cookie. */
  browser: (options?: { origin?: string; address?: string }) => TestBrowser;
  /** A browser with an address of its own, in which this person has signed in. */
  signedIn: (person: Person) => Promise<TestBrowser>;
  /** One of a person who is new in these places. */
  newVisitor: (...places: Place[]) => Promise<TestBrowser>;
}

interface EdgeParts {
  /** What is absent of it is idle. */
  operations?: Partial<Operations>;
  /** An empty catalogue when absent. */
  index?: RoutingIndex;
  didDocument?: () => object;
  /** Of a playground's key, by its hash; that of none when absent. */
  credentialOf?: DashboardOptions['credentialOf'];
  exports?: Partial<ExportRoutesOptions>;
  insideIssuers?: readonly string[];
  /** Without a bound that a test reaches when absent. */
  perAddress?: Rate;
  /** One that no other has when absent. */
  sessionSecrets?: SessionSecrets;
}

/** One key, which has signed nothing. */
const idleKey = (): object => ({
  id: 'did:web:gateway.example',
  verificationMethod: [
    {
      id: 'did:web:gateway.example#idle',
      type: 'Multikey',
      controller: 'did:web:gateway.example',
      publicKeyMultibase: 'z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH',
    },
  ],
  assertionMethod: ['did:web:gateway.example#idle'],
});

/** What operators set of regions, in the memory of one test. */
function regionsInMemory(): Operations['regionStatuses'] {
  const statuses = new Map<string, RegionStatus>();
  const notes = new Map<string, RegionNote>();
  const put = <T>(map: Map<string, T>, code: string, value: T | null): void => {
    if (value === null) map.delete(code);
    else map.set(code, value);
  };
  return {
    list: async () => statuses,
    set: async (code, status) => put(statuses, code, status),
    notes: async () => notes,
    setNote: async (code, note) => put(notes, code, note),
  };
}

/** The dashboard as the api serves it over this database, without a browser. */
export async function openDashboardEdge(
  database: TestDatabase,
  publicUrl = ORIGIN,
  {
    didDocument = idleKey,
    credentialOf = () => null,
    exports = {},
    index = { models: new Map(), byName: new Map(), regions: new Map(), currency: null },
    operations = {},
    insideIssuers = [],
    perAddress = { requestsPerSecond: 1_000_000, burst: 1_000_000 },
    sessionSecrets = [randomBytes(32).toString('hex')],
  }: EdgeParts = {},
): Promise<DashboardEdge> {
  const pool = database.poolAs('docket_api', 6);
  const errors: unknown[] = [];
  const dashboard = openDashboard(pool, {
    resources: openResources({ pool, reads: primaryAlone(pool) }, receiptIssuer(publicUrl), {
      isPending: async () => false,
    }),
    exports: {
      exports: createExportRegistry(pool, systemSurroundings),
      store: { read: async () => null, delete: async () => {} },
      start() {},
      keptDays: 7,
      onStoreError: (error) => errors.push(error),
      ...exports,
    },
    didDocument,
    publicUrl,
    sessionSecrets,
    supportEmail: 'support@docket.example',
    closedReadMs: 90 * DAY_MS,
    insideIssuers,
    webhooksSecret: 'a secret of webhooks, of this test alone',
    insideWebhooks: [],
    exampleModel: () => 'a-model',
    index: () => index,
    credentialOf,
    operations: {
      writes: async () => {},
      health: () => ({ states: new Map(), openCircuits: new Set() }),
      served: () => new Map(),
      regionStatuses: regionsInMemory(),
      laneDepths: async () => [],
      peers: async () => new Map(),
      queues: {
        counts: async () => ({}),
        failures: async () => [],
        lastRounds: async () => new Map(),
      },
      ...operations,
    },
    perAddress,
    onError: (error) => errors.push(error),
    onFailure: (error) => errors.push(error),
  });
  const app = await buildTestApp(pool, { dashboard, trustedProxies: ['127.0.0.1'] });
  let last = 0;
  const signedIn = async (person: Person): Promise<TestBrowser> => {
    const browser = new TestBrowser(app, { address: `198.18.1.${(last += 1)}` });
    await browser.signIn(person);
    return browser;
  };
  return {
    app,
    errors,
    dashboard,
    browser: (options) => new TestBrowser(app, options),
    signedIn,
    newVisitor: async (...places) => signedIn(await newPerson(database.pool, places)),
  };
}

/** As if this person had signed in an hour ago: acts that give something ask again. */
export async function ageSessionsOf({ id }: Pick<Person, 'id'>, pool: Pool): Promise<void> {
  await pool.query(
    `update persons.session set confirmed_at = now() - interval '1 hour' where person_id = $1`,
    [id],
  );
}

/** The addresses of the dashboard as its routes have them, by method, those to come included. */
export async function routesOf(
  dashboard: DashboardDeps,
): Promise<{ get: string[]; post: string[] }> {
  const [get, post]: string[][] = [[], []];
  const listing = Fastify();
  listing.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET') get!.push(url);
    if (method === 'POST') post!.push(url);
  });
  await listing.register(dashboardRoutes, dashboard);
  await listing.close();
  return { get: get!, post: post! };
}

/** Keeps cookies, and sends forms with what the page had in them. */
export class TestBrowser {
  readonly cookies = new Map<string, string>();
  readonly #app: FastifyInstance;
  readonly #origin: string;
  readonly #address: string;

  constructor(app: FastifyInstance, { origin = ORIGIN, address = '192.0.2.1' } = {}) {
    this.#app = app;
    this.#origin = origin;
    this.#address = address;
  }

  async get(url: string, headers: Record<string, string> = {}) {
    return this.#inject({ method: 'GET', url, headers });
  }

  /** Sends a form as it is. */
  async post(
    url: string,
    fields: Record<string, string | string[]>,
    headers: Record<string, string> = {},
  ) {
    const body = new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) {
      for (const one of [value].flat()) body.append(name, one);
    }
    return this.#inject({
      method: 'POST',
      url,
      payload: body.toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: this.#origin,
        ...headers,
      },
    });
  }

  /** Opens a page and sends one of its forms, with the hidden token of the page. */
  async send(page: string, url: string, fields: Record<string, string | string[]> = {}) {
    const form = formTokenOf((await this.get(page)).payload);
    return this.post(url, { form, ...fields });
  }

  /** Sends files with a form, as a browser does: its token comes first. */
  async upload(url: string, form: string, files: Record<string, [name: string, content: string]>) {
    const boundary = 'a-boundary-of-this-form';
    const part = (name: string, content: string, file?: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"\r\nContent-Type: application/octet-stream`}\r\n\r\n${content}\r\n`;
    const parts = Object.entries(files).map(([name, [file, content]]) => part(name, content, file));
    return this.#inject({
      method: 'POST',
      url,
      payload: `${part('form', form)}${parts.join('')}--${boundary}--\r\n`,
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        origin: this.#origin,
      },
    });
  }

  async signIn({ email }: Pick<Person, 'email'>, password = PASSWORD) {
    return this.send('/dashboard/sign-in', '/dashboard/sign-in', { email, password });
  }

  async #inject(request: {
    method: 'GET' | 'POST';
    url: string;
    payload?: string;
    headers?: Record<string, string>;
  }) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await this.#app.inject({
      ...request,
      headers: {
        host: 'gateway.example',
        'x-forwarded-for': this.#address,
        ...(cookie === '' ? {} : { cookie }),
        ...request.headers,
      },
    });
    for (const { name, value, maxAge } of reply.cookies as {
      name: string;
      value: string;
      maxAge?: number;
    }[]) {
      if (maxAge === 0 || value === '') this.cookies.delete(name);
      else this.cookies.set(name, encodeURIComponent(value));
    }
    return reply;
  }
}

export function formTokenOf(page: string): string {
  return /name="form" value="([\w-]+)"/.exec(page)?.[1] ?? '';
}

/** What two pages that say the same have in common: each has a token of its own. */
export function withoutFormToken(page: string): string {
  return page.replaceAll(/name="form" value="[\w-]+"/g, '');
}
