import { execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { NotToBeHad } from '#lab/upstreams/cache.ts';

const run = promisify(execFile);

export const KEYCLOAK_VERSION = '26.7.3';
/** The oldest that this Keycloak runs on. */
const JAVA_MIN = 17;
/** It builds itself first, which takes minutes on a machine that is busy. */
const READY_MS = 600_000;
const LOOK_MS = 250;
const LOG_CHARS = 2_000;
const REALM = 'docket';

/** A person whom the realm knows. Without a password they cannot sign in. */
export interface KeycloakUser {
  username: string;
  email: string;
  emailVerified: boolean;
  firstName: string;
  lastName: string;
}

export interface RealmOptions {
  client: { id: string; secret: string; redirectUri: string; afterSignOut: string };
  users: readonly KeycloakUser[];
  password: string;
}

/**
 * The folder of Keycloak as it was unpacked, which Maven fetches when it is not there.
 * @throws NotToBeHad without Java, without Maven, or when Maven cannot get it
 */
export async function installKeycloak(cache: string, say: (line: string) => void): Promise<string> {
  await demandJava();
  const folder = join(cache, `keycloak-${KEYCLOAK_VERSION}`);
  if (existsSync(folder)) return folder;
  await demandCommand('mvn', 'there is no Maven (mvn)');
  say(`installing Keycloak ${KEYCLOAK_VERSION} with Maven into ${cache}`);
  await mkdir(cache, { recursive: true });
  const repository = join(cache, 'maven');
  const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}:tar.gz`;
  try {
    const flags = ['-q', '-B', `-Dmaven.repo.local=${repository}`, '-Dtransitive=false'];
    await run('mvn', [...flags, 'dependency:get', `-Dartifact=${artifact}`]);
  } catch (error) {
    const { stdout = '' } = error as { stdout?: string };
    const why = stdout.split('\n').find((line) => line.includes('ERROR')) ?? String(error);
    throw new NotToBeHad(`Maven could not get ${artifact}: ${why}`);
  }
  const archive = `keycloak-quarkus-dist-${KEYCLOAK_VERSION}.tar.gz`;
  const path = join(repository, 'org/keycloak/keycloak-quarkus-dist', KEYCLOAK_VERSION, archive);
  const unpacked = `${folder}.new`;
  await rm(unpacked, { recursive: true, force: true });
  await mkdir(unpacked);
  await run('tar', ['xzf', path, '-C', unpacked, '--strip-components=1']);
  await rename(unpacked, folder);
  return folder;
}

async function demandCommand(command: string, missing: string): Promise<string> {
  try {
    const { stdout, stderr } = await run(command, ['-version']);
    return stdout + stderr;
  } catch {
    throw new NotToBeHad(missing);
  }
}

async function demandJava(): Promise<void> {
  const said = await demandCommand('java', 'there is no Java');
  const version = Number(/version "(\d+)/.exec(said)?.[1]);
  if (!(version >= JAVA_MIN)) {
    throw new NotToBeHad(`Java ${version} is older than ${JAVA_MIN}`);
  }
}

/** A Keycloak with one realm, on data of its own. */
export class Keycloak {
  readonly issuer: string;
  readonly #process: ReturnType<typeof spawn>;
  readonly #log: string;

  /** @param scratch a folder for its data and its log */
  static async start(
    installed: string,
    scratch: string,
    port: number,
    realm: RealmOptions,
  ): Promise<Keycloak> {
    const home = join(scratch, 'keycloak');
    // It writes beside its programs, and what is in the cache stays as it was unpacked.
    await cp(installed, home, { recursive: true });
    await mkdir(join(home, 'data/import'), { recursive: true });
    await writeFile(join(home, 'data/import/realm.json'), JSON.stringify(realmOf(realm)));
    const keycloak = new Keycloak(home, join(scratch, 'keycloak.log'), port);
    await keycloak.#untilReady();
    return keycloak;
  }

  private constructor(home: string, log: string, port: number) {
    this.issuer = `http://127.0.0.1:${port}/realms/${REALM}`;
    this.#log = log;
    const output = openSync(log, 'a');
    const args = ['start-dev', '--http-host=127.0.0.1', `--http-port=${port}`, '--import-realm'];
    this.#process = spawn(join(home, 'bin/kc.sh'), args, {
      cwd: home,
      // Nothing of the caller's environment but what finds Java.
      env: {
        PATH: readEnvironment()['PATH'],
        JAVA_HOME: readEnvironment()['JAVA_HOME'],
        HOME: home,
        JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
        KC_HTTP_MANAGEMENT_PORT: '0',
        KC_HEALTH_ENABLED: 'false',
      },
      stdio: ['ignore', output, output],
      detached: true,
    });
    closeSync(output);
  }

  async #untilReady(): Promise<void> {
    const end = Date.now() + READY_MS;
    while (!(await this.#answers())) {
      if (this.#process.exitCode !== null || Date.now() > end) {
        await this.stop();
        throw new Error(`Keycloak did not come up:\n${this.#tail()}`);
      }
      await delay(LOOK_MS);
    }
  }

  #tail(): string {
    return readFileSync(this.#log, 'utf8').slice(-LOG_CHARS);
  }

  async #answers(): Promise<boolean> {
    try {
      return (await fetch(`${this.issuer}/.well-known/openid-configuration`)).ok;
    } catch {
      return false;
    }
  }

  /** Ends it as a machine that fails does: its script, and Java below it. */
  async stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.once('exit', () => resolve());
    process.kill(-this.#process.pid!, 'SIGKILL');
    await promise;
  }
}

/** As Keycloak imports it: one confidential client of the code flow, with PKCE, and users who have a password. */
function realmOf({ client, users, password }: RealmOptions): object {
  return {
    realm: REALM,
    enabled: true,
    sslRequired: 'none',
    clients: [
      {
        clientId: client.id,
        secret: client.secret,
        enabled: true,
        publicClient: false,
        standardFlowEnabled: true,
        redirectUris: [client.redirectUri],
        attributes: {
          'pkce.code.challenge.method': 'S256',
          'post.logout.redirect.uris': client.afterSignOut,
        },
      },
    ],
    users: users.map((user) => ({
      ...user,
      enabled: true,
      credentials: [{ type: 'password', value: password, temporary: false }],
    })),
  };
}
