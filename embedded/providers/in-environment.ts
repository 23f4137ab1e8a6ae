import { oddBaseUrl } from '#shared/catalogue/base-url.ts';
import { PROVIDERS, type ProviderRow } from './table.ts';

/** A provider that can be asked, or why one that was meant cannot. */
export type FoundProvider = { row: ProviderRow } & (
  | { baseUrl: string; keyVariable: string | undefined; note?: string }
  | { problem: string }
);

/** Looks up a variable of the environment. */
type Variable = (name: string) => string | undefined;

/**
 * The providers that the environment names, in the order of the table. Where a name of an address lacks its version, as
 * other programs take it, that is added.
 */
export function providersIn(variable: Variable): FoundProvider[] {
  return PROVIDERS.flatMap((row) => providerIn(row, variable) ?? []);
}

/** Those that may listen on this machine at their own port, without a word of it in the environment. */
export function localProviders(variable: Variable): FoundProvider[] {
  return PROVIDERS.flatMap((row) =>
    row.localUrl === undefined || providerIn(row, variable) !== undefined
      ? []
      : [{ row, baseUrl: row.localUrl, keyVariable: undefined }],
  );
}

function providerIn(row: ProviderRow, variable: Variable): FoundProvider | undefined {
  const isSet = (name: string | undefined): name is string =>
    name !== undefined && variable(name) !== undefined;
  const keyVariable = isSet(row.keyVariable) ? row.keyVariable : undefined;
  if (!isSet(row.baseVariable)) {
    if (keyVariable === undefined) return undefined;
    if (row.baseUrl !== undefined) return { row, baseUrl: row.baseUrl, keyVariable };
    return { row, problem: `${keyVariable} is set, and ${row.baseVariable} is not` };
  }
  // Without its documented address it is an account's, and no caller gets in without a key.
  if (keyVariable === undefined && row.keyVariable !== undefined && row.baseUrl === undefined)
    return { row, problem: `${row.baseVariable} is set, and ${row.keyVariable} is not` };
  return { row, keyVariable, ...addressIn(row.baseVariable, variable(row.baseVariable)!, row) };
}

/** The text is not repeated where it is refused: it may hold a credential. */
function addressIn(
  name: string,
  text: string,
  { basePath }: ProviderRow,
): { baseUrl: string; note?: string } | { problem: string } {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return { problem: `${name} must be an http or https url` };
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return { problem: `${name} must be without a credential, a query and a fragment` };
  const given = url.href.replace(/\/+$/, '');
  const odd = oddBaseUrl(given);
  if (odd === undefined) return { baseUrl: given };
  if (!odd.includes('/v1')) return { problem: `${name}: ${odd}` };
  return { baseUrl: `${given}${basePath}`, note: `${name} has no version: ${basePath} is added` };
}
