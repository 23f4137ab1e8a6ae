import type { Measurement } from './measurement.ts';
import { deploy, type Deployment, type Factors, HARDWARE_ID } from './deployment.ts';
import { type Derivation, Notebook } from './derivation.ts';
import { uncertaintyOf } from './docket-1-bounds.ts';
import type { MethodologyDocument } from './document.ts';
import { docket1Document } from './docket-1-document.ts';
import { DOCKET_CONSTANTS } from './docket-1-formulas.ts';
import { measure } from './docket-1-measure.ts';
import type { DocketRevision } from './docket-1-revisions.ts';
import { FactorIndex } from './factor-index.ts';
import type { FactorSet } from './factor-set.ts';
import type { EstimateInput, Methodology } from './methodology.ts';
import { readRequest } from './request-figures.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

/** A catalogue has far fewer pairs of model and site; a stream of made-up ones must not fill the memory. */
const DEPLOYMENTS_MAX = 4_096;

/**
 * A revision of the profile `docket-1` over a factor set; `document` is what it publishes. The result keeps what it has computed per model and site, so that an
 * estimate on the path of a receipt costs a few microseconds.
 * Throws MalformedData when the set lacks a record that the method needs.
 */
export function createMethodology(
  factorSet: FactorSet,
  revision: DocketRevision = '1.0',
  document: MethodologyDocument = docket1Document(factorSet, revision),
): Methodology {
  const index = new FactorIndex(factorSet);
  const hardware = index.hardware(HARDWARE_ID);
  if (hardware === undefined)
    throw new MalformedData('missing_field', 'hardware', `has no record ${HARDWARE_ID}`);
  const uncertainty = uncertaintyOf(factorSet);
  const factors: Factors = { index, hardware, uncertainty };
  const { id, version, digest } = document;
  const methodology = { id, version, digest };
  const deployments = new Map<string, Deployment>();

  const deployed = (input: EstimateInput): Deployment => {
    const key = deploymentKey(input);
    const known = deployments.get(key);
    if (known !== undefined) return known;
    const deployment = deploy(input, factors, undefined);
    if (deployments.size >= DEPLOYMENTS_MAX) deployments.clear();
    deployments.set(key, deployment);
    return deployment;
  };

  const compute = (
    input: EstimateInput,
    deployment: (input: EstimateInput) => Deployment,
    recorder: Notebook | undefined,
  ): Measurement => {
    const request = readRequest(input);
    return { methodology, ...measure(deployment(input), request, recorder) };
  };

  return {
    ...methodology,
    estimate: (input) => compute(input, deployed, undefined),
    explain: (input) => {
      const notebook = new Notebook();
      for (const [symbol, { value, unit }] of Object.entries(DOCKET_CONSTANTS))
        notebook.given(symbol, value, unit);
      const measurement = compute(input, () => deploy(input, factors, notebook), notebook);
      return derivation(measurement, notebook, index);
    },
  };
}

/** All that `deploy` reads. */
function deploymentKey({ model, zone, site, gridSignal }: EstimateInput): string {
  const { ref, activeB, totalB, precision, batch, gpus } = model.footprint;
  return JSON.stringify([
    model.id,
    ref,
    activeB,
    totalB,
    precision,
    batch,
    gpus,
    zone,
    site.operator,
    site.pue,
    site.wue,
    gridSignal,
  ]);
}

function derivation(measurement: Measurement, notebook: Notebook, index: FactorIndex): Derivation {
  const constants = Object.entries(DOCKET_CONSTANTS).map(
    ([symbol, { value, unit, meaning, sources }]) => ({
      symbol,
      value,
      unit,
      meaning,
      sources: index.sources(sources),
    }),
  );
  return {
    methodology: measurement.methodology,
    // In the order of the measurement, not in the one in which they were looked up.
    inputs: measurement.inputs.flatMap(
      ({ kind, digest }) =>
        notebook.views.find((view) => view.kind === kind && view.digest === digest) ?? [],
    ),
    constants,
    steps: notebook.steps,
    bounds: notebook.bounds,
    results: measurement.results,
    dataQuality: measurement.dataQuality,
    warnings: notebook.warnings,
  };
}
