import receipt from './receipt.json' with { type: 'json' };

/** A real receipt: its signature can be checked against the key that docs/receipts.md names. */
export const RECEIPT = receipt;

const { measurement: _measurement, ...withoutEstimate } = receipt;

/** What an answer carries when the methodology failed and the inference did not. */
export const DEGRADED_RECEIPT = {
  ...withoutEstimate,
  credentialSubject: { ...receipt.credentialSubject, model: 'sandbox-unsized' },
  degradation: { code: 'model_size_unknown', requestedTier: receipt.tier, stage: 'model' },
  explanation:
    'The footprint could not be estimated because the size of the model is not known. The estimate is tried again, and a recalculated receipt then revises this one.',
  tier: 'degraded',
};
