import { capital } from '#shared/kernel/plain-text.ts';
import { sameHash } from '#shared/ledger/hashing.ts';
import { checkSuccession, type LossStatement, lossWords } from '#shared/ledger/losses.ts';
import {
  MalformedLedgerText,
  parseNote,
  type SignatureCheck,
  signerOf,
} from '#shared/ledger/notes.ts';
import { ANCHOR_LOG, auditLogOf } from '#shared/ledger/origins.ts';
import { type DeclaredLoss, declaredLosses } from '#shared/ledger/postgres/losses.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { finding, type Finding } from './findings.ts';
import { rootHere } from './published.ts';

/** Statements of a log that hold, oldest first, and what is wrong with the others. */
export interface ExaminedLosses {
  statements: LossStatement[];
  findings: Finding[];
}

/**
 * Reads what was declared lost of a log, and checks that each statement is signed, follows on the one before, and begins its
 * successor with the entries that are here.
 * @param signatures by the keys that sign heads of this log; null leaves them unchecked
 */
export async function examineLosses(
  db: Queryable,
  logId: string,
  signatures: SignatureCheck | null,
): Promise<ExaminedLosses> {
  const findings: Finding[] = [];
  const wrong = (subject: string, detail: string): void => {
    findings.push(finding('loss_wrong', logId, subject, detail));
  };
  let losses: DeclaredLoss[] = [];
  try {
    losses = await declaredLosses(db, logId);
    const statements = losses.map(({ statement }) => statement);
    const [first] = statements;
    if (first !== undefined) {
      checkSuccession(statements, first.log, statements.at(-1)!.generation);
      if (!isOf(first.log, logId)) wrong('declared loss', 'The statement is about another log.');
    }
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    wrong('declared loss', `It cannot be read: ${error.message}`);
    return { statements: [], findings };
  }
  for (const { note, statement } of losses) {
    const subject = `declared loss, tree ${statement.generation}`;
    const { size, root } = statement.kept;
    const here = size === 0 ? root : await rootHere(db, logId, size);
    if (here === null || !sameHash(here, root)) {
      wrong(subject, 'The root of the entries that it says are kept is not that of those here.');
    } else if (signatures !== null && signerOf(parseNote(note), signatures) === null) {
      wrong(subject, 'No known key has signed it.');
    } else {
      const detail = capital(lossWords(statement));
      findings.push(finding('loss_declared', logId, subject, `${detail}.`));
    }
  }
  return { statements: losses.map(({ statement }) => statement), findings };
}

/** An audit log’s name ends as it stands in storage; that of the anchor does too. */
function isOf(log: string, logId: string): boolean {
  const name = logId === ANCHOR_LOG || logId.startsWith(auditLogOf('')) ? logId : `log/${logId}`;
  return log.endsWith(`/${name}`);
}
