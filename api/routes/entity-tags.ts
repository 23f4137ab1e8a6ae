/** `If-None-Match`: a list of tags, weak ones too, or `*` (RFC 9110, 13.1.2). */
export function isHeld(header: string | undefined, etag: string): boolean {
  return (header ?? '')
    .split(',')
    .map((tag) => tag.trim())
    .some((tag) => tag === '*' || opaque(tag) === opaque(etag));
}

const opaque = (tag: string): string => tag.replace(/^W\//, '');
