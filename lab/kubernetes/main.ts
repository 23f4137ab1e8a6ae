import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Compile } from 'typebox/schema';
import { parse, parseAllDocuments } from 'yaml';
import { readArguments } from '#lab/support/arguments.ts';
import { Cache, inUserCache, NotToBeHad } from '#lab/upstreams/cache.ts';
import { GoCache } from './go.ts';
import { breachesIn, type Manifest } from './policies.ts';
import { REFUSED, TAKEN } from './values.ts';

const run = promisify(execFile);
const CHART = join(import.meta.dirname, '../../ops/helm');
const HELM = 'v3.22.0';
const VALIDATE = 'kubernetes-validate==1.37.0';
/** The oldest that Kubernetes keeps up, one in between, and the newest that the package knows. */
const VERSIONS = ['1.35', '1.36', '1.37'];
/** Kinds that are no part of Kubernetes, with the module and the file of their definition. */
const FOREIGN: Readonly<Record<string, readonly [string, string]>> = {
  ScaledObject: [
    'github.com/kedacore/keda/v2@v2.21.0',
    'config/crd/bases/keda.sh_scaledobjects.yaml',
  ],
  PodMonitor: [
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
  ],
};

const USAGE = `npm run kubernetes -- [--cache DIRECTORY]

Looks at the chart in ops/helm: helm lint; its documents, drawn with few values and with all of them, by the schemas
of Kubernetes ${VERSIONS.join(', ')}, of KEDA and of the Prometheus operator; what no pod of it may do; and values that have to
be refused. No cluster is asked. Helm is built by Go once, and kubernetes-validate is fetched by pip; without them nothing
is tried, and that is said. Exit code 0: all is as it has to be, or nothing was tried; 1: something is not; 2: wrong arguments.

--cache    where programs are kept; default: docket/kubernetes in the user's cache directory
`;

const { values } = readArguments(USAGE, { options: { cache: { type: 'string' } } });
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const directory = values.cache ?? inUserCache('kubernetes');
try {
  const go = new GoCache(directory, say);
  const helm = await go.program('helm', `helm.sh/helm/v3/cmd/helm@${HELM}`);
  const cache = new Cache(directory, say);
  const python = await cache.python({ title: 'what validates', packages: [VALIDATE] });
  const faults = await lookAt({ helm, python, go });
  for (const fault of faults) say(`  FAULT ${fault}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} catch (error) {
  if (!(error instanceof NotToBeHad)) throw error;
  say(`skipped, nothing was tried: ${error.message}`);
}

interface Programs {
  helm: string;
  python: string;
  go: GoCache;
}

async function lookAt(programs: Programs): Promise<string[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'docket-kubernetes-'));
  const faults: string[] = [];
  try {
    for (const [what, given] of Object.entries(TAKEN)) {
      faults.push(...(await drawn(programs, scratch, what, given)));
    }
    for (const [what, given] of Object.entries(REFUSED)) {
      const file = join(scratch, 'refused.yaml');
      await writeFile(file, JSON.stringify(given));
      const refusal = await helmed(programs.helm, 'template', file).then(
        () => undefined,
        ({ stderr }: { stderr: string }) => stderr,
      );
      if (refusal === undefined) faults.push(`${what}: is taken`);
      else say(`  ${what}: refused`);
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return faults;
}

/** A chart is linted, drawn, and each of its documents looked at. */
async function drawn(
  { helm, python, go }: Programs,
  scratch: string,
  what: string,
  given: object,
): Promise<string[]> {
  const file = join(scratch, 'values.yaml');
  await writeFile(file, JSON.stringify(given));
  let text: string;
  try {
    await helmed(helm, 'lint', file);
    text = await helmed(helm, 'template', file);
  } catch (error) {
    const { stdout = '', stderr = String(error) } = error as { stdout?: string; stderr?: string };
    return [`${what}: ${stdout}${stderr}`];
  }
  const documents = parseAllDocuments(text).map((document) => document.toJSON() as Manifest);
  const manifests = documents.filter((document) => document !== null);
  const native = manifests.filter(({ kind }) => !(kind in FOREIGN));
  const output = join(scratch, 'native.yaml');
  // JSON, since programs differ in what they take for a word in YAML: `off` is none to some.
  await writeFile(output, native.map((one) => JSON.stringify(one)).join('\n---\n'));
  const faults = breachesIn(manifests);
  for (const version of VERSIONS) {
    const args = ['-m', 'kubernetes_validate', '-k', version, '--strict', output];
    await run(python, args).catch(({ stdout, stderr }: { stdout: string; stderr: string }) => {
      const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.startsWith('ERROR'));
      faults.push(`Kubernetes ${version}: ${lines.join('; ') || 'it could not be validated'}`);
    });
  }
  for (const manifest of manifests.filter(({ kind }) => kind in FOREIGN)) {
    faults.push(...(await foreign(go, manifest)));
  }
  if (faults.length === 0) {
    say(`  ${what}: ${manifests.length} documents as Kubernetes ${VERSIONS.join(', ')} takes them`);
  }
  return faults.map((fault) => `${what}: ${fault}`);
}

async function helmed(helm: string, command: 'lint' | 'template', file: string): Promise<string> {
  const args = command === 'lint' ? ['lint', CHART, '--strict'] : ['template', 'docket', CHART];
  const given = ['--values', file, '--kube-version', `${VERSIONS[0]}.0`];
  return (await run(helm, [...args, ...given])).stdout;
}

interface Definition {
  spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: object } } } }[] };
}

async function foreign(go: GoCache, { kind, spec }: Manifest): Promise<string[]> {
  const [module, path] = FOREIGN[kind]!;
  const definition = parse(
    await readFile(join(await go.folder(module), path), 'utf8'),
  ) as Definition;
  const { schema } = definition.spec.versions[0]!;
  const [isGood, errors] = Compile(strict(schema.openAPIV3Schema.properties.spec)).Errors(spec);
  return isGood
    ? []
    : errors.map(({ instancePath, message }) => `${kind}${instancePath} ${message}`);
}

/** The same schema, by which an object has the members alone that it names. */
function strict(schema: object): object {
  const members = Object.entries(schema).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'object' && value !== null && !Array.isArray(value) ? strict(value) : value,
  ]);
  const isClosed = 'properties' in schema && 'type' in schema;
  return { ...Object.fromEntries(members), ...(isClosed ? { additionalProperties: false } : {}) };
}
