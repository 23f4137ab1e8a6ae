/**
 * libsodium, or null where its binding cannot be loaded: it comes compiled for glibc, macOS and Windows. What uses it does the same
 * with OpenSSL elsewhere, for more.
 */
export const libsodium = await import('sodium-native').then(
  ({ default: binding }) => binding,
  () => null,
);
