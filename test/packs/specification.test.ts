/** The vectors of docs/spec: both verifiers find what they say, and they are made anew to the byte. */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { coseJudgement } from '#cli/verify/cose-judgement.ts';
import { judgeReceipt, trustIn } from '#cli/verify/judge-receipt.ts';
import { verifyFiles, verifyPack, verifyReceipt } from '#cli/verify/library.ts';
import { verifyPack as verifyStamped } from '#cli/verify/verify-pack.ts';
import {
  checkCosignature,
  parseWitnessKey,
  verifyCosignature,
} from '#shared/ledger/cosignatures.ts';
import { reasonRows } from '#dev/specification-tables.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { Corpus, refuseFrozen } from './corpus.ts';
import { ForgedPack } from './tampering.ts';
import { archiveOf, makeVectors, vectorText, VECTORS, type Vectors } from './specification.ts';

const made = await makeVectors();
if (process.env['REMAKE']) {
  refuseFrozen();
  for (const [name, vectors] of Object.entries(made))
    writeFileSync(join(VECTORS, name), vectorText(vectors));
}
const text = (name: keyof Vectors): string => readFileSync(join(VECTORS, name), 'utf8');
const read = <Name extends keyof Vectors>(name: Name): Vectors[Name] =>
  JSON.parse(text(name)) as Vectors[Name];

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;

/** What verify.py finds of single things, by its own functions: true, or what it raises. */
const DRIVER = `
import base64, json, sys
sys.path.insert(0, sys.argv[1])
import verify

class One(verify.Verifier):
    def __init__(self, files):
        self.records, self.manifest, self.declared = {}, files, set()

    def read(self, path):
        return self.manifest[path].encode()

def judged(what):
    try:
        return what()
    except (verify.Bad, verify.Cannot, *verify.MALFORMED) as problem:
        return str(problem) or 'refused'

def json_case(case):
    data = base64.b64decode(case['source'])
    value = verify.parse(data, 'it')
    text = verify.canonical(value)
    # Lines and seals have to be in that form: one that is only read loosely is refused by it.
    verify.check(text == data or text.decode() == case.get('canonical'), 'not in its canonical form')
    return text.decode() == case['canonical']

def receipt_case(case, keys, files):
    receipt = verify.parse(case['receipt'].encode(), 'it')
    verify.check_form(receipt, 'it')
    keys.verify_credential(receipt, verify.ENCODER.encode(receipt), receipt['issuer'], 'it')
    whole = One(files).whole(receipt, 'it')
    verify.check_agreement(receipt, whole, 'it')
    return True

def head_case(case, keys):
    keys.checkpoint(case['note'], case['log'], 'did:web:gateway.example', 'it')
    return True

def cosignature_case(case):
    name, kind, key, identifier = verify.verifier_key(case['key'].encode())
    line = base64.b64decode(case['signature'])
    verify.check(line[:4] == identifier, 'another key')
    return verify.cosigned(line[4:], case['text'], (name, kind, key), 'it') is not None

def tree_case(entries):
    tree = verify.Tree(0, [])
    for each in entries:
        tree.append(base64.b64decode(each['leaf']))
        verify.check(base64.b64encode(tree.root()).decode() == each['root'], each['receipt'])
    return True

vectors = json.load(sys.stdin)
receipts, heads = vectors['receipts.json'], vectors['heads.json']
files = {f'data/derivations/{digest}.json': text for digest, text in receipts['derivations'].items()}
print(json.dumps({
    'json': [judged(lambda: json_case(each)) for each in vectors['json.json']['cases']],
    'receipts': [judged(lambda: receipt_case(each, verify.Keys(receipts['did']), files)) for each in receipts['cases']],
    'heads': [judged(lambda: head_case(each, verify.Keys(heads['did']))) for each in heads['heads']],
    'cosignatures': [judged(lambda: cosignature_case(each)) for each in heads['cosignatures']],
    'tree': judged(lambda: tree_case(heads['tree'])),
}))
`;

type Said = true | string;

function byPython(): Record<'json' | 'receipts' | 'heads' | 'cosignatures', Said[]> & {
  tree: Said;
} {
  const { stdout, stderr } = spawnSync('python3', ['-c', DRIVER, dirname(SCRIPT)], {
    input: JSON.stringify(Object.fromEntries(NAMES.map((name) => [name, read(name)]))),
    encoding: 'utf8',
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout) as ReturnType<typeof byPython>;
}

/** Members of a document by their places; records are whole. */
function membersIn(value: unknown, place = ''): string[] {
  if (typeof value !== 'object' || value === null || place.endsWith('.record')) return [place];
  if (Array.isArray(value)) return value.flatMap((each) => membersIn(each, `${place}[]`));
  const dot = place === '' ? '' : '.';
  return Object.entries(value).flatMap(([name, each]) => membersIn(each, `${place}${dot}${name}`));
}

const NAMES = Object.keys(made) as (keyof Vectors)[];
const { cases: jsons } = read('json.json');
const receipts = read('receipts.json');
const heads = read('heads.json');
const packs = read('packs.json');
const python = byPython();
const isGood = (said: Said | undefined): boolean => said === true;
const source = 'did.json';

describe('the vectors of docs/spec', () => {
  it.each(NAMES)('%s is what is made of the corpus, byte for byte (if not: REMAKE=1)', (name) => {
    expect(text(name)).toBe(vectorText(made[name]));
  });

  it('no two cases of a file have one name, and each says why', () => {
    for (const cases of [
      jsons,
      receipts.cases,
      receipts.figures,
      heads.heads,
      heads.cosignatures,
      read('cose.json').cases,
      packs.cases,
    ]) {
      expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
      expect(cases.filter(({ why }) => why === '')).toEqual([]);
    }
  });

  it.each(jsons.map((each, i) => [each.name, each, python.json[i]] as const))(
    'JSON: both readers take %s, or refuse it',
    (_, { canonical }, said) => {
      expect([isGood(said), said]).toEqual([canonical !== undefined, expect.anything()]);
    },
  );

  it.each(receipts.cases.map((each, i) => [each.name, each, python.receipts[i]] as const))(
    'receipts: both verifiers find %s so',
    async (_, { receipt, verdict, ...rest }, said) => {
      const trust = { didJson: receipts.did, source, isChosen: true };
      const derivation = ({ digest }: { digest: string }) =>
        Promise.resolve({ file: 'derivation.json', text: receipts.derivations[digest] ?? '' });
      const found = await verifyReceipt(receipt, { trust, derivation });
      const { code } = found.report as { code: string };
      expect([found.verdict, code, found.text]).toEqual([
        verdict,
        'reason' in rest ? rest.reason : 'good',
        expect.anything(),
      ]);
      expect([isGood(said), said]).toEqual([verdict === 'good', expect.anything()]);
    },
  );

  it.each(receipts.figures.map((each) => [each.name, each] as const))(
    'figures: docket verify finds those of %s so',
    async (_, { receipt, verdict, ...rest }) => {
      const trust = { didJson: receipts.did, source, isChosen: true };
      const derivation = ({ digest }: { digest: string }) =>
        Promise.resolve({ file: 'derivation.json', text: receipts.derivations[digest] ?? '' });
      const found = await verifyReceipt(receipt, { trust, derivation });
      const { code, figures } = found.report as { code: string; figures: string | null };
      const reason = 'reason' in rest ? rest.reason : 'good';
      expect([found.verdict, code, found.text]).toEqual([verdict, reason, expect.anything()]);
      if (verdict === 'good') expect(figures).toContain('and the same');
    },
  );

  it.each(heads.heads.map((each, i) => [each.name, each, python.heads[i]] as const))(
    'heads: both verifiers find %s so',
    async (_, { note, verdict }, said) => {
      const trust = { didJson: heads.did, source, isChosen: true };
      const found = await verifyFiles([{ name: 'head', content: Buffer.from(note) }], { trust });
      expect([found.verdict === 'good', found.text]).toEqual([
        verdict === 'good',
        expect.anything(),
      ]);
      expect([isGood(said), said]).toEqual([verdict === 'good', expect.anything()]);
    },
  );

  it.each(read('cose.json').cases.map((each) => [each.name, each] as const))(
    'COSE receipts: one %s is found so',
    (_, { cose, verdict, ...rest }) => {
      const { did: didJson, receipt: signed } = read('cose.json');
      const trust = trustIn({ didJson, source, isChosen: true });
      const receipt = judgeReceipt(
        () => signed,
        () => trust,
        Date.now(),
      );
      const terms = { receipt, trust, file: 'cose', receiptFile: 'receipt' };
      const found = coseJudgement(Buffer.from(cose, 'base64'), terms);
      const { code } = found.report as { code: string };
      const reason = 'reason' in rest ? rest.reason : 'good';
      expect([found.verdict, code, found.text]).toEqual([verdict, reason, expect.anything()]);
    },
  );

  it.each(heads.cosignatures.map((each, i) => [each.name, each, python.cosignatures[i]] as const))(
    'cosignatures: both find one %s so',
    (_, { key, text: of, signature, verdict, time }, said) => {
      const witness = parseWitnessKey(key);
      const bytes = Buffer.from(signature, 'base64');
      const line = {
        name: witness.name,
        keyHash: bytes.subarray(0, 4),
        signature: bytes.subarray(4),
      };
      const check = () => checkCosignature(line, of, witness, verifyCosignature);
      if (verdict === 'good') expect(check()).toBe(time);
      else expect(check).toThrow(expect.objectContaining({ code: 'cosignature_wrong' }));
      expect([isGood(said), said]).toEqual([verdict === 'good', expect.anything()]);
    },
  );

  it('the JSON Schema takes every receipt and seal of the corpus, and no field more or less', () => {
    const ajv = new Ajv2020({ strict: false });
    const isReceipt = ajv.compile(read('receipt.schema.json'));
    const isSeal = ajv.compile(read('seal.schema.json'));
    const corpus = new Corpus('format-1');
    for (const { name } of corpus.expected.receipts) {
      const receipt = JSON.parse(corpus.bytesOf(name).toString()) as { validFrom?: string };
      expect([name, isReceipt(receipt), isReceipt.errors]).toEqual([name, true, null]);
      expect(isReceipt({ ...receipt, note: 'x' })).toBe(false);
      delete receipt.validFrom;
      expect(isReceipt(receipt)).toBe(false);
    }
    const seal = new ForgedPack(corpus.path('whole.zip')).seal();
    expect([isSeal(seal), isSeal.errors]).toEqual([true, null]);
    expect(isSeal({ ...seal, note: 'x' })).toBe(false);
  });

  it('every reason that the pages name has a vector, or it is said why there can be none', () => {
    expect(reasonRows().length).toBeGreaterThan(60);
  });

  it('the members of lineage documents are those of the page, and no others', () => {
    const pack = new ForgedPack(new Corpus('format-1').path('whole.zip'));
    const documents = [...pack.files.keys()].filter((name) => name.startsWith('data/lineage/'));
    const found = documents.flatMap((name) => membersIn(JSON.parse(pack.text(name))));
    const page = readFileSync(join(VECTORS, '../pack.md'), 'utf8');
    const rows = /\| `@context`[^]*?\n\n/.exec(page)![0].split('\n');
    const named = rows.flatMap((row) => row.split(' | ')[0]!.match(/(?<=`)[^`, ]+(?=`)/g) ?? []);
    const plain = (names: string[]) =>
      [...new Set(names.map((name) => name.replace(/\[\]$/, '')))].toSorted();
    expect(plain(found)).toEqual(plain(named));
  });

  it('the tree of the corpus has the same root at each size by both', () => {
    expect(python.tree).toBe(true);
    expect(heads.tree.length).toBeGreaterThan(30);
  });
});

describe('packs of docs/spec', () => {
  const corpus = new Corpus('format-1');
  const directory = mkdtempSync(join(tmpdir(), 'docket-specification-'));
  const [trustFile, otherTrust, policyFile, authorityFile] = ['did', 'other', 'policy', 'pem'].map(
    (name) => join(directory, name),
  ) as [string, string, string, string];
  writeFileSync(trustFile, corpus.didJson);
  writeFileSync(otherTrust, receipts.did);
  const codes = { good: 0, bad: 1, cannot_judge: 2, intact: 3 };

  it.each(packs.cases.map((each) => [each.name, each] as const))(
    'both verifiers find %s so',
    async (_, { asks, policy, authorities, sha256, verdict, ...rest }) => {
      const path = join(directory, 'case.zip');
      await archiveOf(rest as never, path);
      expect(hash('sha256', readFileSync(path))).toBe(sha256);
      if (policy !== undefined) writeFileSync(policyFile, policy);
      if (authorities !== undefined) writeFileSync(authorityFile, authorities);
      const trusted = asks === 'the did of receipts.json' ? otherTrust : trustFile;
      const trust = { didJson: readFileSync(trusted, 'utf8'), source };
      const asked = {
        requireAnchor: asks === '--require-anchor',
        requireTimestamp: asks === '--require-timestamp',
        requireReleasedMethodology: asks === '--require-released-methodology',
        ...(policy === undefined ? {} : { witnessPolicy: { content: policy, source: 'policy' } }),
      };
      const found =
        authorities === undefined
          ? await verifyPack(readFileSync(path), {
              ...asked,
              ...(asks === 'no trust' ? {} : { trust }),
            })
          : await verifyStamped(path, {
              ...asked,
              didJson: trust.didJson,
              tsaTrust: authorities,
              now: Date.now(),
            });
      const { code } = 'report' in found ? (found.report as { code: string }) : found;
      expect([found.verdict, code, found]).toEqual([
        verdict,
        'reason' in rest ? rest.reason : 'good',
        expect.anything(),
      ]);
      const said = await verifyWithPython(path, asks === 'no trust' ? null : trusted, [
        ...(asks?.startsWith('--') ? [asks] : []),
        ...(policy === undefined ? [] : ['--witness-policy', policyFile]),
        ...(authorities === undefined ? [] : ['--tsa-trust', authorityFile]),
      ]);
      expect([said.code, said.output]).toEqual([codes[verdict], expect.anything()]);
    },
  );
});
