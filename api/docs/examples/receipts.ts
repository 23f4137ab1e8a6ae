import derivation from './derivation.json' with { type: 'json' };
import receipt from './receipt.json' with { type: 'json' };

/** The derivation record that it names. */
export const DERIVATION_RECORD = derivation;

/** A real receipt: its signature can be checked against the key that docs/receipts.md names. */
export const RECEIPT = receipt;

export const RECEIPT_ID = 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC';

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

const LOG = 'gateway.example/log/org_01JD0A8N5K3M7Q2T9VXB4C6DEF';

/** A signed head of a log, as C2SP writes checkpoints. */
export const CHECKPOINT = `${LOG}
4
SBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I=

— ${LOG} glTDKQBz7CZtT7Stvz0QSqcU+fEQMv2KttiCn8QLUshvZIXXkozC69Rkbz/j83S+EdkFv0vidfqG84idgqn33F5B3TI=
`;

/** What was declared of a log whose database was put back to an older state. */
export const LOSS_NOTE = `${LOG}/loss
opens 2 after 1
published 1234 SBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I= in 1
kept 1200 ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=
declared 2026-11-20T09:38:07.412Z by operator:ada
the disk failed, and the standby lagged

— ${LOG}/loss glTDKQBz7CZtT7Stvz0QSqcU+fEQMv2KttiCn8QLUshvZIXXkozC69Rkbz/j83S+EdkFv0vidfqG84idgqn33F5B3TI=
`;

/** The way from a receipt to that checkpoint, as C2SP writes proofs. */
export const INCLUSION_PROOF = `c2sp.org/tlog-proof@v1
index 3
ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=
PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0=

${CHECKPOINT}`;
