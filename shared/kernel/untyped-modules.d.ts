/** What is used of libsodium's binding, which has no types of its own. Buffers that are written come first. */
declare module 'sodium-native' {
  interface Sodium {
    /** `cipher` has 16 bytes more than `message`. */
    crypto_aead_chacha20poly1305_ietf_encrypt(
      cipher: Uint8Array,
      message: Uint8Array,
      additional: Uint8Array,
      unused: null,
      nonce: Uint8Array,
      key: Uint8Array,
    ): number;
    /** @throws Error when `cipher` is not what was sealed with all of that */
    crypto_aead_chacha20poly1305_ietf_decrypt(
      message: Uint8Array,
      unused: null,
      cipher: Uint8Array,
      additional: Uint8Array,
      nonce: Uint8Array,
      key: Uint8Array,
    ): number;
    /** 32, 64 and 32 bytes. */
    crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void;
    /** The signature has 64 bytes. */
    crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void;
  }
  const sodium: Sodium;
  export default sodium;
}
