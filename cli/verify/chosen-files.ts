import { judgeEntriesAlone } from '#cli/audit/fetched-log.ts';
import { auditJudgement } from '#cli/audit/judgement.ts';
import { pageLines } from '#cli/audit/page-lines.ts';
import { foreignForm } from '#cli/foreign-form.ts';
import { textIn } from '#cli/utf8.ts';
import { checkJson } from '#shared/receipts/bounds.ts';
import { withBreaks } from '#shared/receipts/content.ts';
import { CannotJudge, withinBounds } from './cannot-judge.ts';
import { checkpointJudgement, isNote } from './checkpoint-judgement.ts';
import type { LineageMethodologies } from './figures.ts';
import { NO_KEYS, trustIn } from './judge-receipt.ts';
import { type Judgement, receiptJudgement, type ReceiptOptions, unjudged } from './judgement.ts';

/** A file as it was chosen, packs apart. */
export interface ChosenFile {
  name: string;
  content: Uint8Array | string;
}

/** Files that were chosen together, by what they are. */
interface Sorted {
  /** Pages of an audit log, each on one line. */
  pages: string[];
  checkpoints: ChosenFile[];
  anchors: string[];
  others: ChosenFile[];
}

/**
 * Judges what was chosen together: a receipt or an answer that carries one, a signed head, or an audit log, which is pages
 * of its entries with their signed head and, where there is one, its anchor.
 */
export async function filesJudgement(
  files: readonly ChosenFile[],
  options: Omit<ReceiptOptions, 'file'>,
  methodologies: () => LineageMethodologies | Promise<LineageMethodologies>,
): Promise<Judgement> {
  const named = files.map(({ name }) => name).join(', ');
  try {
    for (const { name, content } of files) {
      const foreign = typeof content === 'string' ? undefined : foreignForm(content);
      if (foreign !== undefined) throw new CannotJudge(`${name} ${foreign}.`);
    }
    const { pages, checkpoints, anchors, others } = sorted(files);
    const [checkpoint, ...moreHeads] = checkpoints;
    const [other, ...more] = others;
    if (pages.length === 0 && anchors.length === 0) {
      const { trust } = options;
      if (checkpoint === undefined && other !== undefined && more.length === 0) {
        return await receiptJudgement(
          other.content,
          { ...options, file: other.name },
          methodologies,
        );
      }
      if (checkpoint !== undefined && other === undefined && moreHeads.length === 0) {
        demandNothingBeside(options);
        const keys = trust === undefined ? NO_KEYS : trustIn(trust);
        return checkpointJudgement(textOf(checkpoint), keys, checkpoint.name);
      }
    } else if (other === undefined && moreHeads.length === 0 && anchors.length <= 1) {
      demandNothingBeside(options);
      return auditOf(pages, checkpoint, anchors[0], { named, trust: options.trust });
    }
    throw new CannotJudge(
      `${named} do not belong together: choose one receipt or answer, one signed head, or the pages of one audit log with its checkpoint and anchor.`,
    );
  } catch (error) {
    if (!(error instanceof CannotJudge)) throw error;
    return unjudged(error.message, named);
  }
}

/** @throws CannotJudge where an answer or a request would be passed over without a word */
function demandNothingBeside({
  answer,
  request,
}: Pick<ReceiptOptions, 'answer' | 'request'>): void {
  if (answer === undefined && request === undefined) return;
  throw new CannotJudge('An answer or a request is compared with a receipt, and none is here.');
}

function auditOf(
  pages: readonly string[],
  checkpoint: ChosenFile | undefined,
  anchor: string | undefined,
  { named, trust }: { named: string; trust: ReceiptOptions['trust'] },
): Judgement {
  if (pages.length === 0) {
    throw new CannotJudge(
      'An audit log is judged with pages of its entries: choose them together.',
    );
  }
  if (checkpoint === undefined) return judgeEntriesAlone(pages.join('\n'));
  return auditJudgement(
    {
      entries: pages.join('\n'),
      checkpoint: textOf(checkpoint),
      ...(anchor === undefined ? {} : { anchor }),
      trust: trust && trustIn(trust),
    },
    named,
  );
}

function sorted(files: readonly ChosenFile[]): Sorted {
  const found: Sorted = { pages: [], checkpoints: [], anchors: [], others: [] };
  for (const file of files) {
    const text = textOf(file);
    const pages = auditPagesIn(text);
    if (isNote(text)) found.checkpoints.push(file);
    else if (pages !== undefined) found.pages.push(...pages);
    else if (isAnchor(text)) found.anchors.push(text);
    else found.others.push(file);
  }
  return found;
}

/** A page without entries is shorter than this. */
const EMPTY_PAGE_CHARS = 1_024;

/** Pages of an audit log: one document, or one a line; undefined for anything else. @throws CannotJudge where that is too much */
export function auditPagesIn(text: string): string[] | undefined {
  if (text.length > EMPTY_PAGE_CHARS && !text.includes('"audit_log_entry"')) return undefined;
  // An answer may have a list of that name, and brings its receipt.
  const isPage = (value: unknown): boolean => {
    const { object, data, receipt } = (value ?? {}) as Record<string, unknown>;
    if (object !== 'list' || !Array.isArray(data) || receipt !== undefined) return false;
    return data.every(
      (each) => (each as { object?: unknown } | null)?.object === 'audit_log_entry',
    );
  };
  const whole = parsed(text);
  if (whole !== undefined) {
    // Line breaks of JSON are white space; written again it would lose names that stand twice.
    return isPage(whole) ? [withBreaks(text, ' ')] : undefined;
  }
  const lines: string[] = [];
  for (const line of pageLines(text)) {
    if (!isPage(parsed(line))) return undefined;
    lines.push(line);
  }
  return lines.length > 0 ? lines : undefined;
}

function isAnchor(text: string): boolean {
  return (
    text.includes('"anchor_proof"') &&
    (parsed(text) as { object?: unknown } | null | undefined)?.object === 'anchor_proof'
  );
}

/** Undefined for what is no JSON. @throws CannotJudge where it is too much */
function parsed(text: string): unknown {
  withinBounds(() => checkJson(text));
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is no text is left to what judges receipts. */
function textOf({ content }: ChosenFile): string {
  try {
    return textIn(content);
  } catch {
    return '';
  }
}
