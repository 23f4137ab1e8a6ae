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
import { type DerNode, readDer } from './der.ts';

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
 * certificate in it. Whether that certificate is to be trusted is for the one who relies on the timestamp.
 * @returns epoch milliseconds of the authority's clock
 * @throws Error saying what does not fit
 */
export async function readTimestamp(
  response: Uint8Array,
  data: Uint8Array,
  nonce: Uint8Array,
): Promise<number> {
  const { signed, info } = parse(response);
  if (info.nonce === undefined || !sameInteger(info.nonce.valueBlock.valueHexView, nonce)) {
    throw new Error('the timestamp answers another request');
  }
  return check(signed, info, data);
}

/**
 * Reads an answer that was read before and kept, all but its nonce. It must still say the same, and be as it was: DER
 * without a byte to spare, its certificate the one that the signature names (RFC 3161, 2.4.1; RFC 5816). Other
 * certificates beside that one are for the one who relies on the timestamp.
 * @returns epoch milliseconds of the authority's clock
 * @throws Error saying what does not fit
 */
export async function readKeptTimestamp(response: Uint8Array, data: Uint8Array): Promise<number> {
  let root: DerNode;
  try {
    root = readDer(response);
  } catch (cause) {
    throw new Error('the answer is not a timestamp response', { cause });
  }
  const { signed, info } = parse(response);
  const time = await check(signed, info, data);
  if (!isAsSigned(root)) throw new Error('what surrounds the signature was changed');
  if (!namesItsCertificate(root)) {
    throw new Error('the certificate is not the one that the signature names');
  }
  return time;
}

async function check(signed: SignedData, info: TSTInfo, data: Uint8Array): Promise<number> {
  const { hashAlgorithm, hashedMessage } = info.messageImprint;
  if (
    hashAlgorithm.algorithmId !== SHA256 ||
    !sha256(data).equals(hashedMessage.valueBlock.valueHexView)
  ) {
    throw new Error('the timestamp is about something else');
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

/**
 * The certificate by which a timestamp is signed, and the others in it; of a response that `readKeptTimestamp` has read.
 * @throws Error when it names none that is in it
 */
export function signerAndOthers(response: Uint8Array): {
  signer: Uint8Array;
  others: readonly Uint8Array[];
} {
  const { parts, signer: facts } = partsOf(readDer(response));
  const certificates = parts.find(({ tag }) => tag === 0xa0)?.children ?? [];
  const attributes = facts.find(({ tag }) => tag === 0xa0)?.children ?? [];
  const [named] = attributes.flatMap(namedCertificate);
  const isNamed = ({ bytes }: DerNode): boolean =>
    named !== undefined && hash(named.algorithm, bytes, 'buffer').equals(named.digest);
  const signer = certificates.find(isNamed);
  if (signer === undefined) throw new Error('the certificate is not in the timestamp');
  const others = certificates.filter((each) => each !== signer).map(({ bytes }) => bytes);
  return { signer: signer.bytes, others };
}

const SIGNED_DATA = '06092a864886f70d010702';
/** The attributes by which a signer names its certificate: by SHA-1, and by another hash, SHA-256 unless it says which. */
const SIGNING_CERTIFICATE = '060b2a864886f70d010910020c';
const SIGNING_CERTIFICATE_V2 = '060b2a864886f70d010910022f';
const HASHES: Readonly<Record<string, string>> = {
  '0609608648016503040201': 'sha256',
  '0609608648016503040202': 'sha384',
  '0609608648016503040203': 'sha512',
};

/** The SignedData in a response that `parse` has read, and its signer (RFC 5652, 5.1 and 5.3). */
function partsOf(response: DerNode): {
  type: DerNode | undefined;
  parts: readonly DerNode[];
  signer: readonly DerNode[];
} {
  const [type, explicit] = response.children[1]?.children ?? [];
  const parts = explicit?.children[0]?.children ?? [];
  return { type, parts, signer: parts.at(-1)?.children[0]?.children ?? [] };
}

/** What no signature covers and RFC 5652 leaves no choice about: the type, both versions, the set of digest algorithms. */
function isAsSigned(response: DerNode): boolean {
  const { type, parts, signer } = partsOf(response);
  const [version, algorithms] = parts;
  const [signerVersion, , algorithm] = signer;
  if (type === undefined || version === undefined || signerVersion === undefined) return false;
  return (
    hex(type) === SIGNED_DATA &&
    hex(version) === '020103' &&
    ['020101', '020103'].includes(hex(signerVersion)) &&
    algorithm !== undefined &&
    algorithms?.children.some((each) => hex(each) === hex(algorithm)) === true
  );
}

/** By issuer and serial number, where the signer is told so; and by hash, in what is signed. */
function namesItsCertificate(response: DerNode): boolean {
  const { parts, signer } = partsOf(response);
  const certificates = parts.find(({ tag }) => tag === 0xa0)?.children ?? [];
  const [, issuerAndSerial] = signer;
  if (issuerAndSerial?.tag === 0x30) {
    const wanted = issuerAndSerial.children.map(hex);
    const isSigner = ({ children: [body] }: DerNode): boolean => {
      const fields = body?.children.map(hex) ?? [];
      return wanted.every((each) => fields.includes(each));
    };
    if (!certificates.some(isSigner)) return false;
  }
  const attributes = signer.find(({ tag }) => tag === 0xa0)?.children ?? [];
  const named = attributes.flatMap(namedCertificate);
  return (
    named.length > 0 &&
    named.every(({ algorithm, digest }) =>
      certificates.some(({ bytes }) => hash(algorithm, bytes, 'buffer').equals(digest)),
    )
  );
}

/** The signer's certificate by an attribute: the first that it names. */
function namedCertificate(attribute: DerNode): { algorithm: string; digest: Uint8Array }[] {
  const [type, values] = attribute.children;
  const named = values?.children[0]?.children[0]?.children[0]?.children ?? [];
  const [first, second] = named;
  if (type === undefined || first === undefined) return [];
  if (hex(type) === SIGNING_CERTIFICATE) return [{ algorithm: 'sha1', digest: first.content }];
  if (hex(type) !== SIGNING_CERTIFICATE_V2) return [];
  const isStated = first.tag === 0x30 && second !== undefined;
  if (!isStated) return [{ algorithm: 'sha256', digest: first.content }];
  const algorithm = HASHES[hex(first.children[0] ?? first)];
  return algorithm === undefined ? [] : [{ algorithm, digest: second.content }];
}

function hex({ bytes }: DerNode): string {
  return Buffer.from(bytes).toString('hex');
}

function sha256(data: Uint8Array): Buffer {
  return hash('sha256', data, 'buffer');
}

/** Equal but for leading zeroes, which DER may add or take away. */
function sameInteger(a: Uint8Array, b: Uint8Array): boolean {
  const digits = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  return digits(a).replace(/^0+/, '') === digits(b).replace(/^0+/, '');
}
