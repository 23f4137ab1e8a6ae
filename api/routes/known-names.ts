import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { isOpenTo } from '#shared/catalogue/routing.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { LedgerReader } from '#shared/ledger/postgres/reader.ts';

interface KnownNames {
  ledger: Pick<LedgerReader, 'hasSeen'>;
  index: () => RoutingIndex;
}

/**
 * A name that neither the catalogue nor any receipt of the organisation has would otherwise be taken for one that nothing was
 * asked of, after all that is listed had been looked through for it.
 * @throws Fault `invalid_model`, `invalid_region`, `invalid_key`
 */
export async function refuseUnknownNames(
  { ledger, index }: KnownNames,
  credential: Credential,
  names: { model?: string; region?: string; key?: string },
): Promise<void> {
  const { model, region, key } = names;
  const { orgId } = credential;
  const { models, regions } = index();
  const isOffered = (resource: Parameters<typeof isOpenTo>[0] | undefined): boolean =>
    resource !== undefined && isOpenTo(resource, credential);
  if (model !== undefined && !isOffered(models.get(model)?.model))
    if (!(await ledger.hasSeen(orgId, 'model', model))) throw new Fault('invalid_model');
  if (region !== undefined && !isOffered(regions.get(region)))
    if (!(await ledger.hasSeen(orgId, 'region', region))) throw new Fault('invalid_region');
  if (key !== undefined && !(await ledger.hasSeen(orgId, 'key', key)))
    throw invalidParam('key', 'There is no such key.');
}
