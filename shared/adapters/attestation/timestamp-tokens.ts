import { hash } from 'node:crypto';
import { Integer, Null, OctetString } from 'asn1js';
import {
  AlgorithmIdentifier,
  MessageImprint,
  SignedData,
  TimeStampReq,
  TimeStampResp,
  TSTInfo,
} from 'pkijs';

const SHA256 = '2.16.840.1.101.3.4.2.1';
/** id-ct-TSTInfo: the kind of content that a timestamp signs. */
const TST_INFO = '1.2.840.113549.1.9.16.1.4';
/** RFC 3161, 2.4.2: granted, and granted with modifications. */
const GRANTED: readonly number[] = [0, 1];

/** DER of a request for a timestamp of these bytes, certificates included (RFC 3161, 2.4.1). `nonce` is a positive integer. */
export function encodeTimestampRequest(data: Uint8Array, nonce: Uint8Array): Uint8Array {
  const request = new TimeStampReq({
    version: 1,
    messageImprint: new MessageImprint({
      hashAlgorithm: new AlgorithmIdentifier({ algorithmId: SHA256, algorithmParams: new Null() }),
      hashedMessage: new OctetString({ valueHex: Uint8Array.from(sha256(data)) }),
    }),
    nonce: new Integer({ valueHex: Uint8Array.from(nonce) }),
    certReq: true,
  });
  return new Uint8Array(request.toSchema().toBER(false));
}

/**
 * Reads an answer from anyone: granted, about these bytes, for this request, and signed by the key of a
 * certificate in it. Whether that certificate is to be trusted is for whoever relies on the timestamp.
 * @returns epoch milliseconds of the authority's clock
 * @throws Error saying what does not fit
 */
export async function readTimestamp(
  response: Uint8Array,
  data: Uint8Array,
  nonce: Uint8Array,
): Promise<number> {
  const { signed, info } = parse(response);
  const { hashAlgorithm, hashedMessage } = info.messageImprint;
  if (
    hashAlgorithm.algorithmId !== SHA256 ||
    !sha256(data).equals(hashedMessage.valueBlock.valueHexView)
  ) {
    throw new Error('the timestamp is about something else');
  }
  if (info.nonce === undefined || !sameInteger(info.nonce.valueBlock.valueHexView, nonce)) {
    throw new Error('the timestamp answers another request');
  }
  const verified = await signed.verify({
    signer: 0,
    data: Uint8Array.from(data).buffer,
    checkChain: false,
  });
  if (!verified) throw new Error('the timestamp is not signed by the certificate in it');
  return info.genTime.getTime();
}

function parse(response: Uint8Array): { signed: SignedData; info: TSTInfo } {
  let parsed: TimeStampResp;
  try {
    parsed = TimeStampResp.fromBER(Uint8Array.from(response));
  } catch (cause) {
    throw new Error('the answer is not a timestamp response', { cause });
  }
  if (!GRANTED.includes(parsed.status.status) || parsed.timeStampToken === undefined) {
    throw new Error(`the authority refused (status ${parsed.status.status})`);
  }
  try {
    const signed = new SignedData({ schema: parsed.timeStampToken.content });
    const { eContent, eContentType } = signed.encapContentInfo;
    if (eContentType !== TST_INFO || eContent === undefined) throw new Error('no TSTInfo');
    return { signed, info: TSTInfo.fromBER(eContent.getValue()) };
  } catch (cause) {
    throw new Error('the answer holds no timestamp', { cause });
  }
}

function sha256(data: Uint8Array): Buffer {
  return hash('sha256', data, 'buffer');
}

/** Equal but for leading zeroes, which DER may add or take away. */
function sameInteger(a: Uint8Array, b: Uint8Array): boolean {
  const digits = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  return digits(a).replace(/^0+/, '') === digits(b).replace(/^0+/, '');
}
