import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import type { JobHandler } from '#shared/jobs/redis/job-runner.ts';
import type { RestatementStore, RevisionStore } from '#shared/receipts/postgres/revisions.ts';
import type { RecalculationEvents } from './events.ts';
import { type HoursDeps, reviseHours } from './hours.ts';
import { type MeteringDeps, readMeters, settleMeters } from './metering.ts';
import { recalculate } from './recalculate.ts';
import { restate } from './restate.ts';
import type { ReviseDeps } from './revise.ts';
import { Sweep } from './sweep.ts';

export interface HandlersDeps
  extends ReviseDeps, Pick<MeteringDeps, 'askMeter' | 'newSalt' | 'settleMs'> {
  metering: MeteringDeps['store'];
  hours: HoursDeps['hours'];
  revisions: RevisionStore;
  restatements: RestatementStore;
  methodology: Methodology;
  catalogue: () => Catalogue;
  events: RecalculationEvents;
  addRecalculation: (receiptId: string) => Promise<void>;
  addRestatement: (orgId: string) => Promise<void>;
}

export interface RecalculationHandlers {
  recalculation: JobHandler<'recalculation'>;
  restatement: JobHandler<'restatement'>;
  sweep: JobHandler<'recalculation-sweep'>;
  gridHours: JobHandler<'grid-hours'>;
  meterReading: JobHandler<'meter-reading'>;
  meterSettlement: JobHandler<'meter-settlement'>;
  /** After another catalogue was loaded. */
  renew: () => Promise<void>;
}

/** The jobs of this role, each with its handler. */
export function recalculationHandlers(deps: HandlersDeps): RecalculationHandlers {
  const { revisions, methodology, catalogue } = deps;
  const basis = (): string => `${catalogue().digest}.${methodology.digest}`;
  const sweep = new Sweep({ ...deps, basis });
  const metering: MeteringDeps = { ...deps, store: deps.metering };
  return {
    recalculation: async ({ receiptId }) => {
      await recalculate({ ...deps, store: revisions, basis }, receiptId);
    },
    restatement: ({ orgId }, signal) => restate(deps, orgId, signal),
    sweep: (_payload, signal) => sweep.run(signal),
    gridHours: (_payload, signal) => reviseHours(deps, signal),
    meterReading: () => readMeters(metering),
    meterSettlement: (_payload, signal) => settleMeters(metering, signal),
    renew: () => sweep.renew(),
  };
}
