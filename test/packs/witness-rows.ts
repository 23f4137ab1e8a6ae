/** Tamperings with the word of witnesses and with what a methodology is made from, as data. */
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { COSIGNATURE_TYPE, noteKeyHash } from '#shared/ledger/notes.ts';
import { ANCHORED_HEAD as ANCHORED, KEY_EVENTS, REPORT_STATEMENT } from '#shared/packs/layout.ts';
import { ABSENT, dropAnchor } from './tamper-lab.ts';
import type { Tampering } from './tamper-rows.ts';
import type { ForgedPack } from './tampering.ts';

const sealed = { powers: 'pack key' } as const;
const every = { powers: 'every key' } as const;

const SPLIT_NOTE =
  'Two ledgers that are each consistent in themselves differ in nothing that one of them shows: without a policy both verifiers say in their first lines that no witness was asked (NONE, NOT CHECKED), and --witness-policy refuses the one that witnesses have not seen.';
const UNASKED_NOTE =
  'Without a policy nothing says whose the lines are: both count them as NOT CHECKED, or say NONE, in their first lines, and --witness-policy refuses it.';

/** Edits the signatures of witnesses under the anchor log's checkpoint: in the anchored head, or wherever it stands. */
export function cosigned(
  edit: (lines: string[]) => string[],
  where: 'head' | 'everywhere',
): (pack: ForgedPack) => void {
  const note = (text: string): string => {
    const at = text.lastIndexOf('\n\n') + 2;
    const [own, ...others] = text.slice(at).trimEnd().split('\n');
    return `${text.slice(0, at)}${[own, ...edit(others)].map((each) => `${each}\n`).join('')}`;
  };
  return (pack) => {
    for (const path of pack.files.keys()) {
      const isHead = path === ANCHORED;
      if (!isHead && where === 'head') continue;
      if (path.startsWith('data/anchor/')) {
        const file = JSON.parse(pack.text(path));
        file.proof.proof = note(file.proof.proof);
        pack.set(path, `${JSON.stringify(file, null, 2)}\n`);
      } else if (path === KEY_EVENTS) {
        pack.lines(path, (lines) =>
          lines.map((each) => {
            const event = JSON.parse(each);
            return canonicalJson({ ...event, proof: note(event.proof) });
          }),
        );
      }
    }
  };
}

/** What is done to the word of witnesses, and to the history that they have seen. */
export function ofWitnesses(whole: ForgedPack, policy: string): Tampering[] {
  const lines = JSON.parse(whole.text(ANCHORED)).proof.proof.trimEnd().split('\n').slice(-3);
  const bytesOf = (each: string): Buffer => Buffer.from(each.split(' ')[2]!, 'base64');
  const lineOf = (name: string, bytes: Uint8Array): string =>
    `— ${name} ${Buffer.from(bytes).toString('base64')}`;
  const altered = (place: number) => (others: string[]) => {
    const bytes = bytesOf(others[0]!);
    bytes[place]! ^= 1;
    return [lineOf(others[0]!.split(' ')[1]!, bytes), ...others.slice(1)];
  };
  // The other witness's signature under this one's name and key.
  const lent = ([first, second, ...rest]: string[]): string[] => {
    const bytes = Buffer.concat([bytesOf(first!).subarray(0, 4), bytesOf(second!).subarray(4)]);
    return [lineOf(first!.split(' ')[1]!, bytes), second!, ...rest];
  };
  const absent = noteKeyHash(ABSENT.name, ABSENT.publicKey, COSIGNATURE_TYPE);
  const invented = (others: string[]): string[] => [
    ...others,
    lineOf(ABSENT.name, Buffer.concat([absent, bytesOf(lines[0]).subarray(4)])),
  ];
  const edits: [string, (lines: string[]) => string[]][] = [
    ['one removed', (others) => others.slice(1)],
    ['all removed', () => []],
    ['another signature', altered(40)],
    ['another time', altered(10)],
    [
      'another by ML-DSA-44',
      (others) => [...others.slice(0, -1), ...altered(40)(others.slice(-1))],
    ],
    [
      'one cut short',
      ([first, ...rest]) => [
        lineOf(first!.split(' ')[1]!, bytesOf(first!).subarray(0, -1)),
        ...rest,
      ],
    ],
    ['the signature of another witness', lent],
    ['one invented', invented],
  ];
  return [
    ...edits.flatMap(([name, edit]): Tampering[] => [
      {
        ...sealed,
        name: `cosignatures in the anchored head alone: ${name}`,
        edit: cosigned(edit, 'head'),
      },
      {
        ...sealed,
        name: `cosignatures: ${name}`,
        edit: cosigned(edit, 'everywhere'),
        passes: { ours: UNASKED_NOTE, python: UNASKED_NOTE },
      },
      {
        ...sealed,
        name: `cosignatures: ${name}, where two of three are asked for`,
        edit: cosigned(edit, 'everywhere'),
        witnesses: { policy: 'two' },
      },
    ]),
    ...edits.map(([name, edit]): Tampering => ({
      ...sealed,
      name: `cosignatures: ${name}, where the operator’s own policy asks for two of three`,
      edit: (p) => {
        cosigned(edit, 'everywhere')(p);
        const stated: object = JSON.parse(p.text(REPORT_STATEMENT));
        p.set(REPORT_STATEMENT, canonicalJson({ ...stated, witnessPolicy: policy }));
      },
      ...(name.endsWith('removed')
        ? {
            passes: { ours: OWN_POLICY_NOTE, python: OWN_POLICY_NOTE },
            says: /witnesses.*NOT MET is the operator’s own policy in the pack: [Tt]he quorum of the policy is not met: no cosignature of “/,
          }
        : {}),
    })),
    ...(
      [
        ['code points fewer, units more', '\u{1f343}'.repeat(70_000)],
        ['units fewer, bytes more', '€'.repeat(50_000)],
      ] as const
    ).map(([name, letters]): Tampering => ({
      ...sealed,
      name: `cosignatures: a line that is longer than a note: ${name} than 131,072`,
      edit: cosigned((others) => [...others, lineOf(letters, bytesOf(lines[0]))], 'everywhere'),
    })),
    {
      ...sealed,
      name: 'cosignatures: two removed, where two are required',
      edit: cosigned((others) => others.slice(2), 'everywhere'),
      witnesses: { policy: 'one', least: 2 },
    },
    {
      ...sealed,
      name: 'cosignatures: one by a key that no policy names',
      edit: cosigned(
        (others) => [...others, lineOf('x.example/w', bytesOf(lines[0]))],
        'everywhere',
      ),
      witnesses: { policy: 'two' },
      passes: { ours: UNKNOWN_NOTE, python: UNKNOWN_NOTE },
    },
    {
      ...every,
      name: 'another history of the same name and size, wholly anchored',
      pack: 'split',
      flags: ['--require-anchor'],
      passes: { ours: SPLIT_NOTE, python: SPLIT_NOTE },
    },
    {
      ...every,
      name: 'another history of the same name and size, wholly anchored, where two of three witnesses are asked for',
      pack: 'split',
      witnesses: { policy: 'two' },
    },
    {
      ...every,
      name: 'another history of the same name and size, wholly anchored, where one witness is required',
      pack: 'split',
      witnesses: { policy: 'none', least: 1 },
    },
    {
      ...sealed,
      name: 'anchor: left out, where witnesses are asked for',
      edit: dropAnchor,
      witnesses: { policy: 'two' },
    },
  ];
}

const OWN_POLICY_NOTE =
  'A witness may be away when a pack is made, so that a pack need not meet the operator’s own policy: both say that it does not, and --witness-policy refuses it.';

const UNKNOWN_NOTE =
  'Lines of keys that the policy does not name are passed over, as C2SP has it, and counted in the verdict.';

const OWN_NOTE =
  'An operator may compute with factors of its own: both say in their first lines that they are not released, docket verify with each value that differs, and --require-released-methodology refuses it.';

/** Factors that no release has, and records that no factor set has. */
export const OF_OPERATOR: readonly Tampering[] = [
  {
    ...every,
    name: 'factors of the operator’s own, cited to the sources of the release',
    pack: 'own',
    passes: { ours: OWN_NOTE, python: OWN_NOTE },
  },
  {
    ...every,
    name: 'factors of the operator’s own, where released ones are required',
    pack: 'own',
    flags: ['--require-released-methodology'],
  },
  {
    ...every,
    name: 'factors of the operator’s own, under the name of a release',
    pack: 'renamed',
  },
  {
    ...every,
    name: 'factors of the operator’s own, while the document of a release is cited',
    pack: 'posing',
  },
];
