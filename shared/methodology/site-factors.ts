import { MethodologyFailure } from './measurement.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { Recorder } from './derivation.ts';
import { DOCKET_FORMULAS } from './docket-1-formulas.ts';
import type { FactorIndex } from './factor-index.ts';
import type { ValueOrRange } from './factor-set.ts';
import type { InputList } from './input-list.ts';
import type { Site } from './methodology.ts';
import { figures, middle } from './model-size.ts';

export interface SiteFactors {
  readonly pue: number;
  /** L per kWh of IT energy. */
  readonly wue: number;
  /** False when the PUE is the range of an operator that states none. */
  readonly pueKnown: boolean;
}

/** Below 1 a building would use less than what stands in it; above these a figure has lost its point. */
const PUE_MAX = 10;
const WUE_MAX = 50;
const OPERATOR_LENGTH_MAX = 200;

/**
 * PUE and WUE of a site, each from the first who states it: the catalogue, the operator's record, and last the
 * range of an operator that states nothing, which is wider and is named as an input.
 * Throws MethodologyFailure at stage `input`: `site_invalid`.
 */
export function siteFactors(
  site: Site,
  index: FactorIndex,
  inputs: InputList,
  recorder: Recorder | undefined,
): SiteFactors {
  checkSite(site);
  const { operator, pue, wue } = site;
  if (pue !== undefined || wue !== undefined) declared(site, inputs);
  const record = pue === undefined || wue === undefined ? index.site(operator) : undefined;
  const recordPue = pue === undefined ? record?.pue : undefined;
  const recordWue = wue === undefined ? record?.wue_l_per_kwh : undefined;
  if (record !== undefined && (recordPue !== undefined || recordWue !== undefined)) {
    inputs.fromSet('site', record, () => siteFigures(recordPue, recordWue));
  }
  const unknownPue = pue === undefined && recordPue === undefined;
  const unknownWue = wue === undefined && recordWue === undefined;
  const unknown = index.set.unknown_site;
  if (unknownPue || unknownWue) {
    inputs.fromSet('site', unknown, () =>
      siteFigures(
        unknownPue ? unknown.pue : undefined,
        unknownWue ? unknown.wue_l_per_kwh : undefined,
      ),
    );
    const what = unknownPue ? (unknownWue ? 'PUE and WUE' : 'PUE') : 'WUE';
    recorder?.warn(
      'site_unknown',
      `Nobody states the ${what} of this site; the range of an unknown operator is used.`,
    );
  }
  return {
    pue: pue ?? middle(recordPue ?? unknown.pue, DOCKET_FORMULAS.pue, recorder),
    wue: wue ?? middleOfWater(recordWue ?? unknown.wue_l_per_kwh, recorder),
    pueKnown: !unknownPue,
  };
}

/** Water on site may be zero, so its middle is the arithmetic one. */
function middleOfWater(wue: ValueOrRange, recorder: Recorder | undefined): number {
  if (typeof wue === 'number') return wue;
  const result = (wue.min + wue.max) / 2;
  recorder?.step(DOCKET_FORMULAS.wue, result);
  return result;
}

function declared({ operator, pue, wue }: Site, inputs: InputList): void {
  const record = {
    declared_by: 'catalogue',
    operator,
    ...(pue === undefined ? {} : { pue: toExactDecimalString(pue) }),
    ...(wue === undefined ? {} : { wue_l_per_kwh: toExactDecimalString(wue) }),
  };
  inputs.carried('site', operator, record, () => siteFigures(pue, wue));
}

function siteFigures(pue: ValueOrRange | undefined, wue: ValueOrRange | undefined) {
  return [
    ...(pue === undefined ? [] : figures('PUE', 'pue', 'power usage effectiveness', pue)),
    ...(wue === undefined
      ? []
      : figures('WUE', 'wue_l_per_kwh', 'water on site per kWh of IT energy', wue)),
  ];
}

function checkSite({ operator, pue, wue }: Site): void {
  const bad =
    operator === '' || operator.length > OPERATOR_LENGTH_MAX || !operator.isWellFormed()
      ? 'operator must be a name'
      : pue !== undefined && !(pue >= 1 && pue <= PUE_MAX)
        ? `pue must be from 1 to ${PUE_MAX}`
        : wue !== undefined && !(wue >= 0 && wue <= WUE_MAX)
          ? `wue must be from 0 to ${WUE_MAX}`
          : undefined;
  if (bad !== undefined) throw new MethodologyFailure('input', 'site_invalid', bad);
}
