import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const TESTS = join(import.meta.dirname, '..');

/** What takes longer than about twenty seconds, the longest first. */
const LONGEST = [
  'faults/storm',
  'workers/exports/exports',
  'embedded/launcher/launcher',
  'browser/keys',
  'browser/verifier',
  'browser/hostile-text',
  'browser/sign-in',
  'browser/service',
  'browser/docs',
  'workers/ledger/ledger-crash',
  'workers/exports/export-crash',
  'faults/cluster-failover',
  'cli/accounts',
  'api/fuzz',
  'faults/graceful-stop',
  'faults/postgres-away',
  'faults/killed-process',
  'pipeline/idempotency',
  'pipeline/redis-cluster',
  'cli/docket',
  'pipeline/recalculation',
  'embedded/launcher/providers',
  'cli/exports',
  'packs/tampering',
  'pipeline/regions',
].map((name) => join(TESTS, `${name}.test.ts`));

/** Begins with the longest files of each group, so that none of them is alone at its end; then as Vitest would. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const renamed = LONGEST.filter((file) => !existsSync(file));
    if (renamed.length > 0)
      throw new Error(`no such tests, in longest-first.ts: ${renamed.join(', ')}`);
    // oxlint-disable-next-line unicorn/no-array-sort -- it is Vitest's, and returns another array
    const sorted = await super.sort(files);
    const groupOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.indexOf(moduleId);
      return place === -1 ? LONGEST.length : place;
    };
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b));
  }
}
