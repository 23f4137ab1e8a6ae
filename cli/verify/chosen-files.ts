import { auditJudgement } from '#cli/audit/judgement.ts';
import { foreignForm } from '#cli/foreign-form.ts';
import { textIn } from '#cli/utf8.ts';
import { CannotJudge } from './cannot-judge.ts';
import { checkpointJudgement, isNote } from './checkpoint-judgement.ts';
import type { LineageMethodologies } from './figures.ts';
import { NO_KEYS, trustIn } from './judge-receipt.ts';
import { type Judgement, receiptJudgement, type ReceiptOptions, unjudged } from './judgement.ts';

/** A file as somebody has chosen it, packs apart. */
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
        const keys = trust === undefined ? NO_KEYS : trustIn(trust);
        return checkpointJudgement(textOf(checkpoint), keys, checkpoint.name);
      }
    } else if (other === undefined && moreHeads.length === 0 && anchors.length <= 1) {
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

function auditOf(
  pages: readonly string[],
  checkpoint: ChosenFile | undefined,
  anchor: string | undefined,
  { named, trust }: { named: string; trust: ReceiptOptions['trust'] },
): Judgement {
  if (checkpoint === undefined || pages.length === 0) {
    const lacks = checkpoint === undefined ? 'its checkpoint' : 'pages of its entries';
    throw new CannotJudge(`An audit log is judged with ${lacks}: choose them together.`);
  }
  return auditJudgement(
    {
      entries: pages.join('\n'),
      checkpoint: textOf(checkpoint),
      ...(anchor === undefined ? {} : { anchor }),
      ...(trust === undefined ? {} : { keys: trustIn(trust).keys }),
    },
    named,
  );
}

function sorted(files: readonly ChosenFile[]): Sorted {
  const found: Sorted = { pages: [], checkpoints: [], anchors: [], others: [] };
  for (const file of files) {
    const text = textOf(file);
    const pages = pagesIn(text);
    if (isNote(text) && !text.trimStart().startsWith('{')) found.checkpoints.push(file);
    else if (pages !== undefined) found.pages.push(...pages);
    else if (isAnchor(text)) found.anchors.push(text);
    else found.others.push(file);
  }
  return found;
}

/** Pages of an audit log: one document, or one a line; undefined for anything else. */
function pagesIn(text: string): string[] | undefined {
  if (!text.includes('"previous_hash"')) return undefined;
  const isPage = (value: unknown): boolean =>
    Array.isArray((value as { data?: unknown } | null)?.data);
  const whole = parsed(text);
  if (whole !== undefined) return isPage(whole) ? [JSON.stringify(whole)] : undefined;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.every((line) => isPage(parsed(line))) ? lines : undefined;
}

function isAnchor(text: string): boolean {
  return (
    text.includes('"anchor_proof"') &&
    (parsed(text) as { object?: unknown } | null | undefined)?.object === 'anchor_proof'
  );
}

function parsed(text: string): unknown {
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
