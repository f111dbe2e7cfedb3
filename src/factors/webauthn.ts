/**
 * Verifies what browsers send for a passkey (WebAuthn Level 3, 7.1 and 7.2). The library leaves three checks to its caller: pages must
 * not be framed, attestation certificates are refused (the library would call the hosts that they name), and the counter must increase,
 * which is checked where it is stored.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { RelyingParty } from '../config/factors.ts';

/** Length of the form field, in characters. */
const maxAssertion = 16 * 1024;

const encoded = z.base64url().min(1);

/** Members that assertions and attestations have in common. */
const credential = { id: encoded, rawId: encoded, type: z.literal('public-key') };

const assertionSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: encoded,
    authenticatorData: encoded,
    signature: encoded,
    userHandle: z.base64url().exactOptional(),
  }),
});
export type Assertion = z.output<typeof assertionSchema>;

const transport = z.enum(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);

const attestationSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: encoded,
    attestationObject: encoded,
    transports: z
      .array(z.string().max(32))
      .max(16)
      .catch([])
      .transform((named) => named.filter((name) => transport.safeParse(name).success)),
  }),
  clientExtensionResults: z
    .object({ credProps: z.object({ rk: z.boolean() }).partial() })
    .partial()
    .catch({}),
});
type Attestation = z.output<typeof attestationSchema>;

/** Client data of our own pages, which are never framed. */
const clientData = z.object({ crossOrigin: z.literal(false).optional(), topOrigin: z.undefined().optional() });

/** EdDSA, ES256 (RFC 9053) and RS256 (RFC 8812), which authenticators support. */
export const algorithms = [-8, -7, -257];

function parsed<T>(schema: z.ZodType<T>, field: string): T | undefined {
  if (field.length > maxAssertion) return undefined;
  try {
    return schema.safeParse(JSON.parse(field)).data;
  } catch {
    return undefined;
  }
}

export const readAssertion = (field: string): Assertion | undefined => parsed(assertionSchema, field);
export const readAttestation = (field: string): Attestation | undefined => parsed(attestationSchema, field);

const isOfOwnPage = ({ response }: Assertion | Attestation): boolean =>
  parsed(clientData, Buffer.from(response.clientDataJSON, 'base64url').toString()) !== undefined;

/** Expectations that assertions and attestations have in common. */
interface Expected {
  challenge: string;
  relyingParty: RelyingParty;
  log: Logger;
}

interface ExpectedAssertion extends Expected {
  /** COSE, base64url. */
  publicKey: string;
  /** Requires that the authenticator verified the user by fingerprint, face or PIN. */
  isUserVerified: boolean;
}

export interface VerifiedAssertion {
  readonly signCount: number;
  readonly isBackupEligible: boolean;
}

/** Verifies an assertion. Returns undefined if a check fails; only the log says which one. */
export async function verifyAssertion(
  assertion: Assertion,
  { challenge, relyingParty, log, publicKey, isUserVerified }: ExpectedAssertion,
): Promise<VerifiedAssertion | undefined> {
  if (!isOfOwnPage(assertion)) return undefined;
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...assertion, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origin,
      expectedRPID: relyingParty.id,
      requireUserVerification: isUserVerified,
      credential: { id: assertion.id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: 0 },
    });
    if (!verified) return undefined;
    return { signCount: authenticationInfo.newCounter, isBackupEligible: authenticationInfo.credentialDeviceType === 'multiDevice' };
  } catch (error) {
    log.debug({ err: error }, 'passkey refused');
    return undefined;
  }
}

export interface VerifiedAttestation {
  /** Credential id that the authenticator signed, base64url. */
  readonly credentialID: string;
  /** COSE, base64url. */
  readonly publicKey: string;
  readonly signCount: number;
  readonly aaguid: string;
  readonly isBackupEligible: boolean;
}

/** Verifies an attestation. Returns undefined if a check fails; only the log says which one. */
export async function verifyAttestation(
  attestation: Attestation,
  { challenge, relyingParty, log }: Expected,
): Promise<VerifiedAttestation | undefined> {
  if (!isOfOwnPage(attestation)) return undefined;
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  try {
    const object = decodeAttestationObject(new Uint8Array(Buffer.from(attestation.response.attestationObject, 'base64url')));
    const isOwn = object.get('fmt') === 'packed' && object.get('attStmt').get('x5c') === undefined;
    if (object.get('fmt') !== 'none' && !isOwn) return undefined;
    const { id, rawId, type, response } = attestation;
    const { clientDataJSON, attestationObject } = response;
    const { registrationInfo } = await verifyRegistrationResponse({
      response: { id, rawId, type, response: { clientDataJSON, attestationObject }, clientExtensionResults: {} },
      expectedChallenge: challenge,
      expectedOrigin: relyingParty.origin,
      expectedRPID: relyingParty.id,
      requireUserVerification: false,
      supportedAlgorithmIDs: algorithms,
    });
    if (registrationInfo === undefined) return undefined;
    const { credential: made, aaguid, credentialDeviceType } = registrationInfo;
    return {
      credentialID: made.id,
      publicKey: Buffer.from(made.publicKey).toString('base64url'),
      signCount: made.counter,
      aaguid,
      isBackupEligible: credentialDeviceType === 'multiDevice',
    };
  } catch (error) {
    log.debug({ err: error }, 'setup of a passkey failed');
    return undefined;
  }
}
