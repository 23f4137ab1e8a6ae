/** The tamperings of the matrix, as data: a name, what the forger has, and what is done. */
import { readFileSync } from 'node:fs';
import { LINEAGE_CONTEXT_NAME } from '#shared/lineage/context.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import {
  BAG_DECLARATION,
  BAG_INFO,
  INSTRUCTIONS,
  KEY_EVENTS,
  LOSSES,
  MANIFEST,
  RECEIPTS,
  SCRIPT,
  shardPath,
  tablePath,
  SEAL,
  TAG_MANIFEST,
  REPORT_PAGE,
  REPORT_STATEMENT,
} from '#shared/packs/layout.ts';
import { RECEIPTS_HEADER } from '#shared/packs/tables.ts';
import { signedReceipt } from '#test/support/signed-receipt.ts';
import {
  continueHeads,
  dropAnchor,
  multihashOfDigest,
  rewriteLedger,
  signedHead,
  type PolicyName,
  type TamperLab,
} from './tamper-lab.ts';
import { ForgedPack, type Loose, multihash } from './tampering.ts';
import { OF_OPERATOR, ofWitnesses } from './witness-rows.ts';
import {
  atEntry,
  atFirst,
  atRevision,
  type Edit,
  isHourly,
  isMetered,
  PLAIN,
  REVISED,
  revisionOf,
} from './ledger-edits.ts';
import { ofForms } from './form-rows.ts';
import { OF_WORDS, WORDS_SEALED } from './word-rows.ts';

/** What the forger has: nothing, the key that seals, those of receipts and heads, every key but the anchor's, or every key. */
type Powers =
  | 'none'
  | 'pack key'
  | 'receipt and checkpoint keys'
  | 'all but the anchor'
  | 'every key';

export interface Tampering {
  name: string;
  powers: Powers;
  /** Edits the pack. What it returns edits the seal, before it is signed anew. */
  edit?: (pack: ForgedPack) => void | ((seal: Loose) => void);
  /** Edits the bytes of the archive. */
  bytes?: (archive: Buffer) => Buffer;
  /** Names in the order in which they stand in the archive. */
  order?: (names: string[]) => string[];
  /** Of the whole ledger, of a range with revisions after it, or of another deployment of the lab. */
  pack?: 'whole' | 'range' | 'period' | 'split' | 'own' | 'renamed' | 'posing';
  /** Checksums and seal stay as they are. */
  unrepaired?: boolean;
  /** Sealed with this key in place of the one for packs. */
  sealedBy?: 'receipts';
  flags?: readonly (
    | '--require-anchor'
    | '--require-timestamp'
    | '--require-released-methodology'
  )[];
  /** Whose witnesses are asked for, and how many at least. */
  witnesses?: { policy: PolicyName; least?: number };
  /** Why a verifier that finds it good is right, or can do no better. */
  passes?: { ours?: string; python?: string };
  /** What both verifiers say in their first lines where they find it good. */
  says?: RegExp;
  /** What verify.py leaves to `docket verify`, and says so in its verdict. */
  unchecked?: 'page' | 'lineage';
}

const ANCHORED = 'data/anchor/head.json';
const none = { powers: 'none' } as const;
const sealed = { powers: 'pack key' } as const;

/** Every row, for the packs of a lab. */
export function tamperings(lab: TamperLab): Tampering[] {
  const whole = new ForgedPack(lab.whole);
  const range = new ForgedPack(lab.range);
  return [
    ...ofArchive(),
    ...ofBag(whole),
    ...ofSeal(whole),
    ...ofFiles(range),
    ...ofReceipts(),
    ...ofLedger(),
    ...ofLineage(whole),
    ...ofKeys(),
    ...ofAnchor(whole),
    ...withKeys(lab),
    ...ofWitnesses(whole, readFileSync(lab.policies.two, 'utf8')),
    ...OF_OPERATOR,
    ...ofForms(lab.lab),
    ...OF_WORDS.map(({ name, edit, note, says }): Tampering => ({
      powers: 'all but the anchor',
      name: `another ledger: ${name}; no anchor`,
      edit: (p) => rewriteBare(lab.lab, p, edit),
      ...(note === undefined ? {} : { passes: { ours: note, python: note } }),
      ...(says === undefined ? {} : { says }),
    })),
    ...WORDS_SEALED.map(({ name, members, note, says, pack }): Tampering => ({
      ...sealed,
      name: `data/report/stated.json: ${name}, the page made anew`,
      edit: (p) => {
        const stated: Loose = JSON.parse(p.text(REPORT_STATEMENT));
        p.set(REPORT_STATEMENT, canonicalJson({ ...stated, ...members }));
      },
      ...(pack === undefined ? {} : { pack }),
      ...(note === undefined ? {} : { passes: { ours: note, python: note } }),
      ...(says === undefined ? {} : { says }),
    })),
  ];
}

/** Fields of the records of a ZIP archive: where each stands from the record's start, and how long it is. */
const CENTRAL: [string, number, number][] = [
  ['version made by', 4, 2],
  ['version needed', 6, 2],
  ['flags', 8, 2],
  ['method', 10, 2],
  ['time', 12, 2],
  ['date', 14, 2],
  ['CRC-32', 16, 4],
  ['compressed size', 20, 4],
  ['size', 24, 4],
  ['length of the name', 28, 2],
  ['length of extra fields', 30, 2],
  ['length of the comment', 32, 2],
  ['disk', 34, 2],
  ['internal attributes', 36, 2],
  ['mode (a symbolic link)', 40, 2],
  ['offset', 42, 4],
];
const LOCAL: [string, number, number][] = [
  ['version needed', 4, 2],
  ['flags', 6, 2],
  ['method', 8, 2],
  ['time', 10, 2],
  ['date', 12, 2],
  ['CRC-32', 14, 4],
  ['compressed size', 18, 4],
  ['size', 22, 4],
  ['length of the name', 26, 2],
  ['length of extra fields', 28, 2],
];
const END: [string, number, number][] = [
  ['version made by', 12, 2],
  ['entries', 32, 8],
  ['size of the directory', 40, 8],
  ['offset of the directory', 48, 8],
  ['disks', 72, 4],
  ['entries (old record)', 86, 2],
  ['length of the comment', 96, 2],
];

const flip = (at: (archive: Buffer) => number) => (archive: Buffer) => {
  const bytes = Buffer.from(archive);
  bytes[at(bytes)]! ^= 1;
  return bytes;
};
const lastOf = (archive: Buffer, signature: string): number =>
  archive.lastIndexOf(Buffer.from(signature, 'latin1'));

function ofArchive(): Tampering[] {
  const at = (name: string, bytes: Tampering['bytes']): Tampering => ({
    ...none,
    name,
    bytes: bytes!,
  });
  const insert = (where: (archive: Buffer) => number) => (archive: Buffer) => {
    const place = where(archive);
    return Buffer.concat([archive.subarray(0, place), Buffer.from('x'), archive.subarray(place)]);
  };
  return [
    ...CENTRAL.map(([field, offset]) =>
      at(
        `ZIP directory: another ${field}`,
        flip((a) => lastOf(a, 'PK\u0001\u0002') + offset),
      ),
    ),
    ...LOCAL.map(([field, offset]) =>
      at(
        `ZIP header of a file: another ${field}`,
        flip(() => offset),
      ),
    ),
    ...END.map(([field, offset]) =>
      at(
        `ZIP end: another ${field}`,
        flip((a) => a.length - 98 + offset),
      ),
    ),
    at(
      'ZIP: a byte before it',
      insert(() => 0),
    ),
    at(
      'ZIP: a byte behind it',
      insert((a) => a.length),
    ),
    at(
      'ZIP: a byte before the directory',
      insert((a) => a.indexOf(Buffer.from('PK\u0001\u0002', 'latin1'))),
    ),
    at('ZIP: its end is cut off', (a) => a.subarray(0, -1)),
    at('ZIP: its second half is cut off', (a) => a.subarray(0, a.length / 2)),
    at(
      'ZIP: a byte of a receipt',
      flip((a) => a.indexOf('"outputTokens":') + 16),
    ),
    {
      ...none,
      name: 'ZIP: two files in another order',
      order: (n) => [n[1]!, n[0]!, ...n.slice(2)],
    },
    {
      ...none,
      name: 'ZIP: payload in another order',
      order: (n) => [...n.slice(0, 3), n[4]!, n[3]!, ...n.slice(5)],
    },
    { ...none, name: 'ZIP: a file twice', order: (n) => [...n, n[5]!] },
    { ...none, name: 'ZIP: another folder at the top', edit: (p) => void (p.folder += 'x') },
  ];
}

const line = (path: string, edit: (lines: string[]) => string[]) => (pack: ForgedPack) =>
  pack.lines(path, edit);
const swapFirst = ([a, b, ...rest]: string[]): string[] => [b!, a!, ...rest];

function ofBag(pack: ForgedPack): Tampering[] {
  const info = pack.text(BAG_INFO).trimEnd().split('\n');
  return [
    {
      ...none,
      name: 'bagit.txt: another version',
      edit: (p) => p.set(BAG_DECLARATION, p.text(BAG_DECLARATION).replace('1.0', '0.97')),
    },
    ...info.map((each, i): Tampering => ({
      ...none,
      name: `bag-info.txt: another ${each.split(':')[0]}`,
      edit: line(BAG_INFO, (lines) => lines.with(i, `${lines[i]}1`)),
    })),
    ...info.map((each, i): Tampering => ({
      ...sealed,
      name: `bag-info.txt: another ${each.split(':')[0]}`,
      edit: (p) => {
        const text = p.text(BAG_INFO).split('\n');
        return resealed(p, BAG_INFO, text.with(i, `${text[i]}1`).join('\n'));
      },
    })),
    {
      ...sealed,
      name: 'bagit.txt: another encoding',
      edit: (p) => resealed(p, BAG_DECLARATION, p.text(BAG_DECLARATION).replace('UTF-8', 'UTF-7')),
    },
    {
      ...none,
      name: 'bag-info.txt: a further line',
      edit: line(BAG_INFO, (lines) => [...lines, 'Contact-Name: x']),
    },
    {
      ...none,
      name: 'manifest: lines in another order',
      edit: line(MANIFEST, swapFirst),
      unrepaired: true,
    },
    {
      ...none,
      name: 'manifest: a line less',
      edit: line(MANIFEST, (lines) => lines.slice(1)),
      unrepaired: true,
    },
    {
      ...none,
      name: 'manifest: a path that leads elsewhere',
      edit: line(MANIFEST, (lines) => [...lines, `${'0'.repeat(64)}  ../../etc/passwd`]),
      unrepaired: true,
    },
    {
      ...none,
      name: 'tag manifest: lines in another order',
      edit: line(TAG_MANIFEST, swapFirst),
      unrepaired: true,
    },
    {
      ...none,
      name: 'tag manifest: a further line',
      edit: line(TAG_MANIFEST, (lines) => [...lines, `${'0'.repeat(64)}  README.txt`]),
      unrepaired: true,
    },
    { ...none, name: 'a further file beside the bag’s', edit: (p) => p.set('README.txt', 'x') },
    {
      ...sealed,
      name: 'a further file in the payload',
      edit: (p) => p.set('data/notes/x.txt', 'x'),
    },
    {
      ...sealed,
      name: 'a further file in a folder of the payload',
      edit: (p) => p.set('data/ledger/notes.txt', 'x'),
    },
    {
      ...sealed,
      name: 'a further shard',
      edit: (p) => p.set('data/receipts/000000000099.ndjson', 'x\n'),
    },
    {
      ...sealed,
      name: 'a further shard without a line',
      edit: (p) => {
        const { lastIndex } = p.seal().credentialSubject.range;
        const shard = shardPath(RECEIPTS, lastIndex + 1);
        p.set(shard, '');
        p.set(tablePath(shard), RECEIPTS_HEADER);
      },
    },
    { ...sealed, name: 'a list of losses without a loss', edit: (p) => p.set(LOSSES, '') },
    {
      ...sealed,
      name: 'a list of signed heads without a head',
      edit: (p) => p.set('data/ledger/checkpoints/000000000099.ndjson', ''),
    },
    {
      ...sealed,
      name: 'a list of revised entries for no shard',
      edit: (p) => p.set('data/superseded/000000000099.ndjson', '{"by":9,"index":1}\n'),
    },
    {
      ...sealed,
      name: 'a further context under no name of ours',
      edit: (p) => p.set('data/contexts/other.jsonld', '{}'),
    },
    {
      ...sealed,
      name: 'a methodology that nothing cites',
      edit: (p) => p.set('data/methodologies/other/1.json', '{}'),
    },
    ...[BAG_DECLARATION, BAG_INFO, INSTRUCTIONS, SCRIPT, MANIFEST, SEAL, TAG_MANIFEST].map(
      (path): Tampering => ({
        ...none,
        name: `${path} is missing`,
        edit: (p) => void p.files.delete(path),
        unrepaired: true,
      }),
    ),
    {
      ...none,
      name: 'VERIFY.md: other instructions',
      edit: (p) => p.set(INSTRUCTIONS, 'Everything is fine.'),
    },
    {
      ...none,
      name: 'verify.py: a script that says GOOD',
      edit: (p) => p.set(SCRIPT, 'print("GOOD")'),
    },
    {
      ...sealed,
      name: 'verify.py: a script that says GOOD',
      edit: (p) => resealed(p, SCRIPT, 'print("GOOD")'),
      passes: { ours: SCRIPT_NOTE, python: SCRIPT_NOTE },
    },
    {
      ...sealed,
      name: 'VERIFY.md: other instructions',
      edit: (p) => resealed(p, INSTRUCTIONS, 'Everything is fine.'),
      passes: { ours: TEXT_NOTE, python: TEXT_NOTE },
    },
  ];
}

const SCRIPT_NOTE =
  'Each release has another script, so none is wrong by itself; both say that it is not theirs. Take the script from a release, not from a pack.';
const TEXT_NOTE =
  'It is text for people, of another release perhaps; nothing that is verified rests on it.';

/** Sets one of the bag's own files and has the seal name it. */
function resealed(pack: ForgedPack, path: string, text: string): (seal: Loose) => void {
  return ({ credentialSubject }) => {
    pack.set(path, text);
    const named = credentialSubject.file.find(({ name }: Loose) => name === path);
    named.digest = multihash(Buffer.from(text));
  };
}

type Place = (string | number)[];

/** Every place of a document at which a value stands; of a list the first element alone. */
function placesIn(value: unknown, place: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [place];
  const entries = Array.isArray(value) ? value.slice(0, 1).entries() : Object.entries(value);
  return [...entries].flatMap(([name, inner]) => placesIn(inner, [...place, name]));
}

/** Objects in a document, as `placesIn` goes through it. */
function objectsIn(value: unknown, place: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) ? [] : [place];
  const entries = Array.isArray(value) ? value.slice(0, 1).entries() : Object.entries(value);
  return [...own, ...[...entries].flatMap(([name, inner]) => objectsIn(inner, [...place, name]))];
}

function valueAt(value: Loose, place: Place): Loose {
  return place.reduce((inner, step) => inner[step], value);
}

/** Another value of the same kind. */
function change(value: Loose, place: Place): void {
  const holder = valueAt(value, place.slice(0, -1));
  const name = place.at(-1)!;
  const old = holder[name];
  if (typeof old === 'number') holder[name] = old + 1;
  else if (typeof old === 'boolean') holder[name] = !old;
  else if (/^[0-9.]+$/.test(old)) holder[name] = `${old}1`;
  else if (/^\d{4}-/.test(old)) holder[name] = old.replace(/^\d{4}/, '2019');
  else holder[name] = `${old.slice(0, -1)}${old.endsWith('X') ? 'Y' : 'X'}`;
}

const named = (place: Place): string =>
  place
    .map((step) => (typeof step === 'number' ? '[]' : step))
    .join('.')
    .replaceAll('.[]', '[]');

function ofSeal(pack: ForgedPack): Tampering[] {
  const seal = pack.seal();
  const own = placesIn(seal).filter(([top]) => top !== 'proof');
  return [
    ...placesIn(seal).map((place): Tampering => ({
      ...none,
      name: `seal: another ${named(place)}`,
      edit: (p) => {
        const edited = p.seal();
        change(edited, place);
        p.set(SEAL, canonicalJson(edited));
      },
    })),
    ...own
      .filter((place) => named(place) !== 'credentialSubject.file[].digest')
      .map((place): Tampering => ({
        ...sealed,
        name: `seal: another ${named(place)}`,
        edit: () => (edited) => change(edited, place),
        ...(named(place).endsWith('pageVersion')
          ? { passes: { ours: VERSION_NOTE, python: VERSION_NOTE } }
          : {}),
      })),
    ...objectsIn(seal)
      .filter(([top]) => top !== 'proof')
      .map((place): Tampering => ({
        ...sealed,
        name: `seal: a member that is not known in ${named(place) || 'it'}`,
        edit: () => (edited) => void (valueAt(edited, place).approved = 'yes'),
      })),
    {
      ...sealed,
      name: 'seal: of next year',
      edit: () => (edited) => void (edited.validFrom = edited.validFrom.replace(/^\d{4}/, '2099')),
    },
    {
      ...sealed,
      name: 'seal: counts a failure as a refusal',
      edit:
        () =>
        ({ credentialSubject: { totals } }) => {
          totals.failed -= 1;
          totals.refused += 1;
        },
    },
    {
      ...sealed,
      name: 'seal: counts no failures',
      edit:
        () =>
        ({ credentialSubject }) =>
          void (credentialSubject.totals.failed = 0),
    },
    {
      ...sealed,
      name: 'seal: older than its receipts',
      edit: () => (edited) => void (edited.validFrom = '2020-01-01T00:00:00.000Z'),
    },
    {
      ...sealed,
      name: 'seal: a document that nothing cites',
      edit: () => (edited) =>
        void edited.relatedResource.push({
          digestMultibase: multihash(Buffer.of(1)),
          id: 'https://zzz.example/x',
        }),
    },
    {
      ...sealed,
      name: 'seal: documents in another order',
      edit: () => (edited) => void (edited.relatedResource = edited.relatedResource.toReversed()),
    },
    {
      ...none,
      name: 'seal: written with white space',
      edit: (p) => p.set(SEAL, JSON.stringify(p.seal(), null, 1)),
    },
  ];
}

/** Kinds of payload files, one of each: altered and taken away by a holder of the seal's key. */
/** What `docket verify` alone makes again. */
const MADE_FOR_PEOPLE = { unchecked: 'page' } as const;

function ofFiles(pack: ForgedPack): Tampering[] {
  const kinds = new Map<string, string>();
  for (const path of pack.files.keys()) {
    if (!path.startsWith('data/')) continue;
    const kind = path.replaceAll(/[A-Za-z0-9_-]{43,}/g, '…').replaceAll(/\d{12}/g, '…');
    if (!kinds.has(kind)) kinds.set(kind, path);
  }
  return [...kinds].flatMap(([kind, path]): Tampering[] => [
    {
      ...none,
      name: `${kind}: a byte more`,
      pack: 'range',
      unrepaired: true,
      edit: (p) => p.set(path, `${p.text(path)} `),
    },
    {
      ...sealed,
      ...(path === REPORT_PAGE ? MADE_FOR_PEOPLE : {}),
      name: `${kind}: a byte more`,
      pack: 'range',
      edit: (p) => p.set(path, `${p.text(path)} `),
    },
    {
      ...none,
      name: `${kind}: missing`,
      pack: 'range',
      unrepaired: true,
      edit: (p) => void p.files.delete(path),
    },
    {
      ...sealed,
      name: `${kind}: missing`,
      pack: 'range',
      edit: (p) => void p.files.delete(path),
    },
  ]);
}

const receipts = (edit: (lines: string[]) => string[]) => (pack: ForgedPack) =>
  pack.lines(pack.shard('receipts'), edit);

function ofReceipts(): Tampering[] {
  const edits: [string, (lines: string[]) => string[]][] = [
    ['an edited receipt', (l) => l.with(7, l[7]!.replace('"outputTokens":', '"outputTokens":1'))],
    ['a dropped receipt', (l) => l.toSpliced(8, 1)],
    ['two swapped receipts', (l) => l.with(7, l[8]!).with(8, l[7]!)],
    ['a doubled receipt', (l) => l.toSpliced(5, 0, l[5]!)],
    ['a receipt in the place of another', (l) => l.with(8, l[7]!)],
    ['no last receipt', (l) => l.slice(0, -1)],
    ['no first receipt', (l) => l.slice(1)],
    ['a receipt without its proof', (l) => l.with(7, l[7]!.replace(/"proof":\{.*?\},/, ''))],
    ['a receipt written with white space', (l) => l.with(7, l[7]!.replace('{', '{ '))],
  ];
  return edits.flatMap(([name, edit]): Tampering[] => [
    { ...none, name, edit: receipts(edit) },
    { ...sealed, name, edit: receipts(edit) },
  ]);
}

function ofLedger(): Tampering[] {
  const CHECKPOINT = 'data/ledger/checkpoint.txt';
  const note = (edit: (text: string) => string) => (p: ForgedPack) =>
    p.set(CHECKPOINT, edit(p.text(CHECKPOINT)));
  return [
    { ...sealed, name: 'head: another size', edit: note((t) => t.replace(/\n\d+\n/, '\n999\n')) },
    {
      ...sealed,
      name: 'head: of another log',
      edit: note((t) => t.replaceAll('/log/org_01', '/log/org_02')),
    },
    {
      ...sealed,
      name: 'head: another root',
      edit: note((t) => t.replace(/\n(\d+)\n..../, '\n$1\nAAAA')),
    },
    { ...sealed, name: 'head: empty', edit: note(() => '') },
    {
      ...sealed,
      name: 'head: a thousand signatures',
      edit: note((t) => t + t.split('\n\n')[1]!.repeat(1_000)),
    },
    {
      ...sealed,
      name: 'heads within the range: one is missing',
      edit: (p) => p.lines(p.shard('ledger/checkpoints'), (l) => l.slice(1)),
    },
    {
      ...sealed,
      name: 'heads within the range: another size beside it',
      edit: (p) =>
        p.lines(p.shard('ledger/checkpoints'), (l) =>
          l.with(0, l[0]!.replace(/"size":\d+/, '"size":7')),
        ),
    },
    {
      ...sealed,
      name: 'heads within the range: one is missing, and the seal counts fewer',
      edit: (p) => {
        const name = p.shard('ledger/checkpoints');
        const lines = p.text(name).trimEnd().split('\n').slice(1);
        p.files.delete(name);
        const size = lines[0] && (JSON.parse(lines[0]) as { size: number }).size;
        if (size)
          p.set(
            `data/ledger/checkpoints/${String(size).padStart(12, '0')}.ndjson`,
            `${lines.join('\n')}\n`,
          );
        return ({ credentialSubject }) => void (credentialSubject.range.signedHeads -= 1);
      },
      passes: { ours: HEADS_NOTE, python: HEADS_NOTE },
    },
    {
      ...sealed,
      name: 'left of the range: another order',
      pack: 'range',
      edit: (p) =>
        p.set(
          'data/ledger/left-frontier.txt',
          `${p.text('data/ledger/left-frontier.txt')}${'A'.repeat(43)}=\n`,
        ),
    },
    {
      ...sealed,
      name: 'way to the head: a hash less',
      pack: 'range',
      edit: line('data/ledger/consistency.txt', (l) => l.slice(1)),
    },
    {
      ...sealed,
      name: 'revisions: all left out',
      pack: 'range',
      edit: (p) => {
        for (const f of ['revisions', 'revision-proofs']) p.files.delete(p.shard(f));
        return (s) => void (s.credentialSubject.range.revisions = 0);
      },
    },
    {
      ...sealed,
      name: 'revisions: the last left out',
      pack: 'range',
      edit: (p) => {
        for (const f of ['revisions', 'revision-proofs'])
          p.lines(p.shard(f), (l) => l.slice(0, -1));
        return (s) => void (s.credentialSubject.range.revisions -= 1);
      },
    },
    {
      ...sealed,
      name: 'revisions: that a receipt was revised is hidden',
      edit: (p) => p.lines(p.shard('superseded'), (l) => l.slice(1)),
    },
    {
      ...sealed,
      name: 'revisions: a receipt is said to be revised',
      edit: (p) => p.lines(p.shard('superseded'), (l) => [...l, '{"by":14,"index":8}']),
    },
    {
      ...sealed,
      name: 'revisions: in another order',
      edit: (p) => p.lines(p.shard('superseded'), (l) => l.toReversed()),
    },
    {
      ...sealed,
      name: 'revisions: a proof for another place',
      pack: 'range',
      edit: (p) =>
        p.lines(p.shard('revision-proofs'), (l) =>
          l.with(0, l[0]!.replace(/"index":\d+/, '"index":14')),
        ),
    },
    {
      ...sealed,
      name: 'revisions: a further member in a line',
      edit: (p) => p.lines(p.shard('superseded'), (l) => l.with(0, l[0]!.replace('{', '{"a":1,'))),
    },
  ];
}

const HEADS_NOTE =
  'The range is held by the head that the seal names. Another head within it adds that it never was otherwise; whoever seals decides which to add.';

/**
 * Places of a lineage document without which verify.py could not compute figures. The rest of it tells how they came about.
 * The places are those of the first record, which is the request's own; of the others figures are read too, in rows below.
 */
const READ_IN_LINEAGE =
  /^(@context|about\.digest|measurement\.(dataQuality|bounds\[\]\.(share|factors\[\]\.name)|steps\[\]\.(symbol|formula)|used\[\]\.record(\..+)?))$/;
const asToldIn = (place: string): Pick<Tampering, 'unchecked'> =>
  READ_IN_LINEAGE.test(place) ? {} : { unchecked: 'lineage' };

/** What a lineage document says, said otherwise by a holder of the seal's key. */
function ofLineage(pack: ForgedPack): Tampering[] {
  const path = [...pack.files.keys()].find((name) => name.startsWith('data/lineage/'))!;
  const document = JSON.parse(pack.text(path));
  const edited = (edit: (lineage: Loose) => void) => (p: ForgedPack) => {
    const lineage = JSON.parse(p.text(path));
    edit(lineage);
    p.set(path, canonicalJson(lineage));
  };
  return [
    ...placesIn(document).map((place): Tampering => ({
      ...sealed,
      ...asToldIn(named(place)),
      name: `lineage: another ${named(place)}`,
      edit: edited((lineage) => change(lineage, place)),
    })),
    ...objectsIn(document).map((place): Tampering => ({
      ...sealed,
      ...asToldIn(named(place)),
      name: `lineage: a further member in ${named(place) || 'it'}`,
      edit: edited((lineage) => void (valueAt(lineage, place).approved = 'yes')),
    })),
    {
      ...sealed,
      unchecked: 'lineage',
      name: 'lineage: the licence of another source',
      edit: edited((l) => void (l.bibliography[1].license = 'CC0')),
    },
    {
      ...sealed,
      unchecked: 'lineage',
      name: 'lineage: another year of a factor',
      edit: edited((l) => void (l.measurement.used[3].figures[0].year = '2024')),
    },
    {
      ...sealed,
      unchecked: 'lineage',
      name: 'lineage: a figure of another source',
      edit: edited(
        (l) =>
          void (l.measurement.used[3].figures[0].sources =
            l.measurement.used[3].figures[1].sources),
      ),
    },
    {
      ...sealed,
      name: 'lineage: another number of a factor',
      edit: edited((l) => void (l.measurement.used[3].figures[0].value = '0.04')),
    },
    {
      ...sealed,
      name: 'lineage: the number of one factor for another’s',
      edit: edited((l) => {
        const { figures } = l.measurement.used[3];
        figures[0].value = figures[1].value;
      }),
    },
    {
      ...sealed,
      name: 'lineage: a record less',
      edit: edited((l) => void l.measurement.used.pop()),
    },
    {
      ...sealed,
      name: 'lineage: a step less',
      edit: edited((l) => void l.measurement.steps.pop()),
    },
  ];
}

function ofKeys(): Tampering[] {
  const did = (edit: (document: Loose) => void) => (p: ForgedPack) => {
    const path = 'data/keys/did.json';
    const document = JSON.parse(p.text(path));
    edit(document);
    p.set(path, `${JSON.stringify(document, null, 2)}\n`);
  };
  const row = (name: string, edit: (document: Loose) => void): Tampering => ({
    ...sealed,
    name: `did.json in the pack: ${name}`,
    edit: did(edit),
  });
  return [
    row(
      'another key',
      (d) =>
        void (d.verificationMethod[0].publicKeyMultibase =
          d.verificationMethod[1].publicKeyMultibase),
    ),
    row('a key less', (d) => void d.verificationMethod.shift()),
    row(
      'a key marked as revoked',
      (d) => void (d.verificationMethod[0].revoked = '2026-01-01T00:00:00.000Z'),
    ),
    row(
      'a key that may not assert does',
      (d) => void (d.assertionMethod = d.verificationMethod.map(({ id }: Loose) => id)),
    ),
    row('another issuer', (d) => void (d.id = 'did:web:other.example')),
    row('a further member', (d) => void (d.service = [])),
    {
      ...sealed,
      name: 'jwks.json in the pack: a key less',
      edit: (p) => {
        const path = 'data/keys/jwks.json';
        const d = JSON.parse(p.text(path));
        d.keys.shift();
        p.set(path, `${JSON.stringify(d, null, 2)}\n`);
      },
    },
  ];
}

function ofAnchor(pack: ForgedPack): Tampering[] {
  const head = JSON.parse(pack.text(ANCHORED));
  const edited = (edit: (document: Loose) => void) => (p: ForgedPack) => {
    const document = JSON.parse(p.text(ANCHORED));
    edit(document);
    p.set(ANCHORED, `${JSON.stringify(document, null, 2)}\n`);
  };
  return [
    ...placesIn(head).map((place): Tampering => ({
      ...sealed,
      name: `anchored head: another ${named(place)}`,
      edit: edited((document) => change(document, place)),
      ...(named(place).endsWith('authority')
        ? { passes: { ours: LABEL_NOTE, python: LABEL_NOTE } }
        : {}),
    })),
    {
      ...sealed,
      name: 'anchored head: a further member',
      edit: edited((d) => void (d.proof.note = 'x')),
    },
    ...(
      [
        ['whose authority is no text', (t) => void (t.authority = 7)],
        ['whose authority has a line of its own', (t) => void (t.authority += '\nGOOD')],
        [
          'a millisecond later',
          (t) => void (t.time = new Date(Date.parse(t.time) + 1).toISOString()),
        ],
        ['to the second', (t) => void (t.time = t.time.replace(/\.\d+Z$/, 'Z'))],
        ['whose time is no text', (t) => void (t.time = { at: t.time })],
        ['that is no base64', (t) => void (t.response = 'no, none!')],
        ['of no bytes', (t) => void (t.response = '')],
      ] as [string, (timestamp: Loose) => void][]
    ).map(([name, edit]): Tampering => ({
      ...sealed,
      name: `anchored head: a timestamp ${name}`,
      edit: edited((d) => edit(d.proof.timestamps[0])),
    })),
    {
      ...sealed,
      name: 'anchored head: extra data before its proof',
      edit: edited(({ proof }) => void (proof.proof = proof.proof.replace('\n', '\nextra AAAA\n'))),
    },
    {
      ...sealed,
      name: 'anchored head: another spelling of its place',
      edit: edited(({ proof }) => void (proof.proof = proof.proof.replace('index ', 'index 0'))),
    },
    ...(
      [
        ['what looks like a line of ours', ['a timestamp\nGOOD']],
        ['what turns the direction', ['a cosignature of x\u202eDOOG']],
        ['what no service asks for', ['nothing at all']],
      ] as [string, string[]][]
    ).map(([name, lacks]): Tampering => ({
      ...sealed,
      name: `seal: its anchor lacks ${name}`,
      edit: () => (seal) => void (seal.credentialSubject.anchor.lacks = lacks),
    })),
    {
      ...sealed,
      name: 'anchored head: without its timestamp',
      edit: edited((d) => void (d.proof.timestamps = [])),
    },
    {
      ...sealed,
      name: 'key events: the last left out',
      edit: line(KEY_EVENTS, (l) => l.slice(0, -1)),
    },
    {
      ...sealed,
      name: 'key events: in another order',
      edit: line(KEY_EVENTS, (l) => l.toReversed()),
    },
    {
      ...sealed,
      name: 'key events: another purpose',
      edit: line(KEY_EVENTS, (l) => l.with(0, l[0]!.replace('receipts', 'packsxxx'))),
    },
    { ...sealed, name: 'key events: left out', edit: (p) => void p.files.delete(KEY_EVENTS) },
    {
      ...sealed,
      name: 'anchor: left out, and the seal says none',
      edit: dropAnchor,
      passes: { ours: ANCHOR_NOTE, python: ANCHOR_NOTE },
    },
    {
      ...sealed,
      name: 'anchor: left out, where one is required',
      edit: dropAnchor,
      flags: ['--require-anchor'],
    },
    {
      ...sealed,
      name: 'timestamp: left out, where one is required',
      edit: (p) => {
        edited((d) => void (d.proof.timestamps = []))(p);
        return (s) => void (s.credentialSubject.anchor.timestamps = 0);
      },
      flags: ['--require-timestamp'],
    },
    {
      ...sealed,
      name: 'timestamp: left out, and the seal says none',
      edit: (p) => {
        edited((d) => void (d.proof.timestamps = []))(p);
        return (s) => void (s.credentialSubject.anchor.timestamps = 0);
      },
      passes: { ours: STAMP_NOTE, python: STAMP_NOTE },
    },
  ];
}

const LABEL_NOTE =
  'The address beside a timestamp is a label: what counts is the certificate, which leads to the ones that you trust.';
const ANCHOR_NOTE =
  'A pack may come from where nothing is anchored: both say NOT ANCHORED in their first lines, and --require-anchor refuses it.';
const STAMP_NOTE =
  'An anchor may be without a timestamp: both say so in their first lines, and --require-timestamp refuses it.';

const HISTORY_NOTE =
  'Whoever has every key of the issuer is the issuer; only what others hold, the anchor, its timestamps, checkpoints that you have kept and receipts that callers have, contradicts them. --require-anchor refuses it.';
const TAIL_NOTE =
  'What was not anchored yet can be made anew: both say in their first lines how far the anchor reaches, and --require-anchor refuses it.';
const TIMES_NOTE =
  'When an entry was integrated is the word of whoever seals: not before it was signed, not after the head, not before the entry in front of it. The anchor’s timestamps bound it from outside.';

/** Another member of the usage, in both places where a receipt states it. */
const fewerTokens = (receipt: Loose): void => {
  receipt.credentialSubject.inputTokens = 40;
  receipt.measurement.used[0].record.input_tokens = 40;
};
/** Less, in the same form. */
const lessened = (text: string): string => text.replace(/[1-9]/, '0');
const dayBefore = (text: string): string => new Date(Date.parse(text) - DAY_MS).toISOString();

const isFailed = ({ credentialSubject }: Loose): boolean => credentialSubject.outcome === 'failed';
/** What the receipt of a failed request would have to state to be another, and cannot. */
const OF_FAILURE: readonly [string, (receipt: Loose, answered: Loose) => void][] = [
  ['is said to be a refusal', (r) => void (r.credentialSubject.outcome = 'refused')],
  ['is said to be an answer', (r) => void (r.credentialSubject.outcome = 'complete')],
  ['has the figures of an answer', (r, { measurement }) => void (r.measurement = measurement)],
  ['states tokens', (r) => void (r.credentialSubject.inputTokens = 40)],
  [
    'states tokens, and by whom they were counted',
    (r) => {
      const tokens = { inputTokens: 40, cachedInputTokens: 0, outputTokens: 7 };
      Object.assign(r.credentialSubject, tokens, { usageSource: 'upstream' });
    },
  ],
  [
    'states an answer',
    (r, { credentialSubject }) =>
      void (r.credentialSubject.responseDigest = credentialSubject.responseDigest),
  ],
  ['states no call', (r) => void (r.credentialSubject.attempts = 0)],
  ['does not say why', (r) => void delete r.credentialSubject.failure],
  [
    'is said to wait for an estimate',
    (r) =>
      void Object.assign(r, {
        tier: 'degraded',
        explanation: 'x',
        degradation: { code: 'x', requestedTier: 'audit_plus', stage: 'model' },
      }),
  ],
];
/** What can be done with the keys of receipts and heads, and whether it can be seen in what is signed. */
const INSIDER: readonly (readonly [name: string, edit: Edit, note?: string])[] = [
  [
    'a receipt says another region',
    atEntry(PLAIN, (r) => void (r.credentialSubject.region = 'eu-north')),
    HISTORY_NOTE,
  ],
  [
    'a receipt says fewer tokens',
    atEntry(PLAIN, (r) => void (r.credentialSubject.inputTokens = 40)),
  ],
  ['a receipt and its usage record say fewer tokens', atEntry(PLAIN, fewerTokens)],
  [
    'a receipt, its usage record and its figures say fewer tokens',
    // Two receipts that were issued, changed places: figures that follow from what they name, of other tokens.
    (all) => {
      const from = all[PLAIN - 1];
      return atEntry(PLAIN, (r) => {
        r.measurement = {
          ...from.measurement,
          id: r.measurement.id,
          wasInformedBy: r.credentialSubject.id,
        };
        for (const name of ['inputTokens', 'cachedInputTokens', 'outputTokens']) {
          r.credentialSubject[name] = from.credentialSubject[name];
        }
      })(all);
    },
    HISTORY_NOTE,
  ],
  [
    'a receipt states less energy',
    atEntry(PLAIN, (r) => {
      for (const end of ['value', 'lower', 'upper'])
        r.measurement.result[0][end] = lessened(r.measurement.result[0][end]);
    }),
  ],
  [
    'the receipt that has the lineage document states less energy',
    (all) =>
      atEntry(
        all.findIndex(({ measurement }) => measurement !== undefined),
        (r) => {
          for (const end of ['value', 'lower', 'upper'])
            r.measurement.result[0][end] = lessened(r.measurement.result[0][end]);
        },
      )(all),
  ],
  [
    'a receipt states a narrower interval',
    atEntry(PLAIN, (r) => void (r.measurement.result[1].upper = r.measurement.result[1].value)),
  ],
  ['a receipt leaves out a quantity', atEntry(PLAIN, (r) => void r.measurement.result.pop())],
  [
    'a receipt calls its estimate measured',
    atEntry(PLAIN, (r) => void (r.measurement.dataQuality = 'T1')),
  ],
  [
    'a receipt calls its estimate measured, and says how many joules',
    atEntry(PLAIN, (r) => {
      r.measurement.dataQuality = 'T1';
      r.measurement.used[0].record.measured_joules = '1';
      r.credentialSubject.measuredJoules = '1';
    }),
  ],
  [
    'a receipt was asked for under the name of its own model',
    atEntry(PLAIN, (r) => void (r.credentialSubject.requestedModel = r.credentialSubject.model)),
  ],
  [
    'a receipt of a chat goes on from a response',
    atEntry(PLAIN, (r) => void (r.credentialSubject.previous = r.id)),
  ],
  [
    'a receipt was in another zone of the grid',
    atEntry(PLAIN, (r) => void (r.credentialSubject.gridZone = 'SWE')),
  ],
  [
    'a receipt has the factor of another hour',
    atFirst(isHourly, (r) => {
      const { record } = r.measurement.used[1];
      record.hour = new Date(Date.parse(record.hour) - 3_600_000).toISOString().replace('.000', '');
    }),
  ],
  [
    'a receipt has a smaller factor of its hour',
    atFirst(isHourly, (r) => void (r.measurement.used[1].record.gwp_kgco2e_per_kwh = '0.001')),
  ],
  [
    'a receipt whose hour is of another import than the first’s has a smaller factor',
    (all) =>
      atEntry(
        all.findLastIndex(isHourly),
        (r) => void (r.measurement.used[1].record.gwp_kgco2e_per_kwh = '0.001'),
      )(all),
  ],
  [
    'a receipt was metered in another interval',
    atFirst(isMetered, (r) => {
      for (const end of ['from', 'to'])
        r.measurement.metered[end] = dayBefore(r.measurement.metered[end]);
    }),
  ],
  [
    'a metered receipt states fewer joules',
    atFirst(isMetered, (r) => void (r.measurement.used[0].record.measured_joules = '1')),
  ],
  [
    'a receipt began a day before',
    atEntry(
      PLAIN,
      (r) => void (r.credentialSubject.startedAt = dayBefore(r.credentialSubject.startedAt)),
    ),
  ],
  [
    'a receipt began and ended a day before',
    atEntry(PLAIN, (r) => {
      for (const end of ['startedAt', 'endedAt'])
        r.credentialSubject[end] = dayBefore(r.credentialSubject[end]);
    }),
  ],
  [
    'a receipt ended a day later than it was signed',
    atEntry(PLAIN, (r) => void (r.validFrom = dayBefore(r.validFrom))),
  ],
  [
    'a receipt has the id of another request',
    atEntry(PLAIN, (r) => void (r.id = r.id.replace(/.$/, (c: string) => (c === 'X' ? 'Y' : 'X')))),
  ],
  ['a receipt twice', (all) => all.toSpliced(PLAIN, 0, all[PLAIN])],
  [
    'a receipt twice, under another signing time',
    (all) => [
      ...all,
      { ...structuredClone(all[PLAIN]), validFrom: all.at(-1).validFrom, edited: true },
    ],
  ],
  ['a receipt less', (all) => all.toSpliced(PLAIN, 1), HISTORY_NOTE],
  ['no last receipts', (all) => all.slice(0, -2), HISTORY_NOTE],
  [
    'two receipts in other places',
    (all) => all.with(PLAIN, all[PLAIN - 1]).with(PLAIN - 1, all[PLAIN]),
    HISTORY_NOTE,
  ],
  ['a revision less', (all) => all.toSpliced(revisionOf(all, REVISED), 1), HISTORY_NOTE],
  ['a revision says fewer tokens', atRevision(fewerTokens)],
  [
    'a revision is of another request',
    (all) =>
      atRevision((r) => {
        const { id } = all[PLAIN].credentialSubject;
        r.credentialSubject.id = id;
        r.measurement.wasInformedBy = id;
      })(all),
  ],
  [
    'a revision says another month',
    atRevision((r) => void (r.credentialSubject.startedAt = '2026-01-05T00:00:00.000Z')),
  ],
  [
    'a revision is said to be by a meter that nothing names',
    atRevision((r) => void (r.revisionReason = 'measured')),
  ],
  [
    'a revision is said to be by the factor of an hour that it does not have',
    atRevision((r) => void (r.revisionReason = 'hourly_factor')),
  ],
  [
    'a revision is said to be for want of hours, and what it revises had none',
    atRevision((r) => void (r.revisionReason = 'hours_incomplete')),
  ],
  [
    'a revision of an estimate is said to be of a failed one',
    atFirst(
      (r) => r.revisionReason === 'measured' && isMetered(r),
      (r) => void (r.revisionReason = 'methodology_failed'),
    ),
  ],
  [
    'a receipt says a region that no catalogue can have',
    atEntry(PLAIN, (r) => void (r.credentialSubject.region = 'EU North')),
  ],
  [
    'a receipt says a model that no catalogue can have',
    atEntry(PLAIN, (r) => void (r.credentialSubject.model = 'llama 3.1')),
  ],
  [
    'a receipt cites the context of lineage',
    atEntry(PLAIN, (r) => {
      const [vc, own] = r['@context'];
      r['@context'] = [vc, own.replace(/[^/]+$/, LINEAGE_CONTEXT_NAME)];
    }),
  ],
  ['a revision has another number', atRevision((r) => void (r.revisionNumber = 2))],
  [
    'a revision names another receipt',
    (all) => atRevision((r) => void (r.wasRevisionOf.id = all[PLAIN].id))(all),
  ],
  [
    'a revision has no estimate',
    atRevision((r) => {
      delete r.measurement;
      Object.assign(r, {
        tier: 'degraded',
        explanation: 'x',
        degradation: { code: 'x', requestedTier: 'audit', stage: 'model' },
      });
    }),
  ],
  [
    'a revision of the tier audit',
    atRevision((r) => {
      r.tier = 'audit';
      delete r.inclusionPromise;
    }),
  ],
  [
    'two revisions of one receipt',
    (all) => {
      const copy = structuredClone(all[revisionOf(all, REVISED)]);
      return [
        ...all,
        {
          ...copy,
          id: copy.id.replace(/.$/, (c: string) => (c === 'X' ? 'Y' : 'X')),
          edited: true,
        },
      ];
    },
  ],
  [
    'a revision before what it revises',
    (all) => {
      const from = revisionOf(all, REVISED);
      return [all[from], ...all.toSpliced(from, 1)];
    },
  ],
  ...OF_FAILURE.map(([what, edit]): [string, Edit] => [
    `a failure ${what}`,
    (all) => atFirst(isFailed, (r) => edit(r, all[PLAIN]))(all),
  ]),
  ['a failure less', (all) => all.filter((r) => !isFailed(r)), HISTORY_NOTE],
];

/** What the keys of receipts and heads make possible: another history, well signed. */
function withKeys(lab: TamperLab): Tampering[] {
  const keys = { powers: 'receipt and checkpoint keys' } as const;
  const all = { powers: 'all but the anchor' } as const;
  const rewritten = (edit: Edit) => (p: ForgedPack) => rewriteLedger(lab.lab, p, edit);
  const bare = (edit: Edit) => (p: ForgedPack) => rewriteBare(lab.lab, p, edit);
  const marked = (members: object): Edit => atEntry(PLAIN, (r) => void Object.assign(r, members));
  const [changed] = INSIDER.map(([, edit]) => edit);
  return [
    {
      ...keys,
      name: 'an edited receipt, signed anew; the ledger stays',
      edit: (p) => resign(lab.lab, p),
      unrepaired: true,
    },
    {
      ...all,
      name: 'an edited receipt, signed and sealed anew; the ledger stays',
      edit: (p) => resign(lab.lab, p),
    },
    ...INSIDER.flatMap(([name, edit, note]): Tampering[] => [
      {
        ...keys,
        name: `another ledger: ${name}; the seal stays`,
        edit: (p) => void rewritten(edit)(p),
      },
      { ...all, name: `another ledger: ${name}; the anchor stays`, edit: rewritten(edit) },
      {
        ...all,
        name: `another ledger: ${name}; no anchor`,
        edit: bare(edit),
        ...(note === undefined ? {} : { passes: { ours: note, python: note } }),
      },
    ]),
    ...ofReceipt(lab, 'a receipt', PLAIN),
    ...ofReceipt(lab, 'a revision', undefined),
    ...(
      [
        ['a member that is not known', { approved: 'yes' }],
        ['two things at once', { explanation: 'x' }],
        ['next century', { validFrom: '2099-01-01T00:00:00.000Z' }],
      ] as const
    ).map(([name, members]): Tampering => ({
      ...all,
      name: `another ledger: a receipt with ${name}; no anchor`,
      edit: bare(marked(members)),
    })),
    ...(['--require-anchor', '--require-timestamp'] as const).map((flag): Tampering => ({
      ...all,
      name: `another ledger: no anchor, where ${flag === '--require-anchor' ? 'one' : 'a timestamp'} is required`,
      edit: bare(changed!),
      flags: [flag],
    })),
    ...ofHeads(lab),
  ];
}

/** Another value in each place of a receipt, signed, in another ledger without an anchor. */
function ofReceipt(lab: TamperLab, what: string, index: number | undefined): Tampering[] {
  const lines = new ForgedPack(lab.whole);
  const all = lines
    .text(lines.shard('receipts'))
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each));
  const chosen = index ?? revisionOf(all, REVISED);
  const { proof: _, ...receipt } = all[chosen];
  return placesIn(receipt).map((place): Tampering => {
    const free = (index === undefined ? FREE_IN_REVISIONS : FREE).has(named(place));
    return {
      powers: 'all but the anchor',
      name: `another ledger: ${what} with another ${named(place)}; no anchor`,
      edit: (p) =>
        rewriteBare(lab.lab, p, (found) =>
          found.map((each, i) => {
            if (i !== chosen) return each;
            const copy = structuredClone(each);
            change(copy, place);
            return { ...copy, bare: true };
          }),
        ),
      ...(free ? { passes: { ours: HISTORY_NOTE, python: HISTORY_NOTE } } : {}),
    };
  });
}

/** What nothing else in a receipt follows from; the other region of such a row is one that no catalogue can have. */
const FREE = new Set(['credentialSubject.model', 'measurement.software']);
/** The rest is repeated of the receipt that it revises. */
const FREE_IN_REVISIONS = new Set(['measurement.software']);

/** Heads: of other trees, by other keys, beyond the anchor. */
function ofHeads({ lab }: TamperLab): Tampering[] {
  const all = { powers: 'all but the anchor' } as const;
  const CHECKPOINT = 'data/ledger/checkpoint.txt';
  const sizeOf = (p: ForgedPack): number => p.seal().credentialSubject.checkpoint.size;
  const another = Buffer.alloc(32, 7);
  const older = (p: ForgedPack): void => {
    const [path] = [...p.files.keys()].filter((name) => name.startsWith('data/anchor/keys/'));
    p.set(ANCHORED, p.text(path!));
  };
  const tail: Edit = (l) => atEntry(l.length - 1, (r) => void (r.revisionNote = 'by hand'))(l);
  return [
    {
      ...all,
      name: 'head: of another tree',
      edit: (p) => {
        p.set(CHECKPOINT, signedHead(lab, sizeOf(p), another));
        return ({ credentialSubject }) =>
          void (credentialSubject.checkpoint.root = multihashOfDigest(another));
      },
    },
    {
      ...all,
      name: 'head: signed with the key of receipts',
      edit: (p) => {
        const { root } = p.seal().credentialSubject.checkpoint;
        const digest = Buffer.from(root.slice(1), 'base64url').subarray(2);
        p.set(CHECKPOINT, signedHead(lab, sizeOf(p), digest, 'receipts'));
      },
    },
    {
      ...all,
      name: 'heads within the range: one of another tree',
      edit: (p) =>
        p.lines(p.shard('ledger/checkpoints'), (l) => {
          const { size } = JSON.parse(l[1]!) as { size: number };
          return l.with(1, JSON.stringify({ note: signedHead(lab, size, another), size }));
        }),
    },
    {
      ...all,
      name: 'heads within the range: one of a size that was never signed',
      edit: (p) =>
        p.lines(p.shard('ledger/checkpoints'), (l) => [
          ...l.slice(0, 1),
          JSON.stringify({ note: signedHead(lab, 11, another), size: 11 }),
          ...l.slice(1),
        ]),
    },
    {
      ...all,
      name: 'another ledger: its end, behind an older anchored head',
      edit: (p) => tailForged(lab, p, tail, older),
      passes: { ours: TAIL_NOTE, python: TAIL_NOTE },
    },
    {
      ...all,
      name: 'another ledger: its end, behind an older anchored head, where an anchor is required',
      edit: (p) => tailForged(lab, p, tail, older),
      flags: ['--require-anchor'],
    },
    {
      powers: 'receipt and checkpoint keys',
      name: 'seal: by the key of receipts',
      sealedBy: 'receipts',
    },
    {
      powers: 'receipt and checkpoint keys',
      name: 'seal: by the key of receipts, without an anchor',
      edit: dropAnchor,
      sealedBy: 'receipts',
    },
    ...integrationTimes(),
    ...ofPeriod(),
    ...ofWhatThePageSays(),
    ...ofPage(),
  ];
}

/** Times of integration, which no leaf holds. */
function integrationTimes(): Tampering[] {
  const moved = (edit: (time: string, i: number) => string) => (p: ForgedPack) => {
    for (const path of p.files.keys()) {
      if (!path.startsWith('data/report/receipts/')) continue;
      const lines = p.text(path).split('\r\n');
      const out = lines.map((each, i) =>
        i === 0 || each === '' ? each : each.replace(/^[^,]+/, (time) => edit(time, i)),
      );
      p.set(path, out.join('\r\n'));
    }
  };
  const by = (ms: number) => (time: string) => new Date(Date.parse(time) + ms).toISOString();
  return [
    { ...sealed, name: 'times of integration: a month before', edit: moved(by(-30 * DAY_MS)) },
    { ...sealed, name: 'times of integration: a month later', edit: moved(by(30 * DAY_MS)) },
    {
      ...sealed,
      name: 'times of integration: the first a month before',
      edit: moved((time, i) => (i === 1 ? by(-30 * DAY_MS)(time) : time)),
    },
    {
      ...sealed,
      name: 'times of integration: a minute before',
      edit: moved(by(-60_000)),
      passes: { ours: TIMES_NOTE, python: TIMES_NOTE },
    },
  ];
}

/** What the seal says of a period, and of the entries beside it, which are not in the pack. */
function ofPeriod(): Tampering[] {
  const row = (name: string, edit: (requested: Loose) => void, passes?: string): Tampering => ({
    ...sealed,
    name: `period: ${name}`,
    pack: 'period',
    edit: () => (seal) => {
      const { credentialSubject: subject } = seal;
      edit(subject.requested);
      const { from, to } = subject.requested;
      const ends = [from, to].map((end: string) =>
        end.replaceAll(/[-:.]/g, '').replace('T000000000Z', ''),
      );
      subject.id = subject.id.replace(/\d{8}T\d+Z-to-\d{8}T\d+Z/, ends.join('-to-'));
    },
    ...(passes === undefined ? {} : { passes: { ours: passes, python: passes } }),
  });
  const moved = (time: string, ms: number): string => new Date(Date.parse(time) + ms).toISOString();
  const second = (time: string): string => time.replace(/\.\d{3}Z$/, 'Z');
  return [
    row('whose begin is told to the second', (r) => void (r.from = second(r.from))),
    row('whose neighbour is told to the second', (r) => void (r.before = second(r.before))),
    {
      ...sealed,
      name: 'period: with neither begin nor end',
      pack: 'period',
      edit:
        () =>
        ({ credentialSubject: subject }) => {
          for (const member of ['from', 'to', 'pending']) delete subject.requested[member];
          subject.id = subject.id.replace(/\d{8}T\d+Z-to-\d{8}T\d+Z/, 'open-to-open');
        },
    },
    row('that begins later', (r) => void (r.from = moved(r.from, 1))),
    row('that ends before its last entry', (r) => void (r.to = moved(r.from, 1))),
    row('that begins before the entry in front of it', (r) => void (r.from = moved(r.before, 0))),
    row('that ends after the entry behind it', (r) => void (r.to = moved(r.after, 1))),
    row(
      'whose entry behind it came after the revisions that follow',
      (r) => void (r.after = moved(r.after, 60_000)),
    ),
    row('whose entry in front of it came after its first', (r) => void (r.before = moved(r.to, 0))),
    row('with fewer that were pending', (r) => void (r.pending = 77), BESIDE_NOTE),
    row(
      'whose entry in front of it came long before',
      (r) => void (r.before = moved(r.before, -DAY_MS)),
      BESIDE_NOTE,
    ),
  ];
}

const BESIDE_NOTE =
  'What lies beside the range is not in the pack: it is the word of whoever seals. The pack of the range before or after it shows it.';

/** A page that says otherwise than the pack, in figures, words or drawings, and what no receipt says. */
function ofWhatThePageSays(): Tampering[] {
  const page = (name: string, from: RegExp, to: string): Tampering => ({
    ...sealed,
    ...MADE_FOR_PEOPLE,
    name: `data/report/report.html: ${name}`,
    edit: (p) => p.set(REPORT_PAGE, replaced(p.text(REPORT_PAGE), from, to)),
  });
  return [
    page('another total', /(<strong title="[^"]*">)[^ ]+/, '$10.01'),
    page('another exact total', /<strong title="/, '<strong title="1'),
    page('another bound', /<span>\[/, '<span>[0'),
    page('another share that is covered', /(<strong>)[\d.]+ %/, '$1100.0 %'),
    page('another number of requests', /(<td>)\d+(<\/td>)/, '$1777$2'),
    page('a longer bar', /(class="axis".*\n.*\n.*\n<rect[^>]*width=")/, '$12'),
    page('a row less', /<tr><th scope="row">.*\n/, ''),
    page(
      'another factor',
      /(<td class="words">pue[^<]*<\/td><td>|power usage effectiveness<\/td><td>)[\d.]+/,
      '$10.5',
    ),
    page('another year of a factor', /(class="words">)20\d\d</, '$12031<'),
    page('another licence', /Licence: [^<]*/, 'Licence: ours.'),
    page('another sentence', /Not counted: training of models, /, 'Not counted: '),
    page('a sentence more', /<\/main>/, '<p>All of this is offset.</p></main>'),
    page('hidden figures', /\.missing\{/, '.cards{display:none}.missing{'),
    page('another time', /(As of<\/th><td>)\d+/, '$131'),
    page('another range', /(entries \S+ to )\S+ of/, '$19999 of'),
    page(
      'a name that stated.json has not',
      /(Whose inferences<\/th><td>)/,
      '$1<strong>Bakery</strong><br>',
    ),
    {
      ...sealed,
      name: 'data/report/report.html: a page of a version that is not known, which loads something',
      edit: (p) => {
        p.set(REPORT_PAGE, p.text(REPORT_PAGE).replace('</main>', '<img src="x"></main>'));
        return (seal) => void (seal.credentialSubject.pageVersion = 2);
      },
      passes: { ours: VERSION_NOTE, python: VERSION_NOTE },
      says: /page.*NOT CHECKED: report\.html is of version 2, which this (?:release|script) does not know/,
    },
    {
      ...sealed,
      name: 'seal: a page of no version',
      edit: () => (seal) => void (seal.credentialSubject.pageVersion = 0),
    },
    {
      ...sealed,
      name: 'data/report/stated.json: another form',
      edit: (p) => p.set(REPORT_STATEMENT, `${p.text(REPORT_STATEMENT)}\n`),
    },
    {
      ...sealed,
      name: 'data/report/stated.json: a member that is not known',
      edit: (p) =>
        p.set(
          REPORT_STATEMENT,
          canonicalJson({ ...JSON.parse(p.text(REPORT_STATEMENT)), offset: 'all' }),
        ),
    },
  ];
}

const VERSION_NOTE =
  'The page has a version of its own, and a later one may be another page: both verifiers say before all else that it is not checked, and what it may do.';

function replaced(text: string, from: RegExp, to: string): string {
  const result = text.replace(from, to);
  if (result === text) throw new Error(`nothing in the page is like ${from}`);
  return result;
}

/** A page that does more than show. */
function ofPage(): Tampering[] {
  const row = (name: string, content: string): Tampering => ({
    ...sealed,
    name: `data/report/report.html: ${name}`,
    edit: (p) => p.set(REPORT_PAGE, p.text(REPORT_PAGE).replace('</main>', `${content}</main>`)),
  });
  return [
    row('a script', '<script>document.title = "x"</script>'),
    row('a picture from elsewhere', '<p><img src="https://attacker.example/x.png"></p>'),
    row('somewhere to go', '<p><a href="https://attacker.example/">Verify here</a></p>'),
    row('a handler', '<p onclick="x()">Verify</p>'),
    row('a style that loads', '<style>p{background:url(https://attacker.example/x)}</style>'),
    row('a frame', '<iframe srcdoc="x"></iframe>'),
    row(
      'another address after a while',
      '<meta http-equiv="refresh" content="1;url=https://attacker.example/">',
    ),
  ];
}

function rewriteBare(lab: TamperLab['lab'], pack: ForgedPack, edit: Edit): (seal: Loose) => void {
  const [ledger, anchor] = [rewriteLedger(lab, pack, edit), dropAnchor(pack)];
  return (seal) => {
    ledger(seal);
    anchor(seal);
  };
}

/** An older head in the place of the anchored one, which the new end of the ledger continues. */
function tailForged(
  lab: TamperLab['lab'],
  pack: ForgedPack,
  edit: Edit,
  older: (pack: ForgedPack) => void,
): (seal: Loose) => void {
  const seal = rewriteLedger(lab, pack, edit);
  older(pack);
  const newest = continueHeads(pack);
  return (document) => {
    seal(document);
    Object.assign(document.credentialSubject.anchor, newest);
  };
}

function resign(lab: TamperLab['lab'], pack: ForgedPack): void {
  pack.lines(pack.shard('receipts'), (lines) => {
    const { proof: _, ...receipt } = JSON.parse(lines[PLAIN]!);
    // Longer by more than signatures differ in base58, so that the sum of all bytes is another one in each run.
    receipt.credentialSubject.region = 'eu-north-by-the-sea';
    return lines.with(PLAIN, signedReceipt(lab.signer('receipts'), receipt));
  });
}
