import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { derivationKey } from '#shared/lineage/derivation-key.ts';
import { derivationNodes } from '#shared/lineage/derivation-nodes.ts';
import { derivationOf, parseDerivation, wholeMeasurement } from '#shared/receipts/derivation.ts';
import { measurementDocument } from '#shared/receipts/measurement-document.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import { runs } from '#test/support/depth.ts';
import { METHODOLOGIES, METHODOLOGY, requests } from '#test/unit/methodology/fixtures.ts';

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;
const issuer = receiptIssuer('https://gateway.example');

/**
 * Reads a measurement, its lineage and others of the same derivation from each line; leads each of them through the steps,
 * and prints the name of the derivation, which of them follow, and what is said of stated energy that is judged otherwise.
 */
const DRIVER = `
import json, sys
sys.path.insert(0, sys.argv[1])
import verify
method = json.loads(sys.stdin.readline())
def misjudged(used, figures):
    record = next(each['record'] for each in used if each['type'] == 'UsageRecord')
    if 'stated_joules' not in record:
        return None
    for other in {None, *verify.STATED_BOUNDS} - {record.pop('stated_beyond', None)}:
        try:
            figures([dict(each, record=dict(record, stated_beyond=other) if other else record)
                     if each['type'] == 'UsageRecord' else each for each in used])
            return other or 'used'
        except verify.Bad:
            pass
    return 'refused'
for line in sys.stdin:
    whole, text, others = json.loads(line)
    figures = verify.course_of('lineage', json.loads(text, parse_float=verify.Number), whole['used'], method, whole['stated']['dataQuality'])
    said = [verify.follows(each['stated'], figures(each['used'])) for each in [whole, *others]]
    key = verify.derivation(whole['hadPlan'], whole['used']).hex()
    print(json.dumps([key, said, misjudged(whole['used'], figures)]))
`;

it('the script in a pack computes the figures of every receipt, and tells derivations apart as we do', () => {
  const samples = fc.sample(requests, runs(300)).map((input) => {
    const whole = wholeOf(input);
    const { stated } = whole;
    const nodes = derivationNodes(METHODOLOGY.explain(input), 'lineage', whole.hadPlan.id);
    const others = [wholeOf(another(input))].filter(
      (each) => derivationKey(each) === derivationKey(whole),
    );
    const wrong = others.map((each) => ({
      ...each,
      stated: { ...each.stated, result: stated.result },
    }));
    const line = JSON.stringify([whole, JSON.stringify(nodes), [...others, ...wrong]]);
    return { whole, line, others: others.length, isStated: input.usage.statedJoules !== undefined };
  });
  const { id, version } = METHODOLOGY;
  const { text } = METHODOLOGIES.methodologyDocument(id, version)!;
  const output = execFileSync('python3', ['-c', DRIVER, dirname(SCRIPT)], {
    input: [text, ...samples.map(({ line }) => line)].join('\n'),
    maxBuffer: 1e8,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  expect(
    output
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual(
    samples.map(({ whole, others, isStated }) => [
      Buffer.from(derivationKey(whole), 'base64url').toString('hex'),
      others === 0 ? [true] : [true, true, false],
      isStated ? 'refused' : null,
    ]),
  );
  const told = samples.filter(({ others }) => others > 0);
  expect(told.length).toBeGreaterThan((samples.length * 2) / 3);
});

function wholeOf(input: EstimateInput) {
  const measurement = METHODOLOGY.estimate(input);
  const { digest, text } = derivationOf(issuer, measurement);
  const stated = measurementDocument(issuer, 'X', measurement, 'urn:request');
  return wholeMeasurement(stated, () => parseDerivation(text, digest));
}

/** Another request to the same deployment, with other figures throughout. */
function another({ usage, attempts, upstreamS, latencyS, ...deployment }: EstimateInput) {
  const { tokenInterval: around, statedJoules } = usage;
  const more = (count: number): number => (count === 0 ? 0 : count + 3);
  return {
    ...deployment,
    attempts: Math.min(attempts + 1, 1_000),
    usage: {
      ...usage,
      inputTokens: more(usage.inputTokens),
      outputTokens: more(usage.outputTokens),
      ...(around && {
        tokenInterval: {
          inputLower: around.inputLower,
          inputUpper: around.inputUpper + 7,
          outputLower: around.outputLower,
          outputUpper: more(around.outputUpper),
        },
      }),
      ...(statedJoules === undefined ? {} : { statedJoules: statedJoules * 1.5 + 1 }),
    },
    ...(upstreamS === undefined ? {} : { upstreamS: upstreamS * 0.75 + 0.125 }),
    ...(latencyS === undefined ? {} : { latencyS: latencyS * 0.75 + 0.125 }),
  };
}
