import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import type { Catalogue, Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Outbox } from '#shared/lanes/redis/outbox.ts';
import type { Waiter } from '#shared/lanes/redis/claims.ts';
import type { Provider } from './providers/provider.ts';
import type { StoredAnswerName } from '#shared/lanes/port-stored-answers.ts';
import type { Breakers } from './endpoints.ts';
import type { InferenceEvents } from './events.ts';

/** What a run needs of its process. */
export interface RunDeps {
  outbox: Outbox;
  client: RedisClient;
  breakers: Breakers;
  events: InferenceEvents;
  /** The catalogue as it is now. */
  catalogue: () => Catalogue;
  providerOf: (endpoint: Endpoint) => Provider;
  /** Counts tokens of a request's prompt and of the text it generated, where the upstream did not. */
  countUsage: (entry: InferenceEntry, body: string, generated: string) => Usage;
  freeClaim: (name: StoredAnswerName) => Promise<Waiter[]>;
  /** Epoch milliseconds. */
  now: () => number;
}
