/** The software that computes and signs, as receipts name it: name and version of this release. */
export const SOFTWARE = 'docket/0.1.0';
