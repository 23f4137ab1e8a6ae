import type { Command } from 'commander';
import { CatalogueError, describeProblem } from '#shared/catalogue/problem.ts';
import type { Catalogue, Footprint } from '#shared/catalogue/catalogue.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { readCatalogue } from '#cli/catalogue.ts';
import { printJson, printTable, type Row } from '#cli/print.ts';

/** `docket catalogue …`: what an operator asks before a catalogue is used. */
export function register(program: Command): void {
  const catalogue = program.command('catalogue').description('models, regions and endpoints');
  catalogue
    .command('check [file]')
    .description(
      'check a catalogue file; without one, that of CATALOGUE or the one that is shipped',
    )
    .option('--json', 'for programs')
    .addHelpText('after', '\nExit codes: 0 usable (warnings may be printed), 1 not usable.')
    .action(check);
}

function check(file: string | undefined, options: { json?: boolean }): void {
  try {
    const loaded = readCatalogue(file);
    if (options.json === true) {
      const { catalogue, warnings } = loaded;
      printJson({
        ok: true,
        file: loaded.file,
        digest: catalogue.digest,
        models: modelRows(catalogue),
        warnings,
      });
      return;
    }
    printTable(modelRows(loaded.catalogue), 'No models.');
    for (const warning of loaded.warnings) {
      process.stderr.write(`warning: ${describeProblem(loaded.file, warning)}\n`);
    }
  } catch (error) {
    if (!(error instanceof CatalogueError)) throw error;
    if (options.json === true) printJson({ ok: false, file: error.file, problems: error.problems });
    else process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

/** One row per model, as it would be offered. */
function modelRows(catalogue: Catalogue): Row[] {
  return [...indexCatalogue(catalogue).models.values()].map(({ model, regions }) => ({
    model: model.id,
    kinds: model.kinds.join(', '),
    context_window: model.contextWindow,
    regions: regions
      .map(
        ({ region, endpoints }) =>
          `${region.code}${region.status === 'normal' ? '' : ` (${region.status})`} ×${endpoints.length}`,
      )
      .join(', '),
    footprint: footprintText(model.footprint),
  }));
}

function footprintText({ ref, activeB, totalB }: Footprint): string {
  if (ref !== undefined) return ref;
  const active = activeB ?? totalB;
  const total = totalB ?? activeB;
  if (active === undefined) return 'no size: receipts are degraded';
  return active === total ? `${active} B` : `${active} of ${total} B`;
}
