import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';

export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

const READY_MS = 30_000;
export const REGION = 'us-east-1';
const KMS_KEY = 'docket';

/** The program; undefined where it is not installed. */
export async function findMinio(named: string | undefined): Promise<string | undefined> {
  const binary = named ?? 'minio';
  const answer = await promisify(execFile)(binary, ['--version']).catch(() => undefined);
  return answer?.stdout.startsWith('minio version') === true ? binary : undefined;
}

/** A MinIO with a key of KMS and, where an issuer is named, a role for those whom that issuer knows. */
export class Minio {
  readonly endpoint: string;
  readonly root: Credentials;
  readonly kmsKey = KMS_KEY;
  readonly #start: () => ChildProcess;
  #process!: ChildProcess;
  #output = '';

  static async start(options: {
    binary: string;
    directory: string;
    issuer: { url: string; clientId: string };
  }): Promise<Minio> {
    const minio = new Minio(options, await freePort());
    await minio.again();
    return minio;
  }

  private constructor(
    {
      binary,
      directory,
      issuer,
    }: { binary: string; directory: string; issuer: { url: string; clientId: string } },
    port: number,
  ) {
    this.endpoint = `http://127.0.0.1:${port}`;
    this.root = { accessKeyId: 'docket', secretAccessKey: randomBytes(16).toString('hex') };
    const env = {
      PATH: process.env['PATH'],
      HOME: directory,
      MINIO_ROOT_USER: this.root.accessKeyId,
      MINIO_ROOT_PASSWORD: this.root.secretAccessKey,
      // A folder that was begun with a key is started with that key ever after.
      MINIO_KMS_SECRET_KEY: `${KMS_KEY}:${randomBytes(32).toString('base64')}`,
      MINIO_IDENTITY_OPENID_CONFIG_URL: `${issuer.url}/.well-known/openid-configuration`,
      MINIO_IDENTITY_OPENID_CLIENT_ID: issuer.clientId,
      MINIO_IDENTITY_OPENID_CLIENT_SECRET: 'unused',
      MINIO_IDENTITY_OPENID_ROLE_POLICY: 'readwrite',
    };
    const args = ['server', directory, '--address', `127.0.0.1:${port}`, '--console-address'];
    this.#start = () => {
      const child = spawn(binary, [...args, '127.0.0.1:0'], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text: Buffer) => (this.#output += String(text)));
      return child;
    };
  }

  /** The role of those whom the issuer knows, as the server says at its start. */
  get roleArn(): string {
    return /arn:minio:iam:::role\/\S+/.exec(this.#output)?.[0] ?? '';
  }

  /** Starts it where it does not run, and resolves when it answers. */
  async again(): Promise<void> {
    this.#process = this.#start();
    const end = Date.now() + READY_MS;
    for (;;) {
      const answer = await fetch(`${this.endpoint}/minio/health/ready`).catch(() => undefined);
      if (answer?.ok === true) return;
      if (Date.now() > end || this.#process.exitCode !== null)
        throw new Error(`MinIO does not start: ${this.#output.slice(-1_000)}`);
      await delay(100);
    }
  }

  /** As a machine that is stopped: connections stay open, and nothing answers. */
  pause(): void {
    this.#process.kill('SIGSTOP');
  }

  goOn(): void {
    this.#process.kill('SIGCONT');
  }

  /** As a machine that is gone. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await gone;
  }

  /** Credentials of a session that is allowed no more than a policy says, by AssumeRole of its STS. */
  async assumeRole(policy: object, durationS = 900): Promise<Credentials> {
    const body = new URLSearchParams({
      Action: 'AssumeRole',
      Version: '2011-06-15',
      DurationSeconds: String(durationS),
      Policy: JSON.stringify({ Version: '2012-10-17', ...policy }),
    }).toString();
    const answer = await fetch(this.endpoint, {
      method: 'POST',
      headers: signed(this.root, { host: new URL(this.endpoint).host, body }),
      body,
    });
    const text = await answer.text();
    const field = (name: string): string =>
      new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? '';
    if (!answer.ok) throw new Error(`AssumeRole answered ${answer.status}: ${text.slice(0, 300)}`);
    return {
      accessKeyId: field('AccessKeyId'),
      secretAccessKey: field('SecretAccessKey'),
      sessionToken: field('SessionToken'),
    };
  }
}

/** AWS Signature Version 4 of a form that is sent to STS. */
function signed(
  { accessKeyId, secretAccessKey }: Credentials,
  { host, body }: { host: string; body: string },
): Record<string, string> {
  const now = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const day = now.slice(0, 8);
  const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
  const mac = (key: string | Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest();
  const type = 'application/x-www-form-urlencoded';
  const names = 'content-type;host;x-amz-date';
  const request = `POST\n/\n\ncontent-type:${type}\nhost:${host}\nx-amz-date:${now}\n\n${names}\n${hashOf(body)}`;
  const scope = `${day}/${REGION}/sts/aws4_request`;
  const key = [day, REGION, 'sts', 'aws4_request'].reduce<string | Buffer>(
    mac,
    `AWS4${secretAccessKey}`,
  );
  const signature = mac(key, `AWS4-HMAC-SHA256\n${now}\n${scope}\n${hashOf(request)}`).toString(
    'hex',
  );
  return {
    'content-type': type,
    'x-amz-date': now,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
