import { invalidParam } from '#shared/kernel/errors.ts';
import { TAG_WRITTEN, tagOf } from '#shared/kernel/tags.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { UsageReader } from '#shared/receipts/postgres/usage.ts';

/** The tag that a filter asks for. @throws Fault `invalid_tag` */
export function tagIn(text: string): { key: string; value: string } {
  const tag = tagOf(text);
  if (tag === undefined) throw invalidParam('tag', `\`tag\` must be ${TAG_WRITTEN}.`);
  return tag;
}

/**
 * A key that is a mistake would otherwise be taken for one that no request had. One that is not declared any more is known by
 * what was counted by it.
 * @throws Fault `invalid_<param>`
 */
export async function refuseUnknownTag(
  { hasTag }: Pick<UsageReader, 'hasTag'>,
  { orgId, tags }: Pick<Credential, 'orgId' | 'tags'>,
  { key, param }: { key: string; param: string },
): Promise<void> {
  if (tags.includes(key) || (await hasTag(orgId, key))) return;
  throw invalidParam(
    param,
    tags.length === 0
      ? 'Your organisation has declared no tags. Owners and admins do so under Settings, in the dashboard.'
      : `\`${key}\` is not a tag of your organisation. It has ${tags.join(', ')}.`,
  );
}
