import { resolve } from 'node:path';
import type { Command } from 'commander';
import { witnessedSize } from '#cli/fsck/published.ts';
import { examineDatabase, printFinding, summaryOf, witnessClients } from '#cli/fsck/run.ts';
import { assessLosses, declareLosses } from '#cli/loss/declaration.ts';
import { contradictionWithPublished } from '#shared/ledger/postgres/checkpoints.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { type LossStatement, lossWords } from '#shared/ledger/losses.ts';
import { encodeBase64 } from '#shared/ledger/notes.ts';
import { ANCHOR_LOG, logOrigins, treeOrigin } from '#shared/ledger/origins.ts';
import { createCheckpointSigner } from '#shared/receipts/signing/files/checkpoint-signer.ts';
import { signingAgentOf } from '#shared/receipts/signing/sockets/signing-agent.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { type Repair, requeueReceipt, resumeLog } from '#shared/ledger/postgres/upkeep.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import type { Finding } from '#cli/fsck/findings.ts';
import {
  type ActOptions,
  actorFrom,
  asOperator,
  databaseUrl,
  REASON,
  TICKET,
} from '#cli/operator.ts';
import { EXIT_CODES } from '#cli/exit-codes.ts';
import { printFields, printJson } from '#cli/print.ts';
import { plain } from '#shared/kernel/plain-text.ts';
import { withRedis } from '#cli/redis.ts';

const LOSS_REMEDY =
  'Let no traffic in: bring the newer database back; if there is none, docket ledger declare-loss (docs/operations.md, A halted log).\n';

interface FsckCommandOptions {
  org?: string;
  json?: boolean;
}

/** `docket ledger …`: what an operator asks of the ledger. */
export function register(program: Command): void {
  const ledger = program.command('ledger').description('the append-only log of every organisation');
  ledger
    .command('fsck')
    .description(
      'compare logs with what was published, rebuild them from the receipts’ bytes, and name everything that differs',
    )
    .option('--org <id>', 'one organisation, or `anchor`; all when absent')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      `
What was published is what Redis (REDIS_URL) remembers, what the anchor log has, and what each witness of WITNESSES says.

Exit codes: 0 sound, 1 could not be examined, 2 damaged, 3 sound, but something waits for a person,
4 less, or other, than what was published: an older database was put back.`,
    )
    .action(async (options: FsckCommandOptions) => {
      await fsck(options);
    });
  const repair = (command: Command): Command => command.option(...REASON).option(...TICKET);
  repair(
    ledger
      .command('resume')
      .description(
        'let a halted log go on, if fsck finds it undamaged and nothing newer was published',
      ),
  )
    .requiredOption('--org <id>', 'organisation')
    .action(resume);
  ledger
    .command('declare-loss')
    .description(
      'go on after entries that were published are lost: close the log by a signed statement of it, and open its successor',
    )
    .requiredOption(
      '--org <id>',
      'an organisation, with its audit log, or `anchor`, with that of the service',
    )
    .requiredOption('--reason <text>', 'why, for the statement and the audit log; it is published')
    .option(...TICKET)
    .option('--yes', 'declare it; without this, what would be declared is printed')
    .addHelpText(
      'after',
      `
For a database that was put back to an older state, when no newer one is left. What was published is what Redis (REDIS_URL)
remembers and, of the anchor log, what each witness of WITNESSES says. It cannot be taken back: bring the newer database back
where there is one. The statement is signed by the keys in SIGNING_KEYS_DIR.

Exit codes: 0 declared, or declared before, 1 refused or impossible, 2 damaged, 4 nothing declared yet: --yes is missing.`,
    )
    .action(declareLoss);
  repair(
    ledger
      .command('requeue <receipt-id>')
      .description('give a receipt in quarantine another try, once its cause is gone'),
  ).action((receiptId: string, options: ActOptions) =>
    asOperator(async ({ pool, surroundings }) => {
      await requeueReceipt(pool, surroundings, receiptId, await repairOf(options));
      process.stdout.write(`${receiptId} waits for integration again.\n`);
    }),
  );
}

const repairOf = async (options: ActOptions): Promise<Repair> => {
  const { reason } = options;
  return { actor: await actorFrom(options), ...(reason === undefined ? {} : { reason }) };
};

/**
 * A damaged log must not go on: what is appended to it would have to be thrown away with the repair. Neither must one of
 * an older database that was restored: it is sound, and would be signed with another tree than was published.
 */
async function resume(options: ActOptions & { org: string }): Promise<void> {
  const repair = await repairOf(options);
  const findings = await fsck({ org: options.org });
  if (process.exitCode === EXIT_CODES.fsck.damaged.code) return;
  process.exitCode = 0;
  await asOperator(async ({ pool, surroundings }) => {
    const contradiction =
      (await withRedis((client) =>
        contradictionWithPublished(pool, createCheckpointMemory(client), options.org),
      )) ?? lossOf(findings, options.org);
    if (contradiction !== null) {
      throw new Error(
        `The log of ${options.org} must not go on: ${contradiction}. Bring the newer database back.`,
      );
    }
    await resumeLog(pool, surroundings, options.org, repair);
  });
  process.stdout.write(`The log of ${options.org} goes on.\n`);
}

interface DeclareOptions extends ActOptions {
  org: string;
  reason: string;
  yes?: boolean;
}

/**
 * Damage comes first, as before `resume`: a successor begins with what is here. The statement is made from what is
 * remembered at that moment, under the locks of integrators and signers.
 */
async function declareLoss({ org: orgId, yes, ...options }: DeclareOptions): Promise<void> {
  const declaration = { orgId, actor: await actorFrom(options), reason: options.reason };
  const findings = await fsck({ org: orgId });
  if (process.exitCode === EXIT_CODES.fsck.damaged.code) return;
  process.exitCode = 0;
  const { signingKeysDir, signingAgent, publicUrl } = loadToolConfig();
  const keys = loadSigningKeys(signingKeysDir);
  const agent = signingAgentOf({ signingAgent });
  const signers = {
    checkpoints: createCheckpointSigner(keys, 'checkpoints', agent),
    anchor: createCheckpointSigner(keys, 'anchor', agent),
  };
  const { lost, declared } = await asOperator(async ({ pool, surroundings }) =>
    withRedis(async (client) => {
      const memory = createCheckpointMemory(client);
      const witnessed = orgId === ANCHOR_LOG ? await witnessedSize(pool, witnessClients()) : 0;
      const tools = { memory, origins: logOrigins(publicUrl), surroundings, witnessed };
      return yes === true
        ? declareLosses(pool, declaration, { ...tools, signers })
        : assessLosses(pool, declaration, tools);
    }),
  );
  if (lost.length === 0) return sayDeclared(orgId, declared, findings);
  for (const { statement: loss } of lost) printLoss(loss);
  if (yes === true) {
    process.stdout.write(`Declared. Ledger workers go on under the names of the successors.\n`);
    return;
  }
  process.stdout.write(
    'Nothing is declared yet. What is named above would be signed and published, and cannot be taken back: bring the newer database back where there is one, and otherwise run this again with --yes.\n',
  );
  process.exitCode = EXIT_CODES.fsck.behind.code;
}

function printLoss(loss: LossStatement): void {
  const { log, generation, kept, published } = loss;
  process.stdout.write(`${plain(`${log}: ${lossWords(loss)}`)}\n`);
  printFields({
    '  closed': `${treeOrigin(log, published.generation)}, ${published.size} entries, root ${published.root === null ? 'not known' : encodeBase64(published.root)}`,
    '  kept': `${kept.size} entries, root ${encodeBase64(kept.root)}`,
    '  opened': treeOrigin(log, generation),
  });
}

/** @throws Error when there is nothing to declare, with what is known of the log */
function sayDeclared(
  orgId: string,
  declared: readonly LossStatement[],
  findings: readonly Finding[],
): void {
  if (declared.length === 0) {
    const seen = lossOf(findings, orgId);
    throw new Error(
      `Nothing of ${orgId} is lost: ${seen ?? 'it has all that was published, as far as Redis and witnesses know'}.`,
    );
  }
  for (const loss of declared) {
    process.stdout.write(`${plain(`It is already declared. ${loss.log}: ${lossWords(loss)}`)}\n`);
  }
}

/** What a witness or the anchor log says of it; Redis is asked again. Its audit log may have lost entries of its own. */
function lossOf(findings: readonly Finding[], orgId: string): string | null {
  const lost = findings.find((each) => each.severity === 'loss' && each.orgId === orgId);
  return lost?.detail.replace(/\.$/, '') ?? null;
}

async function fsck({ org: orgId, json }: FsckCommandOptions): Promise<Finding[]> {
  await requireLog(orgId);
  const { verdict, entries, findings } = await examineDatabase(
    { url: await databaseUrl(), pooler: loadToolConfig().databasePooler, orgId },
    json === true ? () => {} : printFinding,
  );
  if (json === true) printJson({ verdict, entries, findings });
  else {
    process.stdout.write(`${summaryOf({ verdict, entries, findings })}\n`);
    if (verdict === 'behind') process.stdout.write(LOSS_REMEDY);
    // Those of another deployment fit nothing here, which is no damage of this ledger.
    if (verdict === 'damaged') process.stdout.write(keysUsed());
  }
  process.exitCode = EXIT_CODES.fsck[verdict].code;
  return findings;
}

function keysUsed(): string {
  const { signingKeysDir } = loadToolConfig();
  return `Signatures were checked by the keys in ${resolve(signingKeysDir)}.\n`;
}

/** A mistyped organisation must not be called sound. One that has no receipt yet has an account. */
async function requireLog(orgId: string | undefined): Promise<void> {
  if (orgId === undefined || orgId === ANCHOR_LOG) return;
  await asOperator(async ({ pool, accounts }) => {
    const { rowCount } = await pool.query('select from ledger_head where org_id = $1', [orgId]);
    if (rowCount === 0) await accounts.get(orgId);
  });
}
