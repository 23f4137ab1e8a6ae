const UNRELEASED = '## [Unreleased]\n';

/**
 * A changelog whose unreleased part has become that of a version, with an empty one before it.
 * @throws Error when there is nothing unreleased, or the version is there already
 */
export function cutChangelog(text: string, version: string, day: string): string {
  const at = text.indexOf(UNRELEASED);
  const body = partOf(text, at);
  if (at < 0 || !/^- /m.test(body)) throw new Error('CHANGELOG.md has nothing under [Unreleased]');
  if (text.includes(`\n## [${version}]`)) throw new Error(`CHANGELOG.md has ${version} already`);
  // What was said of the release to come is over.
  const entries = body.slice(body.search(/^(###|- )/m));
  const rest = text.slice(at + UNRELEASED.length + body.length);
  return `${text.slice(0, at)}${UNRELEASED}\n## [${version}] - ${day}\n\n${entries}${rest}`;
}

/** What the changelog says of a version, for the message of its tag. */
export function notesOf(text: string, version: string): string {
  return partOf(text, text.indexOf(`## [${version}]`)).trim();
}

/** From after the heading at this place to the next of its rank. */
function partOf(text: string, at: number): string {
  const start = text.indexOf('\n', at) + 1;
  const next = text.indexOf('\n## ', start - 1);
  return text.slice(start, next < 0 ? undefined : next + 1);
}
