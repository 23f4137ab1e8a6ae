import { PROVIDERS } from '#embedded/providers/table.ts';
import { BACKGROUND, type ProcessName } from '#embedded/stores/database-logins.ts';
import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { Environment } from '#shared/config/config.ts';
import { type BackgroundRole, SETTINGS } from '#shared/config/settings.ts';

/** Stands in the place of a credential, so that no process warns of one that is missing. */
const WITHHELD = 'withheld';
/** What the sandbox asks for; a catalogue may name it as the credential of an endpoint. */
const OF_SANDBOX = 'SANDBOX_API_KEY';
const OF_API_ALONE = [
  SETTINGS.sessionSecret,
  SETTINGS.sessionSecretOlder,
  SETTINGS.moderationApiKey,
];

export interface SecretsOptions {
  catalogue: Catalogue;
  /** The catalogue is a file of the caller's, which may name other credentials when it is read again. */
  mayChange: boolean;
  /** The roles that share a process. */
  background: readonly BackgroundRole[];
}

/** Names of variables with credentials that the catalogue names, or that a provider is known to have. */
interface Credentials {
  named: ReadonlySet<string>;
  ofUpstreams: ReadonlySet<string>;
  ofMeters: ReadonlySet<string>;
}

function credentialsIn({ endpoints }: Catalogue): Credentials {
  const named = new Set(endpoints.flatMap(({ apiKeyEnv }) => apiKeyEnv ?? []));
  const known = PROVIDERS.flatMap(({ keyVariable }) => keyVariable ?? []);
  return {
    named,
    ofUpstreams: new Set([...named, ...known]),
    ofMeters: new Set(endpoints.flatMap(({ meter }) => meter?.tokenEnv ?? [])),
  };
}

/** The process that runs a role where some roles share one. */
function processOf(role: BackgroundRole, background: readonly BackgroundRole[]): ProcessName {
  return background.includes(role) ? BACKGROUND : role;
}

/**
 * The environment of one process, without the secrets that it has no use for: credentials of upstreams are for inference
 * workers, those of meters for who reads them, what signs sessions and what asks for moderation for the api, what seals
 * secrets of webhooks for the api and for who delivers to them.
 */
export function withOwnSecrets(
  env: Environment,
  name: ProcessName,
  { catalogue, mayChange, background }: SecretsOptions,
): Environment {
  const { named, ofUpstreams, ofMeters } = credentialsIn(catalogue);
  const reader = processOf('recalculation', background);
  const own: Record<string, string | undefined> = { ...env };
  const take = (variable: string, instead?: string): void => {
    const isSet = [own[variable], own[`${variable}_FILE`]].some((text) => text !== undefined);
    own[variable] = isSet ? instead : undefined;
    own[`${variable}_FILE`] = undefined;
  };
  for (const variable of new Set([...ofUpstreams, ...ofMeters])) {
    const calls = name === 'inference' && ofUpstreams.has(variable);
    const reads = name === reader && ofMeters.has(variable);
    if (reads || (calls && (mayChange || named.has(variable)))) continue;
    // One that is not named is not missed; to an upstream no placeholder is sent.
    if (calls) take(variable);
    else take(variable, WITHHELD);
  }
  if (name !== 'api' && name !== 'inference' && name !== 'receipts')
    take(SETTINGS.otlpHeaders.name);
  if (name !== 'api') for (const one of OF_API_ALONE) take(one.name);
  if (name !== 'api' && name !== processOf('housekeeping', background))
    take(SETTINGS.webhooksSecret.name);
  return own;
}

/** The environment of what calls no store and no upstream: without the address of any, and without any credential. */
export function withoutSecrets(env: Environment, catalogue: Catalogue): Environment {
  const { ofUpstreams, ofMeters } = credentialsIn(catalogue);
  const settings = Object.values(SETTINGS).flatMap(({ name, secret }) => (secret ? [name] : []));
  const secrets = new Set([...settings, ...ofUpstreams, ...ofMeters]);
  secrets.delete(OF_SANDBOX);
  const isSecret = (name: string): boolean => secrets.has(name.replace(/_FILE$/, ''));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isSecret(name)));
}
