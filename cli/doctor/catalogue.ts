import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import { CatalogueError, describeProblem } from '#shared/catalogue/problem.ts';
import { NO_SANDBOX, readCatalogue } from '#cli/catalogue.ts';
import { linesOf, probeCatalogue } from '#cli/probe/probe-catalogue.ts';
import type { Probe } from '#cli/probe/probe.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';

export interface CatalogueExamination {
  /** Whether upstreams are asked. */
  upstreams: boolean;
  /** Where the sandbox of the running instance is. */
  sandboxUrl: string | undefined;
}

/** Looks at the catalogue, at the credentials it names, and at what its endpoints answer. */
export async function examineCatalogue(examination: CatalogueExamination): Promise<Finding[]> {
  const name = 'catalogue';
  let loaded: ReturnType<typeof readCatalogue>;
  try {
    loaded = readCatalogue(undefined, examination.sandboxUrl);
  } catch (error) {
    if (!(error instanceof CatalogueError)) throw error;
    return error.problems.map((found) =>
      problem(name, describeProblem(error.file, found), 'mend that line'),
    );
  }
  const { catalogue, file, warnings } = loaded;
  const { models, endpoints, regions } = catalogue;
  const detail = `${file}: ${models.length} models, ${endpoints.length} endpoints, ${regions.length} regions`;
  const unset = endpoints.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []);
  const credentials = unset.length === 0 ? [ok('upstream credentials', 'none are named')] : [];
  return [
    ok(name, detail),
    ...credentials,
    ...warnings.map((found) =>
      warning(name, describeProblem(file, found), 'mend the file, or set the variable it names'),
    ),
    ...(await examineUpstreams(catalogue, examination)),
  ];
}

async function examineUpstreams(
  catalogue: Catalogue,
  { upstreams, sandboxUrl }: CatalogueExamination,
): Promise<Finding[]> {
  if (!upstreams) return [skipped('upstreams', '--no-upstreams is given')];
  const asleep = catalogue.endpoints.filter(
    ({ baseUrl }) => sandboxUrl === undefined && baseUrl === NO_SANDBOX,
  );
  const only = catalogue.endpoints.filter((one) => !asleep.includes(one)).map(({ name }) => name);
  const probes = only.length === 0 ? [] : await probeCatalogue(catalogue, { only });
  return [
    ...asleep.map(({ name }) => skipped(`upstream ${name}`, 'the sandbox runs with docket up')),
    ...[...Map.groupBy(probes, ({ endpoint }) => endpoint)].flatMap(([endpoint, its]) =>
      findingsOf(endpoint, its),
    ),
  ];
}

function findingsOf(endpoint: string, probes: readonly Probe[]): Finding[] {
  const name = `upstream ${endpoint}`;
  const problems = linesOf(probes, 'problems');
  const warnings = linesOf(probes, 'warnings');
  const found = [
    ...problems.map((line) =>
      problem(name, line, 'mend the endpoint in the catalogue, or the server there'),
    ),
    ...warnings.map((line) => warning(name, line, 'docket catalogue check --probe shows more')),
  ];
  if (problems.length > 0) return found;
  const { address } = probes[0]!;
  const models = probes.length === 1 ? 'its model answers' : `its ${probes.length} models answer`;
  return [ok(name, `${address}: ${models}`), ...found];
}
