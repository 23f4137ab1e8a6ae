import { setTimeout } from 'node:timers/promises';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import type { Pool } from 'pg';
import type { DevFile } from '#embedded/launcher/dev-file.ts';
import { createAccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createVettings } from '#shared/accounts/postgres/vetting.ts';
import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { createKeyRegistry } from '#shared/keys/postgres/keys.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { createPersonRegistry } from '#shared/persons/postgres/persons.ts';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import type { RequestRow } from '#shared/requests/row.ts';
import { requestRow } from '#test/support/requests.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { currentReceiptSigner } from '#shared/receipts/signing/files/current-receipt-signer.ts';
import { declaration, newAccount, OPERATOR, vetting } from '#test/support/accounts.ts';
import { inferenceRecord } from '#test/support/issuing.ts';
import { until } from '#test/support/until.ts';
import { issueReceipt } from '#workers/receipts/issue.ts';

const DAYS = 34;
const BATCH = 200;

/** What the pictures are of, by what stands in addresses. */
export interface Furniture {
  orgId: string;
  keyId: string;
  rotatedKeyId: string;
  leakedKeyId: string;
  receiptId: string;
  /** The same, as a client holds it. */
  receipt: string;
  degradedReceiptId: string;
  requestId: string;
  exportId: string;
  failedExportId: string;
  reviewId: string;
  applyingOrgId: string;
  /** Of the organisation without a request. */
  emptyOrgId: string;
  /** Of the one with long names and large numbers. */
  largeOrgId: string;
  largeKeyId: string;
  /** Of the instance, for what changes while pictures are taken. */
  databaseUrl: string;
}

/** Whose receipts are made, and how large they are. */
interface History {
  orgId: string;
  keyIds: readonly string[];
  /** By which the tokens of each receipt are multiplied. */
  times: number;
  days: number;
}

const LONG_NAME =
  'Gesellschaft für nachhaltige Rechenzentrumsinfrastruktur und verantwortungsvolle Sprachmodelle Mitteleuropa mbH & Co. KG';

/** A day's requests grow over the month and pause at the weekend, so that a chart has something to show. */
function requestsOf(day: number): number {
  const weekday = new Date(day * DAY_MS).getUTCDay();
  const grown = 30 + (((day % DAYS) * 37) % 23);
  return weekday === 0 || weekday === 6 ? Math.round(grown / 4) : grown;
}

/** Fills a running instance with what an organisation of some weeks has, and what the service has to do. */
export async function furnish(info: DevFile, signingKeysDir: string): Promise<Furniture> {
  return withPool(info.database_url, (pool) => fill(pool, info, signingKeysDir));
}

async function withPool<T>(url: string, use: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = createPool({ url, max: 2, applicationName: 'pictures' });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}

/** As if every person had signed in an hour ago. */
export async function ageSessions({ databaseUrl }: Furniture): Promise<void> {
  await withPool(databaseUrl, (pool) =>
    pool.query(
      `update persons.session set created_at = created_at - interval '1 hour', confirmed_at = null
        where created_at > now() - interval '1 hour'`,
    ),
  );
}

/** A log that was halted, and two receipts that could not be integrated. */
export async function addLedgerTrouble({
  databaseUrl,
  orgId,
  largeOrgId,
}: Furniture): Promise<void> {
  await withPool(databaseUrl, async (pool) => {
    await pool.query(
      `update ledger_head set halted_at = now() - interval '20 minutes',
              halt_reason = 'the root at size 240 is not the one that was signed: the checkpoint of 13:40:07 UTC has another'
        where org_id = $1`,
      [largeOrgId],
    );
    await pool.query(
      `insert into ledger_quarantine (entry_id, org_id, kind, leaf_hash, submitted_at, quarantined_at, reason)
       select entry_id, org_id, kind, leaf_hash, issued_at, now() - interval '18 minutes',
              case row_number() over (order by entry_id) when 1 then 'body_altered' else 'body_missing' end
         from (select * from ledger_body where org_id = $1 order by entry_id desc limit 2) as newest
       on conflict do nothing`,
      [orgId],
    );
  });
}

async function fill(pool: Pool, info: DevFile, signingKeysDir: string): Promise<Furniture> {
  const { org_id: orgId } = info;
  const keys = createKeyRegistry(pool, systemSurroundings);
  const issue = async (name: string): Promise<string> =>
    (await keys.issue(orgId, { name, scopes: ['inference:read', 'inference:write'] }, OPERATOR)).key
      .id;
  const keyId = await issue('Nightly batch');
  const rotatedKeyId = await issue('Production, Frankfurt');
  await keys.rotate(orgId, rotatedKeyId, { name: 'Production, Frankfurt' }, OPERATOR);
  const leakedKeyId = await issue('Laptop of the intern');
  await keys.revoke(orgId, leakedKeyId, OPERATOR, { reason: 'in a repository', leaked: true });
  await pool.query(
    `update api_key set last_used_at = now() - interval '3 minutes', created_at = now() - interval '5 months'
      where id = any($1)`,
    [[keyId, rotatedKeyId]],
  );
  const answer = await ask(info);
  const ofMonth = { orgId, keyIds: [keyId, rotatedKeyId], times: 1, days: DAYS };
  await issueHistory(info, answer.publicUrl, signingKeysDir, ofMonth);
  const { emptyOrgId, largeOrgId } = await demoOrganisations(pool);
  const largeKey = await keys.issue(largeOrgId, { name: LONG_NAME.slice(0, 100) }, OPERATOR);
  const ofLarge = { orgId: largeOrgId, keyIds: [largeKey.key.id], times: 20_000_000, days: 8 };
  await issueHistory(info, answer.publicUrl, signingKeysDir, ofLarge);
  await addPersons(pool, orgId);
  await addUnsentLetters(pool, orgId);
  const { reviewId, applyingOrgId } = await addApplicants(pool);
  const persons = createPersonRegistry(pool, systemSurroundings);
  for (const each of [emptyOrgId, largeOrgId, applyingOrgId]) {
    await persons.add(
      { name: 'Rita Reviewer', email: info.reviewer.email },
      { kind: 'organisation', orgId: each, role: 'owner' },
      OPERATOR,
    );
  }
  return {
    orgId,
    keyId,
    rotatedKeyId,
    leakedKeyId,
    reviewId,
    applyingOrgId,
    emptyOrgId,
    largeOrgId,
    largeKeyId: largeKey.key.id,
    receiptId: answer.receiptId,
    receipt: answer.receipt,
    degradedReceiptId: await aDegradedReceipt(pool, orgId),
    requestId: answer.receiptId.replace('rcpt_', 'req_'),
    exportId: await makeExport(pool, info),
    failedExportId: await addFailedExport(pool, orgId),
    databaseUrl: info.database_url,
  };
}

/** Receipts of some weeks, signed with the instance's own key; its ledger takes them up by itself. */
async function issueHistory(
  info: DevFile,
  publicUrl: string,
  signingKeysDir: string,
  { orgId, keyIds, times, days }: History,
): Promise<void> {
  const pool = createPool({
    url: info.database_url,
    role: 'docket_receipts',
    max: 1,
    applicationName: 'pictures',
  });
  const issuer = receiptIssuer(publicUrl);
  const fail = (error: unknown): never => {
    throw error;
  };
  const signer = currentReceiptSigner({ dir: signingKeysDir, did: issuer.did }, fail);
  const { catalogue } = loadCatalogue(DEFAULT_CATALOGUE, {
    variable: () => info.sandbox_url,
    timeoutMs: 120_000,
  });
  const { estimate } = shippedMethodologies().current;
  const store = createReceiptStore(pool);
  const today = Math.floor(Date.now() / DAY_MS);
  const models = catalogue.models.filter(({ kinds }) => kinds.includes('chat'));
  const rows = [];
  const asRequests: RequestRow[] = [];
  for (let day = today - days; day < today; day += 1) {
    const requests = requestsOf(day);
    for (let i = 0; i < requests; i += 1) {
      const startedAt = day * DAY_MS + Math.floor(((i + 0.5) * DAY_MS) / requests);
      // Most go to the first; every thirty-first has no estimate.
      const model = models[i % 31 === 30 ? models.length - 1 : (i * 7) % 4]!;
      const endedAt = startedAt + 900 + ((i * 131) % 4_000);
      const record = inferenceRecord({
        requestId: newId('req', startedAt),
        orgId,
        keyId: keyIds[i % 3 === 0 ? keyIds.length - 1 : 0]!,
        model: model.id,
        upstreamModel: model.id,
        region: ['eu-west', 'eu-west', 'eu-north', 'us-east'][i % 4]!,
        startedAt,
        endedAt,
        usage: {
          inputTokens: (120 + ((i * 977) % 2_400)) * times,
          cachedInputTokens: 0,
          outputTokens: (80 + ((i * 389) % 900)) * times,
          source: 'upstream',
        },
      });
      const issued = issueReceipt(
        { issuer, signer, estimate, catalogue: () => catalogue, now: () => endedAt },
        record,
      );
      rows.push(issued.row);
      // Every twenty-third failed instead.
      const failed =
        i % 23 === 22 ? { status: 503, code: 'region_degraded', hasReceipt: false } : {};
      const { keyId, requestId, region } = record;
      const totalMs = endedAt - startedAt;
      const asked = { orgId, keyId, id: requestId, model: model.id, region, totalMs };
      asRequests.push(requestRow({ ...asked, queuedMs: 4 + (i % 30), ...failed }));
    }
  }
  for (let from = 0; from < rows.length; from += BATCH) {
    await store.commit(rows.slice(from, from + BATCH));
  }
  await pool.end();
  const api = createPool({
    url: info.database_url,
    role: 'docket_api',
    max: 1,
    applicationName: 'pictures',
  });
  for (let from = 0; from < asRequests.length; from += BATCH) {
    await writeRequests(api, asRequests.slice(from, from + BATCH));
  }
  await api.end();
  await waitUntilCounted(info.database_url);
}

/** Until charts have what was written: the instance's own housekeeping counts it, within seconds. */
export async function waitUntilCounted(databaseUrl: string): Promise<void> {
  await withPool(databaseUrl, async (pool) => {
    const areUncounted = async (): Promise<boolean> =>
      (await pool.query('select from request_uncounted limit 1')).rowCount !== 0;
    while (await areUncounted()) await setTimeout(500);
  });
}

/** Two that the instance begins with: one stays as it is, the other gets a long name. */
async function demoOrganisations(pool: Pool): Promise<{ emptyOrgId: string; largeOrgId: string }> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from account where name in ('Demo Audit', 'Demo Audit Plus') order by length(name)`,
  );
  const [empty, large] = rows as [{ id: string }, { id: string }];
  await pool.query('update account set name = $2 where id = $1', [large.id, LONG_NAME]);
  return { emptyOrgId: empty.id, largeOrgId: large.id };
}

async function addPersons(pool: Pool, orgId: string): Promise<void> {
  const persons = createPersonRegistry(pool, systemSurroundings);
  for (const [name, email, role] of [
    ['Ada Lovelace', 'ada@example.org', 'admin'],
    ['محمد بن موسى الخوارزمي', 'al-khwarizmi@example.org', 'member'],
    [
      'Maximiliane Alexandra Theodora von und zu Hohenstein-Wolkenburg-Schwarzenfels',
      'maximiliane.alexandra.von.hohenstein@subsidiary.international.example.org',
      'auditor',
    ],
  ] as const) {
    await persons.add({ name, email }, { kind: 'organisation', orgId, role }, OPERATOR);
  }
}

/** One that waits for its mail server, and one that was given up. */
async function addUnsentLetters(pool: Pool, orgId: string): Promise<void> {
  await pool.query(
    `insert into mail_outbox (org_id, recipient, subject, body, created_at, attempts, next_attempt_at, failed_at, failure)
     values ($1, 'ada@example.org', 'API key “Laptop of the intern” was revoked', '', now() - interval '40 minutes', 7,
               now() + interval '9 minutes', null, 'connect ECONNREFUSED 192.0.2.25:587'),
            (null, 'maximiliane.alexandra.von.hohenstein@subsidiary.international.example.org', 'Your password for Docket',
               '', now() - interval '2 days', 17, now(), now() - interval '21 hours',
               'Can''t send mail - all recipients were rejected: 550 5.1.1 The address is not known here')`,
    [orgId],
  );
}

/** One who applies, and one whose screening has found something. */
async function addApplicants(pool: Pool): Promise<{ reviewId: string; applyingOrgId: string }> {
  const accounts = createAccountRegistry(pool, systemSurroundings);
  const vettings = createVettings(pool, systemSurroundings);
  const applying = await accounts.create(newAccount({ name: 'Nordlicht Analytics AB' }), OPERATOR);
  const { id } = await accounts.create(newAccount({ name: 'Acme Enrichment Ltd' }), OPERATOR);
  const parties = [
    { role: 'owner', name: 'Miroslav Zorin', country: 'BY' },
    { role: 'director', name: 'Dora Example', country: 'FR' },
  ] as const;
  await accounts.declare(id, declaration({ industry: 'nuclear', parties }), OPERATOR);
  await vettings.record(
    id,
    vetting({
      outcome: 'flagged',
      reasons: [
        {
          kind: 'country',
          score: 1,
          text: 'The country BY is under an embargo or comprehensive restrictions.',
        },
        { kind: 'industry', score: 1, text: 'The industry nuclear is reviewed by a person.' },
      ],
    }),
  );
  const review = await vettings.openReview(id);
  return { reviewId: review!.id, applyingOrgId: applying.id };
}

async function aDegradedReceipt(pool: Pool, orgId: string): Promise<string> {
  const { rows } = await pool.query<{ entry_id: string }>(
    `select entry_id from ledger_body where org_id = $1 and kind = 'degraded' limit 1`,
    [orgId],
  );
  return rows[0]!.entry_id;
}

/** Asks something; returns the receipt and its id, and under which address the instance issues. */
export async function ask({
  base_url,
  api_key,
}: DevFile): Promise<{ receipt: string; receiptId: string; publicUrl: string }> {
  const reply = await fetch(`${base_url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'llama-3.1-8b',
      messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
    }),
  });
  const answer = (await reply.json()) as { receipt: { id: string } };
  const [publicUrl, receiptId] = answer.receipt.id.split('/receipts/') as [string, string];
  return { receipt: JSON.stringify(answer.receipt), receiptId, publicUrl };
}

/** Has a pack made of the first receipts, when there is a signed head, and waits until it is there. */
async function makeExport(pool: Pool, { base_url, api_key, org_id }: DevFile): Promise<string> {
  const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ first_index: 0, last_index: 99, format: 'evidence-pack' });
  const isThere = async (text: string, id: string): Promise<boolean> =>
    ((await pool.query(text, [id])).rowCount ?? 0) > 0;
  await until(
    () => isThere('select from ledger_checkpoint where org_id = $1 and size >= 100', org_id),
    'a hundred receipts are in the ledger',
  );
  const reply = await fetch(`${base_url}/exports`, { method: 'POST', headers, body });
  const { id } = (await reply.json()) as { id: string };
  await until(
    () => isThere(`select from export where id = $1 and status in ('ready', 'failed')`, id),
    'the pack is made',
  );
  return id;
}

/** One whose receipts do not lead to the checkpoint that it was to lead to. */
async function addFailedExport(pool: Pool, orgId: string): Promise<string> {
  const id = newId('exp');
  await pool.query(
    `insert into export (id, org_id, status, first_index, last_index, checkpoint_size, done, runs, period_from, period_to,
                         error_code, error_message, created_at, started_at, finished_at)
     values ($1, $2, 'failed', 0, 99, 100, 41, 1, date_trunc('day', now()) - interval '30 days', date_trunc('day', now()) - interval '20 days',
             'ledger_damaged', 'The ledger does not add up: entry 41 does not hash to its leaf. An operator must run docket ledger fsck.',
             now() - interval '2 hours', now() - interval '2 hours', now() - interval '119 minutes')`,
    [id, orgId],
  );
  return id;
}
