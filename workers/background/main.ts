import { BACKGROUND_ROLES, type BackgroundRole } from '#shared/config/settings.ts';
import { isLoadedOnly } from '#shared/process/loaded-only.ts';
import { type BuildRole, runTogether } from '#shared/process/run-process.ts';
import { refuseToStart } from '#shared/process/start-refusal.ts';

/** What is not asked for is not loaded. */
const BUILDERS: Readonly<Record<BackgroundRole, () => Promise<BuildRole>>> = {
  ledger: async () => (await import('#workers/ledger/deps.ts')).ledgerProcess,
  recalculation: async () => (await import('#workers/recalculation/deps.ts')).recalculationProcess,
  exports: async () => (await import('#workers/exports/deps.ts')).exportsProcess,
  purge: async () => (await import('#workers/purge/deps.ts')).purgeProcess,
  housekeeping: async () => (await import('#workers/housekeeping/deps.ts')).housekeepingProcess,
};

/** Runs the roles that its arguments name in one process, with one login that may act as each of them. */
async function run(): Promise<void> {
  const roles = BACKGROUND_ROLES.filter((role) => process.argv.includes(role, 2));
  if (roles.length === 0 || roles.length !== process.argv.length - 2) {
    refuseToStart(
      `node workers/background/main.ts takes roles, each once: ${BACKGROUND_ROLES.join(' ')}`,
    );
  }
  await runTogether(
    await Promise.all(roles.map(async (role) => ({ role, build: await BUILDERS[role]() }))),
  );
}

if (!isLoadedOnly()) await run();
