/**
 * The import rules of the house. Each has a name, and a comment that gives the reason.
 */

/** The subjects of shared/ in their order: each imports only those named before it. */
const SUBJECTS = [
  'kernel',
  'config',
  'lanes',
  'jobs',
  'accounts',
  'persons',
  'keys',
  'catalogue',
  'dialects',
  'screening',
  'methodology',
  'budgets',
  'webhooks',
  'ledger',
  'receipts',
  'requests',
  'metering',
  'lineage',
  'packs',
  'process',
];

/** Folders inside a subject that talk to the world: stores, the network, files, the machine's clock and randomness. */
const OUTSIDE = '(postgres|redis|http|sockets|files|system)';

/** Packages that are pure functions: shapes, text formats, ciphers, tables of tokenizers and transliterations. */
const PURE_PACKAGES =
  '^node_modules/(typebox|ajv|yaml|sodium-native|gpt-tokenizer|any-ascii|iso-3166)/';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment:
        'Files that import each other cannot be understood, tested or replaced one at a time.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-unresolvable',
      comment:
        'An import that leads nowhere fails when its process starts, not when it is written.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    ...SUBJECTS.slice(0, -1).map((subject, index) => ({
      name: `${subject}-imports-earlier-subjects`,
      comment: `The subjects of shared/ stand in one order (${SUBJECTS.join(', ')}); a change in one can only reach those after it.`,
      severity: 'error',
      from: { path: `^shared/${subject}/` },
      to: { path: `^shared/(${SUBJECTS.slice(index + 1).join('|')})/` },
    })),
    {
      name: 'subjects-are-listed',
      comment: 'A folder of shared/ without a place in the order would be under no rule.',
      severity: 'error',
      from: { path: '^shared/', pathNot: `^shared/(${SUBJECTS.join('|')})/` },
      to: {},
    },
    {
      name: 'subject-files-are-pure',
      comment:
        'Files directly in a subject are values in, values out: without packages, stores and clocks they can be tested with every input. node:crypto hashes, node:util decodes and node:buffer looks at bytes, which is pure.',
      severity: 'error',
      from: { path: '^shared/', pathNot: `^shared/(config|process)/|/${OUTSIDE}/` },
      to: {
        pathNot: [
          `^shared/(?!.*/${OUTSIDE}/)`,
          '^(buffer|crypto|util|zlib)$',
          PURE_PACKAGES,
          '^docs/catalogue[.]schema[.]json$',
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'shared-never-looks-up',
      comment: 'What everyone shares cannot depend on one of its users.',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: '^(api|workers|cli|client|embedded|dev|lab|migrations)/' },
    },
    {
      name: 'api-does-not-know-workers',
      comment: 'They are different processes and meet in shared/lanes and shared/jobs.',
      severity: 'error',
      from: { path: '^api/' },
      to: { path: '^workers/' },
    },
    {
      name: 'workers-do-not-know-api',
      comment: 'They are different processes and meet in shared/lanes and shared/jobs.',
      severity: 'error',
      from: { path: '^workers/' },
      to: { path: '^api/' },
    },
    {
      name: 'roles-do-not-know-roles',
      comment:
        'Each role is deployed and scaled alone. What all of them do is in workers/runtime, which knows none of them. workers/background runs several in one process and does nothing else.',
      severity: 'error',
      from: { path: '^workers/([^/]+)/', pathNot: '^workers/background/main[.]ts$' },
      to: { path: '^workers/', pathNot: ['^workers/$1/', '^workers/runtime/'] },
    },
    {
      name: 'only-composition-roots-choose-stores',
      comment:
        'Which store, mail server or signer is used is decided in one place per process; everything else is handed it. Type-only imports choose nothing.',
      severity: 'error',
      // A thread begins with a file of its own, as a process does with its main.ts.
      from: { path: '^(api|workers)/', pathNot: '(deps|-thread|/main)[.]ts$' },
      to: {
        path: `^shared/.+/${OUTSIDE}/`,
        // Lanes and jobs are how processes meet, and native providers are found by name: there is nothing to choose.
        pathNot:
          '^shared/(lanes|jobs)/(redis|sockets)/|^shared/catalogue/http/native-providers[.]ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'traces-are-loaded-on-demand',
      comment:
        'A process without a collector loads no package that makes or sends spans: one file imports them, and that file is imported when a collector is named.',
      severity: 'error',
      from: {
        path: '^(api|workers|shared|cli|embedded)/',
        pathNot: '^shared/process/traces/otlp[.]ts$',
      },
      to: {
        path: '^node_modules/@opentelemetry/|^shared/process/traces/otlp[.]ts$',
        dependencyTypesNot: ['type-only', 'dynamic-import'],
      },
    },
    {
      name: 'client-brings-nothing',
      comment:
        'docket/client runs in the programs of others, browsers too: it takes types of the product and nothing that runs.',
      severity: 'error',
      from: { path: '^client/' },
      to: { pathNot: '^client/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'config-stands-alone',
      comment: 'Settings are read before anything else exists.',
      severity: 'error',
      from: { path: '^shared/config/' },
      to: { path: '^(shared|node_modules)/', pathNot: '^shared/(config|kernel)/' },
    },
    {
      name: 'nothing-imports-entry-points',
      comment: 'Importing a main.ts starts a process.',
      severity: 'error',
      from: {},
      to: { path: '(^|/)main[.]ts$' },
    },
    {
      name: 'nothing-imports-test-or-lab',
      comment: 'Production code does not run on what was made for tests and measurements.',
      severity: 'error',
      from: { pathNot: '^(test|lab)/|^vitest[.]config[.]ts$' },
      to: { path: '^(test|lab)/' },
    },
    {
      name: 'lab-takes-only-support-of-test',
      comment:
        'Tests and lab start the same product with what is in test/support; a test itself can then change without changing what is measured.',
      severity: 'error',
      from: { path: '^lab/' },
      to: { path: '^test/', pathNot: '^test/support/' },
    },
    {
      name: 'test-support-does-not-know-lab',
      comment: 'Every test loads what is in test/support, and few test a part of the lab.',
      severity: 'error',
      from: { path: '^test/support/' },
      to: { path: '^lab/' },
    },
    {
      name: 'no-dev-dependencies-at-run-time',
      comment: 'They are not installed where the service runs.',
      severity: 'error',
      from: { path: '^(api|workers|shared|migrations|cli|client|embedded)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-undeclared-packages',
      comment:
        'A package that is there only because another brought it can vanish with the next update.',
      severity: 'error',
      from: { path: '^(api|workers|shared|migrations|cli|client|embedded|dev|lab|test)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'processes-do-not-start-servers',
      comment:
        'Starting database servers is for one machine and for tests; a deployed process connects.',
      severity: 'error',
      from: { path: '^(api|workers|shared|migrations)/' },
      to: { path: '^(embedded|dev)/' },
    },
    {
      name: 'product-does-not-know-dev',
      comment: 'dev/ checks and describes the repository; the product runs without it.',
      severity: 'error',
      from: { path: '^(api|workers|shared|migrations|cli|client|embedded)/' },
      to: { path: '^dev/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Imports of types are marked as such in the source; compiling each file to see which remain took four times as long.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
};
