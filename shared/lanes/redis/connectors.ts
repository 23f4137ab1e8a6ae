import type { RedisOptions } from 'ioredis';
import { StandaloneConnector } from 'ioredis/built/connectors/index.js';

/** What a server says of itself to each new connection; one that hides it is believed. */
export type Info = Readonly<{ role?: string; run_id?: string }>;

export type Connector = NonNullable<RedisOptions['Connector']>;

/** Connects to the server of the options, and keeps the connection where what that says of itself is to be used. */
export function checkingConnector(mayUse: (info: Info) => boolean) {
  return class extends StandaloneConnector {
    // The client says of what it gives that it is unknown.
    constructor(options: unknown) {
      super(options as ConstructorParameters<typeof StandaloneConnector>[0]);
    }

    override check(info: Info): boolean {
      return mayUse(info);
    }
  };
}
