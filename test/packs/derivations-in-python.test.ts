import { contextNameOfForm } from '#shared/lineage/context.ts';
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { derivationKey } from '#shared/lineage/derivation-key.ts';
import { derivationNodes } from '#shared/lineage/derivation-nodes.ts';
import { derivationOf, parseDerivation, wholeMeasurement } from '#shared/receipts/derivation.ts';
import { measurementDocument } from '#shared/receipts/measurement-document.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { METHODOLOGIES, METHODOLOGY, requests } from '#test/unit/methodology/fixtures.ts';

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;
const issuer = receiptIssuer('https://gateway.example');

/** Reads a measurement and its lineage from each line; computes every step anew, and prints the name of the derivation. */
const DRIVER = `
import json, sys
sys.path.insert(0, sys.argv[1])
import verify
method = json.loads(sys.stdin.readline())
owner = next(each for each in vars(verify).values() if isinstance(each, type) and 'recompute' in vars(each))
reader = object.__new__(owner)
reader.read = lambda path: json.dumps(method)
for line in sys.stdin:
    stated, measured = json.loads(line)
    reader.recompute('lineage', measured['measurement'])
    reader.sources('lineage', measured, measured['measurement'])
    print(verify.derivation(stated['hadPlan'], stated['used']).hex())
`;

it('the script in a pack computes every step of a lineage anew, and tells derivations apart as we do', () => {
  const samples = fc.sample(requests, { numRuns: 300, seed: 11 }).map((input, i) => {
    const form = i % 2 === 0 ? 2 : 1;
    const measurement = METHODOLOGY.estimate(input);
    const { digest, text } = derivationOf(issuer, measurement);
    const stated = measurementDocument(issuer, 'X', measurement, 'urn:request');
    const whole = wholeMeasurement(stated, () => parseDerivation(text, digest));
    const nodes = derivationNodes(METHODOLOGY.explain(input), 'lineage', whole.hadPlan.id, form);
    const measured = {
      hadPlan: { ...whole.hadPlan, constants: nodes.constants },
      used: nodes.used,
      steps: nodes.steps,
      bounds: nodes.bounds,
      warnings: nodes.warnings,
      generated: stated.result,
    };
    const context = `https://gateway.example/contexts/${contextNameOfForm(form)}`;
    const document = {
      '@context': context,
      id: 'lineage',
      bibliography: nodes.bibliography,
      measurement: measured,
    };
    return { whole, line: JSON.stringify([whole, document]) };
  });
  const { id, version } = METHODOLOGY;
  const { text } = METHODOLOGIES.methodologyDocument(id, version)!;
  const output = execFileSync('python3', ['-c', DRIVER, dirname(SCRIPT)], {
    input: [text, ...samples.map(({ line }) => line)].join('\n'),
    maxBuffer: 1e8,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  const keys = output.toString().trim().split('\n');
  expect(keys).toEqual(
    samples.map(({ whole }) => Buffer.from(derivationKey(whole), 'base64url').toString('hex')),
  );
});
