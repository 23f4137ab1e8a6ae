import { digestIn } from '#shared/kernel/multihash.ts';
import { sha256Text } from '#primitives';
import { leafHash, sameHash } from '#shared/ledger/hashing.ts';
import { digestOf } from '#shared/kernel/canonical-json.ts';
import type { Derivation } from '#shared/methodology/derivation.ts';
import { statedForm } from '#shared/methodology/recompute.ts';
import { idInAddress, statedMeasurement } from '#shared/receipts/reread.ts';
import { LineageContradiction, type LineageFacts } from './facts.ts';

/**
 * Compares everything that a lineage document will say with what the signed receipt pins.
 * @throws LineageContradiction naming the first thing that differs
 */
export function checkFacts(facts: LineageFacts): void {
  checkMeasurement(facts);
  checkChain(facts);
  checkLedger(facts);
}

function checkMeasurement({ document, measurement, derivation }: LineageFacts): void {
  agree(measurement?.stated === document.measurement, 'measurement');
  agree((measurement === undefined) === (derivation === undefined), 'measurement');
  if (measurement === undefined || derivation === undefined) return;
  const stated = statedMeasurement(measurement);
  const { methodology, inputs, results, dataQuality } = stated;
  agree(derivation.methodology.id === methodology.id, 'hadPlan.name');
  agree(derivation.methodology.version === methodology.version, 'hadPlan.version');
  agree(derivation.methodology.digest === methodology.digest, 'hadPlan.digest');
  agree(derivation.dataQuality === dataQuality, 'dataQuality');
  agree(derivation.inputs.length === inputs.length, 'used');
  inputs.forEach((input, i) => {
    const view = derivation.inputs[i]!;
    const same = view.kind === input.kind && view.id === input.id && view.digest === input.digest;
    agree(same && digestOf(view.record) === input.digest, `used.${input.id}`);
    agree(view.carried === (input.record !== undefined), `used.${input.id}.carried`);
  });
  const computed = resultsOf(derivation);
  agree(computed.length === results.length, 'result');
  results.forEach((result, i) => {
    const other = computed[i]!;
    const same = (['name', 'unit', 'value', 'lower', 'upper'] as const).every(
      (field) => result[field] === other[field],
    );
    agree(same, `result.${result.name}`);
  });
}

/** The results as a receipt writes them. */
function resultsOf({ methodology, results, dataQuality }: Derivation) {
  return statedForm({ methodology, inputs: [], results, dataQuality }).results;
}

function checkChain({ bytes, document, chain }: LineageFacts): void {
  const at = chain.findIndex(({ receiptId }) => receiptId === idInAddress(document.id));
  const own = chain[at];
  agree(own !== undefined, 'revisions');
  agree(own!.digest === sha256Text(bytes, 'base64url'), 'revisions.digest');
  const { wasRevisionOf: revised } = document;
  const before = chain[at - 1];
  agree((revised === undefined) === (before === undefined), 'wasRevisionOf');
  if (revised === undefined || before === undefined) return;
  agree(idInAddress(revised.id) === before.receiptId, 'wasRevisionOf.id');
  agree(digestIn(revised.digest) === before.digest, 'wasRevisionOf.digest');
  agree(revised.leafIndex === before.leafIndex, 'wasRevisionOf.leafIndex');
}

function checkLedger({ bytes, document, chain, ledger }: LineageFacts): void {
  const own = chain.find(({ receiptId }) => receiptId === idInAddress(document.id));
  agree(own?.leafIndex === ledger?.leafIndex, 'ledger.leafIndex');
  if (ledger === undefined) return;
  agree(sameHash(leafHash(bytes), ledger.leafHash), 'ledger.leafHash');
  const promised = document.inclusionPromise?.log;
  agree(promised === undefined || promised === ledger.log, 'ledger.log');
}

function agree(holds: boolean, path: string): void {
  if (!holds) throw new LineageContradiction(path);
}
