import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CosignatureCheck, verifyCosignature } from '#shared/ledger/cosignatures.ts';
import {
  COSIGNATURE_TYPE,
  MalformedLedgerText,
  ML_DSA_44_TYPE,
  NOTE_TYPE,
  parseNote,
  type NoteSignature,
} from '#shared/ledger/notes.ts';
import { formatVerifierKey, parseVerifierKey } from '#shared/ledger/verifier-keys.ts';
import {
  judgeByPolicy,
  parseWitnessPolicy,
  POLICY_BYTES_MAX,
  type WitnessPolicy,
} from '#shared/ledger/witness-policy.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { formatWitnessPolicy } from '#test/support/policy-text.ts';
import { cosign, makeWitness, witnessKey } from '#test/support/witness-key.ts';

const SCRIPT = new URL('../../../shared/packs/files/verify.py', import.meta.url).pathname;
const RECORDED = new URL('../../fixtures/witnesses/litewitness.json', import.meta.url).pathname;
/** Reads each policy, and prints what is in it, or why it is none. */
const DRIVER = `
import json, sys
sys.path.insert(0, sys.argv[1])
import verify
for line in sys.stdin:
    try:
        policy = verify.Policy(bytes.fromhex(json.loads(line)))
        said = [len(policy.logs), len(policy.witnesses), len(policy.groups), policy.quorum.hex()]
    except verify.Cannot as problem:
        said = str(problem)
    print(json.dumps(said))
`;

/** What the script in a pack makes of each of these. */
function inPython(policies: readonly Uint8Array[]): unknown[] {
  const output = execFileSync('python3', ['-c', DRIVER, dirname(SCRIPT)], {
    input: policies.map((each) => JSON.stringify(Buffer.from(each).toString('hex'))).join('\n'),
    maxBuffer: 1e8,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  return output
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

/** The same by ours. */
function inOurs(policy: Uint8Array): unknown {
  try {
    const { logs, witnesses, groups, quorum } = parseWitnessPolicy(policy);
    const name = Buffer.from(quorum, 'latin1').toString('hex');
    return [logs.length, witnesses.length, groups.length, name];
  } catch (error) {
    if (error instanceof MalformedLedgerText) return error.message;
    throw error;
  }
}

const key = (name: string, seed: number, type = COSIGNATURE_TYPE): string =>
  formatVerifierKey(name, type, new Uint8Array(type === ML_DSA_44_TYPE ? 1_312 : 32).fill(seed));
const WITNESSES = [1, 2, 3].map((i) => `witness X${i} ${key(`x.example/${i}`, i)}\n`).join('');

describe('a witness policy', () => {
  it('reads the example of C2SP, with comments, tabs, URLs and two levels of groups', () => {
    const policy = parseWitnessPolicy(
      `# a policy\n\n log\t${key('log.example/a', 9, NOTE_TYPE)}   https://log.example \n${WITNESSES}` +
        `group X 2 X1 X2 X3\nwitness Y1 ${key('y.example', 7)} https://y.example/\n` +
        '  # commented out\ngroup X-and-Y all X Y1\nquorum X-and-Y\n',
    );
    expect(policy).toMatchObject({
      logs: [{ url: 'https://log.example', key: { name: 'log.example/a' } }],
      groups: [
        { name: 'X', threshold: 2, members: ['X1', 'X2', 'X3'] },
        { name: 'X-and-Y', threshold: 2, members: ['X', 'Y1'] },
      ],
      quorum: 'X-and-Y',
    });
    expect(policy.witnesses.map(({ name }) => name)).toEqual(['X1', 'X2', 'X3', 'Y1']);
  });

  const refused: readonly (readonly [text: string, message: string])[] = [
    ['', 'line 1: The quorum is missing.'],
    [WITNESSES, 'line 4: The quorum is missing.'],
    ['quorum none', 'line 1: It has no newline at its end.'],
    ['quorum none\nquorum none\n', 'line 2: It is a second quorum.'],
    ['quorum none\r\n', 'line 1: It holds a control character (0x0d).'],
    ['quorum X1\n', 'line 1: The quorum is not defined above it.'],
    ['policy 1\n', 'line 1: It begins with none of log, witness, group and quorum.'],
    ['witness a\n', 'line 1: It is not witness <name> <key> [<url>].'],
    ['witness a b\n', 'line 1: It is no verifier key, <name>+<id>+<base64 of type and key>.'],
    [`witness none ${key('a', 1)}\n`, 'line 1: The name is taken.'],
    [`${WITNESSES}witness X1 ${key('a', 5)}\n`, 'line 4: The name is taken.'],
    [`${WITNESSES}witness X4 ${key('a', 1)}\n`, 'line 4: The key stands in a line above it.'],
    [`witness a ${key('a', 1, NOTE_TYPE)}\n`, 'line 1: The key is one of a log.'],
    [`log ${key('a', 1)}\n`, 'line 1: The key is one of a witness.'],
    [
      `witness a ${key('a', 1).replace('a+', 'b+')}\n`,
      'line 1: The id of the verifier key is not that of the key.',
    ],
    [`witness a ${key('a', 1).slice(0, -4)}\n`, 'line 1: A key of its type has 32 bytes.'],
    [`${WITNESSES}group g 2 X1\n`, 'line 4: The number is not one from 1 to that of its members.'],
    [
      `${WITNESSES}group g 02 X1 X2\n`,
      'line 4: The number is not one from 1 to that of its members.',
    ],
    [`${WITNESSES}group g any X1 X1\n`, 'line 4: A member is one of a group already.'],
    [`${WITNESSES}group g any X1\ngroup h any X1\n`, 'line 5: A member is one of a group already.'],
    [`${WITNESSES}group g any g\n`, 'line 4: A member is not defined above it.'],
    [`${WITNESSES}group g any none\n`, 'line 4: A member is not defined above it.'],
    ['#'.repeat(POLICY_BYTES_MAX + 1), `It is larger than ${POLICY_BYTES_MAX} bytes.`],
    [
      Array.from({ length: 65 }, (_, i) => `witness w${i} ${key('a', i)}\n`).join(''),
      'line 65: There are more than 64 witnesses.',
    ],
  ];

  it('is refused by its line, with the same words in the script in a pack', () => {
    const texts = refused.map(([text]) => Buffer.from(text));
    const messages = refused.map(([, message]) => message);
    expect(texts.map(inOurs)).toEqual(messages);
    expect(inPython(texts)).toEqual(messages);
  });

  const octet = fc.integer({ min: 0x21, max: 0xff }).filter((byte) => byte !== 0x7f);
  const name = fc
    .array(octet, { minLength: 1, maxLength: 8 })
    .map((bytes) => String.fromCharCode(...bytes))
    .filter((text) => text !== 'none');
  const keyName = fc.stringMatching(/^[a-zé]{1,6}\.example$/);
  const policies: fc.Arbitrary<WitnessPolicy> = fc
    .record({
      witnesses: fc.uniqueArray(fc.tuple(name, keyName), {
        minLength: 1,
        maxLength: 6,
        selector: ([each]) => each,
      }),
      logs: fc.array(keyName, { maxLength: 2 }),
      group: name,
      threshold: fc.nat(),
      kinds: fc.constantFrom(COSIGNATURE_TYPE, ML_DSA_44_TYPE, 0xf0),
    })
    .filter(({ witnesses, group }) => witnesses.every(([each]) => each !== group))
    .map(({ witnesses, logs, group, threshold, kinds }) => ({
      logs: logs.map((each, i) => ({
        key: parseVerifierKey(key(each, 100 + i, NOTE_TYPE)),
        url: 'u',
      })),
      witnesses: witnesses.map(([each, named], i) => ({
        name: each,
        key: parseVerifierKey(key(named, i, i === 0 ? kinds : COSIGNATURE_TYPE)),
      })),
      groups: [
        {
          name: group,
          threshold: 1 + (threshold % witnesses.length),
          members: witnesses.map(([each]) => each),
        },
      ],
      quorum: group,
    }));

  it('that is written reads back as the same', () => {
    forAll([policies], { numRuns: runs(500) }, (policy) => {
      expect(parseWitnessPolicy(formatWitnessPolicy(policy))).toEqual(policy);
    });
  });

  it('of any octets is read by both, or refused by both with the same words, and crashes neither', () => {
    const mutated = fc
      .tuple(policies, fc.nat(), fc.nat(255), fc.boolean())
      .map(([policy, at, byte, cuts]) => {
        const bytes = formatWitnessPolicy(policy);
        const place = at % bytes.length;
        if (cuts) return bytes.slice(0, place);
        bytes[place] = byte;
        return bytes;
      });
    const samples = fc.sample(
      fc.oneof(policies.map(formatWitnessPolicy), mutated, fc.uint8Array({ maxLength: 60 })),
      runs(3_000),
    );
    expect(inPython(samples)).toEqual(samples.map(inOurs));
  });
});

describe('a checkpoint under a policy', () => {
  const TEXT = 'gateway.example/anchor\n7\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
  const witnesses = [0, 1, 2].map((i) => makeWitness(`witness.example/${i}`));
  const postQuantum = makeWitness('witness.example/0', ML_DSA_44_TYPE);
  const unknown = parseVerifierKey(key('witness.example/0', 0, 0xf0));
  const policy = (quorum: string): WitnessPolicy =>
    parseWitnessPolicy(
      witnesses.map((each, i) => `witness w${i} ${witnessKey(each)}\n`).join('') +
        `witness pq ${witnessKey(postQuantum)}\nwitness x ${witnessKey(unknown)}\n` +
        `group two 2 w0 w1 w2\ngroup both all two pq\ngroup every all both x\nquorum ${quorum}\n`,
    );
  const by = (witness: ReturnType<typeof makeWitness>, text = TEXT, time = 1_790_000_000) =>
    cosign(witness, witness.privateKey, text, time);
  const line = (i: number, text = TEXT, time?: number) => by(witnesses[i]!, text, time);
  const ofUnknown = {
    name: unknown.name,
    keyHash: Buffer.from(unknown.id, 'hex'),
    signature: new Uint8Array(9),
  };
  const judged = (
    quorum: string,
    signatures: readonly NoteSignature[],
    verify: CosignatureCheck = verifyCosignature,
  ) => judgeByPolicy(policy(quorum), { text: TEXT, signatures }, verify);

  it('counts each witness once, by Ed25519 and by ML-DSA-44', () => {
    expect(judged('two', [line(0), line(0, TEXT, 5), by(postQuantum)])).toMatchObject({
      isQuorum: false,
      cosigned: [{ witness: 'w0', time: 1_790_000_000 }, { witness: 'pq' }],
      missing: ['w1', 'w2', 'x'],
      unverifiable: [],
      others: 0,
    });
    expect(judged('two', [line(0), line(2)])).toMatchObject({
      isQuorum: true,
      missing: ['w1', 'pq', 'x'],
    });
    expect(judged('both', [line(0), line(2), by(postQuantum)]).isQuorum).toBe(true);
  });

  it('counts a line by a kind of key that cannot be verified as none, and says that the quorum hangs on it', () => {
    const withoutMlDsa: CosignatureCheck = (of, ...rest) =>
      of.type === ML_DSA_44_TYPE ? null : verifyCosignature(of, ...rest);
    const lines = [line(0), line(2), by(postQuantum)];
    expect(judged('both', lines, withoutMlDsa)).toMatchObject({
      isQuorum: false,
      mayBeQuorum: true,
      missing: ['w1', 'x'],
      unverifiable: ['pq'],
    });
    expect(judged('both', lines.slice(1), withoutMlDsa).mayBeQuorum).toBe(false);
    const all = judged('every', [...lines, ofUnknown]);
    expect(all).toMatchObject({ isQuorum: false, mayBeQuorum: true, unverifiable: ['x'] });
  });

  it('of a head that stock witnesses have cosigned is met (npm run witnesses -- --record)', () => {
    const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as { policy: string; note: string };
    const words = judgeByPolicy(
      parseWitnessPolicy(recorded.policy),
      parseNote(recorded.note),
      verifyCosignature,
    );
    expect(words).toMatchObject({ isQuorum: true, ofKnownLog: true, missing: [], others: 0 });
    expect(words.cosigned.map(({ witness }) => witness)).toEqual(['direct', 'bastion']);
  });

  it('passes over lines of other keys, also under the name of a witness', () => {
    const other = { ...line(1), name: 'witness.example/0' };
    expect(judged('none', [other])).toMatchObject({ cosigned: [], others: 1, isQuorum: true });
  });

  it('refuses a line by a key of the policy that is of another text, time or length, beside a good one too', () => {
    const [good, other] = [line(0), line(0, TEXT.replace('7', '8'))];
    const late = { ...good, signature: good.signature.with(7, good.signature[7]! ^ 1) };
    const short = { ...good, signature: good.signature.slice(1) };
    const farOff = { ...good, signature: good.signature.with(0, 0x80) };
    const own = by(postQuantum);
    const borrowed = { ...own, signature: by(postQuantum, TEXT.replace('7', '8')).signature };
    const cut = { ...own, signature: own.signature.slice(1) };
    for (const bad of [other, late, short, farOff, borrowed, cut]) {
      expect(() => judged('none', [good, bad])).toThrow(
        /by the witness (?:w0|pq), whose key the policy has/,
      );
    }
  });
});
