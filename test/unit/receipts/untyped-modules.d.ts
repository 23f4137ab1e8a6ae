/** Libraries of the standards bodies' circle that ship without types; used to verify receipts without our code. */
declare module '@digitalbazaar/vc' {
  export function verifyCredential(options: {
    credential: object;
    suite: unknown;
    documentLoader: (url: string) => Promise<unknown>;
    now?: Date;
  }): Promise<{
    verified: boolean;
    error?: Error;
    results?: { verified: boolean; error?: Error }[];
  }>;
}
declare module '@digitalbazaar/data-integrity' {
  export const DataIntegrityProof: new (options: { cryptosuite: unknown }) => object;
}
declare module '@digitalbazaar/eddsa-jcs-2022-cryptosuite' {
  export function createVerifyCryptosuite(): unknown;
}
declare module 'jsonld' {
  const jsonld: {
    expand(document: object, options: object): Promise<Record<string, unknown>[]>;
    toRDF(document: object, options: object): Promise<unknown>;
  };
  export default jsonld;
}
