import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import type { JobHandlers } from '#shared/jobs/redis/job-runner.ts';
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

/** The jobs of this role, each with its handler, and what is due after another catalogue was loaded. */
export function recalculationHandlers(deps: HandlersDeps): {
  handlers: JobHandlers<'recalculation'>;
  renew: () => Promise<void>;
} {
  const { revisions, methodology, catalogue } = deps;
  const basis = (): string => `${catalogue().digest}.${methodology.digest}`;
  const sweep = new Sweep({ ...deps, basis });
  const metering: MeteringDeps = { ...deps, store: deps.metering };
  const handlers: JobHandlers<'recalculation'> = {
    recalculation: async ({ receiptId }) => {
      await recalculate({ ...deps, store: revisions, basis }, receiptId);
    },
    restatement: ({ orgId }, signal) => restate(deps, orgId, signal),
    'recalculation-sweep': (_payload, signal) => sweep.run(signal),
    'grid-hours': (_payload, signal) => reviseHours(deps, signal),
    'meter-reading': () => readMeters(metering),
    'meter-settlement': (_payload, signal) => settleMeters(metering, signal),
  };
  return { handlers, renew: () => sweep.renew() };
}
