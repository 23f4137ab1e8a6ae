import type { SanctionsStore } from './postgres/sanctions.ts';
import type { Vettings } from './postgres/vetting.ts';
import { assess, type Assessment, type Party } from './sanctions/assess.ts';
import type { ListPreview, StagedList } from './sanctions/listed.ts';
import { NameIndex } from './sanctions/name-index.ts';

export interface ListPreviewOptions {
  vettings: Pick<Vettings, 'applicant' | 'vetted'>;
  lists: Pick<
    SanctionsStore,
    'changes' | 'currentVersions' | 'discardOld' | 'namesOf' | 'notePreview' | 'staged'
  >;
}

/** Accounts read at once. */
const PAGE = 100;
/** Each takes some ten milliseconds with each of the two sets of lists: these are compared within minutes. */
const ACCOUNTS_MAX = 2_000;
/** What a person looks at before a list is made current. */
const MATCHES_MAX = 200;
const WORDS_MAX = 3;

/** Finds what the lists that wait would change, of those for which that is not known, and deletes those that have waited too long. */
export async function previewLists(
  options: ListPreviewOptions,
  signal: AbortSignal,
): Promise<void> {
  const { lists } = options;
  await lists.discardOld();
  for (const staged of await lists.staged()) {
    if (staged.preview !== null) continue;
    const preview = await previewOf(staged, options, signal);
    if (signal.aborted) return;
    await lists.notePreview(staged.id, preview);
  }
}

/** What a list would change; of no use when the signal has come. */
async function previewOf(
  { id, source, version }: StagedList,
  { lists, vettings }: ListPreviewOptions,
  signal: AbortSignal,
): Promise<ListPreview> {
  const current = await lists.currentVersions();
  const against = current.find((one) => one.source === source)?.version ?? null;
  const changes = await lists.changes(id, against);
  const next = [...current.filter((one) => one.source !== source), { source, version }];
  const [before, after] = [
    new NameIndex(await lists.namesOf(current)),
    new NameIndex(await lists.namesOf(next)),
  ];
  const matches: ListPreview['matches'][number][] = [];
  let accounts = 0;
  let last: string | undefined;
  let page: string[] = [];
  do {
    page = await vettings.vetted(last, PAGE);
    for (const orgId of page) {
      if (signal.aborted) break;
      last = orgId;
      const party = await vettings.applicant(orgId);
      if (party === null) continue;
      accounts += 1;
      const words = newMatches(party, { before, after });
      if (words.length === 0 || matches.length >= MATCHES_MAX) continue;
      const isHit = assess(party, after).outcome === 'hit';
      matches.push({ orgId, isHit, words: words.slice(0, WORDS_MAX) });
    }
  } while (page.length === PAGE && accounts < ACCOUNTS_MAX && !signal.aborted);
  return { against, ...changes, accounts, isWhole: page.length < PAGE, matches };
}

/** The listed parties that an account resembles by the new lists alone, in words. */
function newMatches(
  party: Party,
  { before, after }: { before: NameIndex; after: NameIndex },
): string[] {
  const matched = ({ reasons }: Assessment) => reasons.filter(({ entity }) => entity !== undefined);
  const known = new Set(matched(assess(party, before)).map(({ entity }) => entity));
  return matched(assess(party, after))
    .filter(({ entity }) => !known.has(entity))
    .map(({ text }) => text);
}
