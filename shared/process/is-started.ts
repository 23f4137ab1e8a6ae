/**
 * Whether a main file is what Node was started with: one that is only imported, to have it compiled, runs nothing. Node
 * before 24.2 does not say.
 * @param meta its `import.meta`
 */
export function isStarted(meta: { main?: boolean }): boolean {
  return meta.main !== false;
}
