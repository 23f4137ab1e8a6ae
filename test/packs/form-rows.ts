/** Tamperings with forms: what one reader would take for something else than another, as data. */
import { hash } from 'node:crypto';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { formatCheckpoint } from '#shared/ledger/checkpoints.ts';
import { formatNote, noteKeyHash } from '#shared/ledger/notes.ts';
import {
  ANCHORED_HEAD,
  DID_DOCUMENT,
  derivationPath,
  KEY_EVENTS,
  LOSSES,
} from '#shared/packs/layout.ts';
import { createCheckpointSigner } from '#shared/receipts/signing/files/checkpoint-signer.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { ORG, type PackLab } from '#test/support/packs.ts';
import { atEntry, atFirst, atRevision, type Edit, isMetered, PLAIN } from './ledger-edits.ts';
import { dropAnchor, rewriteLedger } from './tamper-lab.ts';
import type { Tampering } from './tamper-rows.ts';
import type { ForgedPack, Loose } from './tampering.ts';

const sealed = { powers: 'pack key' } as const;
const all = { powers: 'all but the anchor' } as const;
const CHECKPOINT = 'data/ledger/checkpoint.txt';
const EMPTY_ROOT = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';

/** Every line of the only file of a folder, or of a file. */
const lines =
  (place: string, from: RegExp | string, to: string) =>
  (p: ForgedPack): void =>
    p.lines(place.startsWith('data/') ? place : p.shard(place), (found) =>
      found.map((each) => each.replace(from, to)),
    );

const ofKeys: readonly (readonly [what: string, edit: (method: Loose) => void])[] = [
  ['a key of another kind', (method) => void (method.type = 'JsonWebKey')],
  [
    'a key in another spelling',
    (method) => void (method.publicKeyMultibase = method.publicKeyMultibase.replace(/^z/, 'x')),
  ],
];

const carrying = (at: Loose, members: Loose): void => {
  at.record = { ...at.record, ...members };
  at.digest = multihashOfContent(Buffer.from(canonicalJson(at.record)));
};
const siteOf = ({ inputs }: Loose): Loose =>
  inputs.find(({ record }: Loose) => record?.pue !== undefined);
const replicaOf = ({ inputs }: Loose): Loose => inputs.at(-1);

/** What a derivation record may not list, or carry. */
const DEPLOYMENTS: readonly (readonly [what: string, edit: (derivation: Loose) => void])[] = [
  ['a site twice', (d) => void d.inputs.splice(-1, 0, siteOf(d), siteOf(d), siteOf(d))],
  ['its inputs in another order', (d) => void (d.inputs = d.inputs.toReversed())],
  [
    'a usage record of its own',
    (d) => {
      const usage = { digest: '', name: 'usage', type: 'UsageRecord' };
      carrying(usage, { attempts: 1, input_tokens: 1, output_tokens: 0 });
      d.inputs.unshift(usage);
    },
  ],
  ['a doubt about a class of models in a site', (d) => carrying(siteOf(d), { size_factor: '1' })],
  ['words beside the figures of a site', (d) => carrying(siteOf(d), { note: 'assured' })],
  ['words beside how the model is served', (d) => carrying(replicaOf(d), { note: 'assured' })],
  ['a site that uses less than its machines', (d) => carrying(siteOf(d), { pue: '0.5' })],
  ['a figure in another spelling', (d) => carrying(siteOf(d), { pue: '1.10' })],
  ['a site under another name', (d) => void (siteOf(d).name = 'assured')],
  ['how the model is served under another name', (d) => void (replicaOf(d).name = 'assured')],
  ['a methodology of another version than its address', (d) => void (d.methodology.version = '2')],
  ['a methodology of another name than its address', (d) => void (d.methodology.name = 'gold')],
];

/** A derivation record in the place of another, and lineage documents that tell of it. */
function redeployed(lab: PackLab, p: ForgedPack, edit: (derivation: Loose) => void) {
  const anchor = dropAnchor(p);
  const ledger = rewriteLedger(lab, p, (receipts) =>
    receipts.map((each) => {
      if (each.measurement === undefined) return each;
      const receipt = structuredClone(each);
      const old = receipt.measurement.derivation.split('/').at(-1);
      const record = JSON.parse(p.text(derivationPath(old)));
      edit(record);
      const text = canonicalJson(record);
      const digest = multihashOfContent(Buffer.from(text));
      p.set(derivationPath(digest), text);
      receipt.measurement.derivation = receipt.measurement.derivation.replace(old, digest);
      return { ...receipt, edited: true };
    }),
  );
  const bodies = p.text(p.shard('receipts')).trimEnd().split('\n');
  const named = new Set(
    bodies.flatMap((body) => /\/derivations\/(uEi[\w-]{44})/.exec(body)?.[1] ?? []),
  );
  for (const path of p.files.keys()) {
    if (!path.startsWith('data/derivations/')) continue;
    if (!named.has(path.slice('data/derivations/'.length, -'.json'.length))) p.files.delete(path);
  }
  for (const path of p.files.keys()) {
    if (path.startsWith('data/lineage/')) tellOf(p, path, bodies[Number(path.slice(-19, -7))]!);
  }
  return (seal: Loose): void => {
    ledger(seal);
    anchor(seal);
  };
}

/** Gives a lineage document the records that a receipt names now: verify.py reads figures of these. */
function tellOf(p: ForgedPack, path: string, body: string): void {
  const { id, measurement } = JSON.parse(body);
  const { inputs } = JSON.parse(p.text(derivationPath(measurement.derivation.split('/').at(-1))));
  const document = JSON.parse(p.text(path));
  Object.assign(document.about, { id, digest: multihashOfContent(Buffer.from(body)) });
  for (const node of document.measurement.used) {
    const now = inputs.find(
      ({ type, record, name }: Loose) =>
        node.type.includes(type) &&
        record !== undefined &&
        (name === node.name || type === 'SiteFactor'),
    );
    if (now === undefined) continue;
    const { name, digest, record } = now;
    Object.assign(node, { name, digest, record });
    for (const figure of node.figures) if (figure.symbol === 'PUE') figure.value = record.pue;
  }
  p.set(path, canonicalJson(document));
}

/** Heads and losses, well signed, that no log has. */
function ofLog(lab: PackLab): Tampering[] {
  const signer = createCheckpointSigner(loadSigningKeys(lab.keysDir), 'checkpoints');
  const log = lab.issuer.logs + ORG;
  const signed = (name: string, text: string): string => {
    const keyHash = noteKeyHash(name, signer.publicKey);
    const signature = signer.sign(Buffer.from(text));
    return formatNote({ text, signatures: [{ name, keyHash, signature }] });
  };
  /** All of the ledger as the second tree of its log, which a statement opens. */
  const after = (published: string) => (p: ForgedPack) => {
    const anchor = dropAnchor(p);
    const tree = `${log}/2`;
    const moved = (note: string): string =>
      signed(tree, note.split('\n\n')[0]!.replace(log, tree) + '\n');
    p.lines(p.shard('ledger/checkpoints'), (found) =>
      found.map((each) => {
        const { note, size } = JSON.parse(each);
        return canonicalJson({ note: moved(note), size });
      }),
    );
    p.set(CHECKPOINT, moved(p.text(CHECKPOINT)));
    const text = `${log}/loss\nopens 2 after 1\npublished ${published} in 1\nkept 0 ${EMPTY_ROOT}\ndeclared 2026-11-20T09:38:04.123Z by ada\nthe disk failed\n`;
    p.set(LOSSES, `${canonicalJson({ consistency: [], note: signed(`${log}/loss`, text) })}\n`);
    return (seal: Loose): void => {
      anchor(seal);
      seal.credentialSubject.checkpoint.log = tree;
      seal.credentialSubject.id += '-of-tree-2';
    };
  };
  return [
    {
      ...all,
      name: 'head: a fourth line, signed with the rest',
      edit: (p) => {
        const [origin, size, root] = p.text(CHECKPOINT).split('\n');
        const bytes = Buffer.from(root!, 'base64');
        const head = { origin: origin!, size: Number(size), root: bytes, extensions: ['assured'] };
        p.set(CHECKPOINT, signed(log, formatCheckpoint(head)));
      },
    },
    {
      ...all,
      name: 'declared loss: of a whole ledger, said by whoever has the keys; no anchor',
      edit: after(`7 ${EMPTY_ROOT}`),
      passes: { ours: LOSS_NOTE, python: LOSS_NOTE },
      says: /of 7 entries published/,
    },
    {
      ...all,
      name: 'declared loss: of more entries than a number holds; no anchor',
      edit: after(`9999999999999999 ${EMPTY_ROOT}`),
    },
    {
      ...all,
      name: 'declared loss: a root in another spelling; no anchor',
      edit: after(`7 ${'A'.repeat(42)}B=`),
    },
  ];
}

const LATER_CONTEXT = '{"@context":{}}';
const LATER_NAME = `docket-receipt-${hash('sha256', LATER_CONTEXT, 'base64url')}.jsonld`;
const laterIn = ([, own]: string[]): string =>
  own!.replace(/contexts\/.*/, `contexts/${LATER_NAME}`);

/** A context of receipts that no release has, in the pack and in its seal. */
function withLaterContext(p: ForgedPack): (seal: Loose) => void {
  p.set(`data/contexts/${LATER_NAME}`, LATER_CONTEXT);
  return (seal) => {
    const digestMultibase = multihashOfContent(Buffer.from(LATER_CONTEXT));
    seal.relatedResource.push({ digestMultibase, id: laterIn(seal['@context']) });
    seal.relatedResource.sort((a: Loose, b: Loose) => (a.id < b.id ? -1 : 1));
  };
}

/** Who hides behind a format that is not known has to have what a later release would have. */
function ofLaterFormats(lab: PackLab): Tampering[] {
  const bare = (p: ForgedPack, edit: Edit): ((seal: Loose) => void) => {
    const edits = [withLaterContext(p), rewriteLedger(lab, p, edit), dropAnchor(p)];
    return (seal) => edits.forEach((each) => each(seal));
  };
  const later = atEntry(PLAIN, (receipt) => {
    receipt['@context'] = [receipt['@context'][0], laterIn(receipt['@context'])];
    receipt.later = true;
  });
  return [
    ...['01', '0', '2.1'].map((number): Tampering => ({
      ...sealed,
      name: `seal: of the format ${number}, which is no number of one`,
      edit: () => (seal) => void (seal.credentialSubject.format = `docket-evidence-pack/${number}`),
    })),
    {
      ...sealed,
      name: 'seal: receipts of a later format, and the pack has none',
      edit: (p) => {
        lines('receipts', /"attempts":1/, '"attempts":2')(p);
        return withLaterContext(p);
      },
    },
    {
      ...all,
      name: 'another ledger: a receipt of a later format; no anchor',
      edit: (p) => bare(p, later),
      passes: { ours: LATER_NOTE, python: LATER_NOTE },
      says: /^CANNOT JUDGE {2}.*totals, tables and figures were not judged/i,
    },
    {
      ...all,
      name: 'another ledger: a receipt of a later format, and another that was changed; no anchor',
      edit: (p) => {
        const edit = bare(p, later);
        lines('receipts', /"attempts":1/, '"attempts":2')(p);
        return edit;
      },
    },
  ];
}

const LATER_NOTE =
  'A later release may know it: both verifiers say CANNOT JUDGE, with what they checked. Other receipts, heads and the seal have to hold.';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const MONTH_MS = 40 * DAY_MS;

/** A request, with every id that has its time, so many milliseconds before. */
function before(receipt: Loose, ms: number): Loose {
  const ulid: string = receipt.id.split('rcpt_')[1];
  const time = Array.from(ulid.slice(0, 10)).reduce(
    (sum, digit) => sum * 32 + DIGITS.indexOf(digit),
    0,
  );
  const front = Array.from(
    { length: 10 },
    (_, i) => DIGITS[Math.floor((time - ms) / 32 ** (9 - i)) % 32],
  );
  const text = JSON.stringify(receipt).replaceAll(ulid, front.join('') + ulid.slice(10));
  const moved = JSON.parse(text);
  for (const name of ['startedAt', 'endedAt']) {
    const at = Date.parse(moved.credentialSubject[name]) - ms;
    moved.credentialSubject[name] = new Date(at).toISOString();
  }
  return moved;
}

/** Times, tiers and timestamps that fit each other, and not what can have been. */
function ofTimes(lab: PackLab): Tampering[] {
  const bare = (edit: Edit) => (p: ForgedPack) => {
    const edits = [rewriteLedger(lab, p, edit), dropAnchor(p)];
    return (seal: Loose): void => edits.forEach((each) => each(seal));
  };
  const stamped = (more: object, times: number) => (p: ForgedPack) => {
    const head = JSON.parse(p.text(ANCHORED_HEAD));
    const [first] = head.proof.timestamps;
    head.proof.timestamps = Array.from({ length: times }, (_, i) =>
      i === 0 ? first : { ...first, ...more },
    );
    p.set(ANCHORED_HEAD, `${JSON.stringify(head, null, 2)}\n`);
    return (seal: Loose): void => void (seal.credentialSubject.anchor.timestamps = times);
  };
  return [
    {
      ...all,
      name: 'another ledger: a request moved to another month, with its ids; no anchor',
      edit: bare((each) => each.with(PLAIN, { ...before(each[PLAIN], MONTH_MS), edited: true })),
      passes: {
        ours: 'When a request began is the word of the issuer; both verifiers say in their first lines that it was signed late.',
        python: 'the same',
      },
      says: /signed late.*1 receipt/,
    },
    ...(
      [
        ['eight thousand years long', '1000-01-01T00:00:00.000Z', '9999-12-31T00:00:00.000Z'],
        ['that is not over', undefined, '9999-12-31T00:00:00.000Z'],
      ] as const
    ).map(([what, from, to]): Tampering => ({
      ...all,
      name: `another ledger: a meter’s interval ${what}; no anchor`,
      edit: bare(
        atFirst(isMetered, ({ measurement: { metered } }) => {
          Object.assign(metered, { from: from ?? metered.from, to });
        }),
      ),
    })),
    {
      ...all,
      name: 'another ledger: a revision of the tier enterprise, which was not asked for; no anchor',
      edit: bare(atRevision((receipt) => void (receipt.tier = 'enterprise'))),
    },
    { ...sealed, name: 'anchor: its timestamp three times', edit: stamped({}, 3) },
    {
      ...sealed,
      name: 'anchor: its timestamp a second time, by another authority',
      edit: stamped({ authority: 'https://authority.example/' }, 2),
    },
  ];
}

const LOSS_NOTE =
  'A loss is the word of who declares it: both verifiers say it in their first lines, and --require-anchor refuses it here.';

export function ofForms(lab: PackLab): Tampering[] {
  return [
    {
      ...sealed,
      name: 'revisions: the place of the second entry is the truth, not a number',
      edit: lines('superseded', /"index":1}$/, '"index":true}'),
    },
    {
      ...sealed,
      name: 'key events: the place of the first is a falsehood, not a number',
      edit: lines(KEY_EVENTS, '"index":0,"proof"', '"index":false,"proof"'),
    },
    ...ofKeys.map(([what, edit]): Tampering => ({
      ...sealed,
      name: `did.json in the pack: ${what}`,
      edit: (p) => {
        const did = JSON.parse(p.text(DID_DOCUMENT));
        edit(did.verificationMethod[0]);
        p.set(DID_DOCUMENT, `${JSON.stringify(did, null, 2)}\n`);
      },
    })),
    ...(
      [
        ['the same twice', ['a cosignature of x', 'a cosignature of x']],
        ['a timestamp that it has', ['a timestamp']],
      ] as const
    ).map(([what, lacks]): Tampering => ({
      ...sealed,
      name: `seal: its anchor lacks ${what}`,
      edit: () => (seal) => void (seal.credentialSubject.anchor.lacks = [...lacks]),
    })),
    {
      ...sealed,
      name: 'data/contexts: a document that nothing cites, under its digest',
      edit: (p) => {
        const text = '{"@context":{"assured":"https://auditor.example/"}}';
        p.set(`data/contexts/docket-note-${hash('sha256', text)}.jsonld`, text);
      },
    },
    {
      ...sealed,
      name: 'data/methodologies: a copy under another name',
      edit: (p) => {
        const path = [...p.files.keys()].find((name) => name.startsWith('data/methodologies/'))!;
        p.set('data/methodologies/assured/1.0.0.json', p.text(path));
      },
    },
    {
      ...all,
      pack: 'own',
      name: 'a methodology of the operator’s own: a number in another spelling; no anchor',
      edit: (p) => {
        const path = [...p.files.keys()].find((name) => name.startsWith('data/methodologies/'))!;
        const text = p.text(path).replace(/:(0\.[0-9]*[1-9])(?=[,}])/, ':$10');
        p.set(path, text);
        const digest = multihashOfContent(Buffer.from(text));
        const edit = redeployed(lab, p, ({ methodology }) => void (methodology.digest = digest));
        return (seal) => {
          edit(seal);
          const document = seal.relatedResource.find(({ id }: Loose) =>
            id.includes('/methodologies/'),
          );
          document.digestMultibase = digest;
        };
      },
    },
    ...ofLog(lab),
    ...ofLaterFormats(lab),
    ...ofTimes(lab),
    ...DEPLOYMENTS.map(([what, edit]): Tampering => ({
      ...all,
      name: `another deployment: ${what}; no anchor`,
      edit: (p) => redeployed(lab, p, edit),
    })),
  ];
}
