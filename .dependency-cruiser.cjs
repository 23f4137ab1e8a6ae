/**
 * The import rules of the house. Each has a name, and a comment that gives the reason.
 * @type {import('dependency-cruiser').IConfiguration}
 */
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
    {
      name: 'domain-imports-domain',
      comment:
        'The domain is values in, values out: without packages, stores and clocks it can be tested with every input and read without knowing them. node:crypto hashes, which is pure.',
      severity: 'error',
      from: { path: '^shared/domain/' },
      to: { pathNot: ['^shared/domain/', '^crypto$'] },
    },
    {
      name: 'ports-import-domain',
      comment:
        'A port says what the domain needs in the words of the domain, never of a technology.',
      severity: 'error',
      from: { path: '^shared/ports/' },
      to: { pathNot: '^shared/(ports|domain)/' },
    },
    {
      name: 'adapters-know-domain-and-ports',
      comment:
        'An adapter serves a port; if it knew who uses it, that user could not be changed alone.',
      severity: 'error',
      from: { path: '^shared/adapters/([^/]+)/' },
      to: {
        path: '^(api|workers|shared|migrations|cli|dev|bench)/',
        pathNot: [
          '^shared/(domain|ports)/',
          '^shared/adapters/$1/',
          // Factor sets, contexts and catalogues: data that an adapter reads, no code.
          '^shared/(methodology|contexts|catalogue|policy)/.+[.](json|jsonld|yaml)$',
        ],
      },
    },
    {
      name: 'adapters-do-not-know-adapters',
      comment: 'One technology per folder: PostgreSQL must not break because Redis changed.',
      severity: 'error',
      from: { path: '^shared/adapters/([^/]+)/' },
      to: { path: '^shared/adapters/', pathNot: '^shared/adapters/$1/' },
    },
    {
      name: 'lanes-and-jobs-know-redis-alone',
      comment:
        'Lanes and jobs are how processes meet: they carry what the domain defines, over Redis, and know neither end.',
      severity: 'error',
      from: { path: '^shared/(lanes|jobs)/' },
      to: {
        path: '^(shared|migrations)/',
        pathNot: '^shared/(lanes|jobs|domain|ports|adapters/redis)/',
      },
    },
    {
      name: 'shared-never-looks-up',
      comment: 'What everyone shares cannot depend on one of its users.',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: '^(api|workers|cli|dev|bench|migrations)/' },
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
        'Each role is deployed and scaled alone. What all of them do is in workers/runtime, which knows none of them.',
      severity: 'error',
      from: { path: '^workers/([^/]+)/' },
      to: { path: '^workers/', pathNot: ['^workers/$1/', '^workers/runtime/'] },
    },
    {
      name: 'only-composition-roots-choose-adapters',
      comment:
        'Which store, mail server or signer is used is decided in one place per process; everything else gets a port. Type-only imports choose nothing.',
      severity: 'error',
      from: { path: '^(api|workers)/', pathNot: '/(deps|main)[.]ts$' },
      to: { path: '^shared/adapters/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'config-stands-alone',
      comment: 'Settings are read before anything else exists.',
      severity: 'error',
      from: { path: '^shared/config/' },
      to: { path: '^(shared|node_modules)/', pathNot: '^shared/config/' },
    },
    {
      name: 'nothing-imports-entry-points',
      comment: 'Importing a main.ts starts a process.',
      severity: 'error',
      from: {},
      to: { path: '(^|/)main[.]ts$' },
    },
    {
      name: 'nothing-imports-test',
      comment: 'Production code does not run on what was made for tests.',
      severity: 'error',
      from: { pathNot: '^(test|bench)/|^vitest[.]config[.]ts$' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'no-dev-dependencies-at-run-time',
      comment: 'They are not installed where the service runs.',
      severity: 'error',
      from: {
        path: '^(api|workers|shared|migrations|cli|dev)/',
        pathNot: '^dev/(check|schema-dump)[.]ts$',
      },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-undeclared-packages',
      comment:
        'A package that is there only because another brought it can vanish with the next update.',
      severity: 'error',
      from: { path: '^(api|workers|shared|migrations|cli|dev|test|bench)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'stores-in-dev-only',
      comment:
        'Starting database servers is for one machine and for tests; a deployed process connects.',
      severity: 'error',
      from: { path: '^(api|workers|shared|migrations)/' },
      to: { path: '^dev/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
};
