/** Makes PKCS #10 certificate requests (RFC 2986), and verifies requests of callers. */
import 'reflect-metadata';
import { createPublicKey, webcrypto } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import * as x509 from '@peculiar/x509';

/** Bounds the elements of DER (X.690) before a parser reads it. */

/** Constructed types hold other elements. A bit string or an octet string may hold elements too, each of two bytes at least. */
const isConstructed = (tag: number) => (tag & 0x20) !== 0;
const isString = (tag: number) => tag === 0x03 || tag === 0x04;

/** Returns an upper bound of the elements, in one pass; undefined if the bytes are not DER. */
function elementsOf(der: Uint8Array): number | undefined {
  let count = 0;
  for (let at = 0; at < der.length; ) {
    const tag = der[at] ?? 0;
    const first = der[at + 1] ?? 0x80;
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    // Certificate requests have no tag of several bytes, no indefinite length and no length of more than four bytes.
    if ((tag & 0x1f) === 0x1f || first === 0x80 || lengthBytes > 4) return undefined;
    let length = first < 0x80 ? first : 0;
    for (let index = 0; index < lengthBytes; index += 1) length = length * 256 + (der[at + 2 + index] ?? 0);
    const content = at + 2 + lengthBytes;
    if (content + length > der.length) return undefined;
    count += isString(tag) ? 1 + length / 2 : 1;
    at = isConstructed(tag) ? content : content + length;
  }
  return count;
}

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const leastRsaBits = 2048;
const leastRsaExponent = 65_537n;
const curves = ['prime256v1', 'secp384r1', 'secp521r1'];
const weakHash = /^(MD5|SHA-?1)$/i;
const extensionRequest = '1.2.840.113549.1.9.14';
const { digitalSignature, nonRepudiation, keyEncipherment, keyAgreement } = x509.KeyUsageFlags;
const harmlessUsages = digitalSignature | nonRepudiation | keyEncipherment | keyAgreement;

/** User name and groups in a certificate. */
export interface Subject {
  commonName: string;
  organizations: readonly string[];
}

/** Makes a request with a new P-256 key. Both are PEM; the key is PKCS #8 and is not stored. */
export async function makeRequest({ commonName, organizations }: Subject): Promise<{ request: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const request = await x509.Pkcs10CertificateRequestGenerator.create(
    {
      // The library takes a name of this form verbatim; it would parse a string, which could name another user.
      name: new x509.Name([{ CN: [{ utf8String: commonName }] }, ...organizations.map((name) => ({ O: [{ utf8String: name }] }))]),
      keys,
      signingAlgorithm: algorithm,
    },
    webcrypto,
  );
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { request: request.toString('pem'), key };
}

/** Subject of a caller's request, or the problem that makes the request unusable. */
export type Judged = { problem: string } | { request: string; subject: Subject };

/** Room for 512 organizations of four elements, and an RSA key of 8,192 bits. The parser takes 20 ms for twice as many elements. */
const maxElements = 3500;

/** @param text base64 of one PEM block */
export async function checkRequest(text: string): Promise<Judged> {
  const compact = text.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) return { problem: 'must be base64 of a PEM block' };
  const pem = Buffer.from(compact, 'base64').toString('latin1');
  const blocks = pem.match(/-----BEGIN [^-]+-----/g) ?? [];
  if (blocks.length !== 1 || blocks[0] !== '-----BEGIN CERTIFICATE REQUEST-----')
    return { problem: 'must be base64 of exactly one PEM block of type CERTIFICATE REQUEST' };
  try {
    const der = Buffer.from(x509.PemConverter.decodeFirst(pem));
    if ((elementsOf(der) ?? Number.POSITIVE_INFINITY) > maxElements)
      return { problem: 'is not a certificate request (PKCS #10), or names more than 512 organizations' };
    const request = new x509.Pkcs10CertificateRequest(der);
    const problem = keyProblem(request) ?? extensionProblem(request) ?? (await signatureProblem(request));
    if (problem !== undefined) return { problem };
    const subject = await subjectOf(request.subjectName);
    return 'problem' in subject ? subject : { request: request.toString('pem'), subject };
  } catch {
    // The parser's message is about bytes, and does not help the caller.
    return { problem: 'is not a certificate request (PKCS #10)' };
  }
}

async function signatureProblem(request: x509.Pkcs10CertificateRequest): Promise<string | undefined> {
  const { hash } = request.signatureAlgorithm;
  // Ed25519 has no separate hash.
  if (weakHash.test(hash?.name ?? '')) return 'is signed with a hash that is broken';
  return (await request.verify(webcrypto)) ? undefined : 'is not signed with its own key';
}

function keyProblem(request: x509.Pkcs10CertificateRequest): string | undefined {
  const key = createPublicKey({ key: Buffer.from(request.publicKey.rawData), format: 'der', type: 'spki' });
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  if (type === 'ed25519') return undefined;
  if (type === 'ec')
    return curves.includes(details.namedCurve ?? '') ? undefined : 'has a key on another curve than P-256, P-384 and P-521';
  if (type !== 'rsa') return 'must have an RSA, P-256, P-384, P-521 or Ed25519 key';
  const { modulusLength = 0, publicExponent = 0n } = details;
  return modulusLength >= leastRsaBits && publicExponent >= leastRsaExponent
    ? undefined
    : 'has a weak RSA key: it takes 2048 bits and the exponent 65537, or more';
}

/** Refuses requests for more than client authentication. */
function extensionProblem({ attributes, extensions }: x509.Pkcs10CertificateRequest): string | undefined {
  // The library reads the first list of extensions only, but the signer would sign all of them.
  if (attributes.length > 1 || attributes.some(({ type }) => type !== extensionRequest))
    return 'must have no attributes but one of extensions';
  return extensions.every(isHarmless)
    ? undefined
    : 'must ask for nothing but client authentication: no alternative names, no certificate authority';
}

function isHarmless(extension: x509.Extension): boolean {
  if (extension instanceof x509.BasicConstraintsExtension) return !extension.ca;
  if (extension instanceof x509.KeyUsagesExtension) return (extension.usages & ~harmlessUsages) === 0;
  if (extension instanceof x509.ExtendedKeyUsageExtension)
    return extension.usages.every((usage) => usage === x509.ExtendedKeyUsage.clientAuth);
  return extension instanceof x509.SubjectKeyIdentifierExtension;
}

async function subjectOf(name: x509.Name): Promise<Subject | { problem: string }> {
  if (!(await isPlain(name))) return { problem: 'must name nothing but CN and O, as UTF8String or PrintableString' };
  const names = name.getField('CN');
  const [commonName] = names;
  if (commonName === undefined || names.length !== 1) return { problem: 'must name one CN' };
  return { commonName, organizations: name.getField('O') };
}

/** Reports whether all parsers read the same names. Some parsers read other string types as other characters. */
async function isPlain(name: x509.Name): Promise<boolean> {
  const parts = name.toJSON().map(Object.entries<string[]>);
  if (parts.flat().some(([type]) => type !== 'CN' && type !== 'O')) return false;
  const given = Buffer.from(name.toArrayBuffer());
  const utf8 = (text: string): x509.JsonAttributeObject => ({ utf8String: text });
  const shortest = (text: string) => (x509.Name.isPrintableString(text) ? { printableString: text } : utf8(text));
  for (const encode of [utf8, shortest]) {
    // 512 names take 10 ms.
    await yieldToEventLoop();
    const again = parts.map((part) => Object.fromEntries(part.map(([type, texts]) => [type, texts.map(encode)])));
    if (Buffer.from(new x509.Name(again).toArrayBuffer()).equals(given)) return true;
  }
  return false;
}

/** Reads a certificate (PEM). The serial number is hexadecimal. */
export function readCertificate(pem: string): { subject: Subject; serialNumber: string; notBefore: Date; notAfter: Date } {
  const { subjectName, serialNumber, notBefore, notAfter } = new x509.X509Certificate(pem);
  const subject = { commonName: subjectName.getField('CN').at(-1) ?? '', organizations: subjectName.getField('O') };
  return { subject, serialNumber, notBefore, notAfter };
}
