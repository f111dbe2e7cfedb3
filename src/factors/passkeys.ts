import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { z } from 'zod';
import type { AuditOrigin } from '../audit/audit.ts';
import { type RelyingParty, relyingPartyOf } from '../config/factors.ts';
import type { Services } from '../services.ts';
import type { Notices } from '../users/logins/notices.ts';
import { type Factor, type FactorOwner, type FactorStore, passkeyName } from './store.ts';
import {
  type Assertion,
  algorithms,
  readAssertion,
  readAttestation,
  type VerifiedAssertion,
  verifyAssertion,
  verifyAttestation,
} from './webauthn.ts';

const maxPasskeys = 10;

/** Retries on conflict with concurrent uses of a passkey: a single user does not cause more. */
const maxAttempts = 5;

const content = z.object({ credentialID: z.string(), publicKey: z.string() });

/** Issued challenge and its expiry. */
export interface Challenge {
  readonly text: string;
  readonly expiresAt: Date;
}

/** Response of a browser for a passkey, as submitted in the form. */
export interface PasskeyProof {
  readonly assertion: string;
  readonly challenge: Challenge;
}

/** Registered passkey and its response, which is not verified yet. */
export interface UsedPasskey {
  readonly factor: Factor;
  readonly assertion: Assertion;
  readonly challenge: Challenge;
}

/** Requirements of a login by passkey alone, beyond those of a second factor. */
interface Strictness {
  /** Requires user verification (fingerprint, face or PIN) and a user handle from the passkey. */
  isAlone: boolean;
}

export type SetUp = 'added' | 'refused' | 'known' | 'tooMany' | 'overtaken';

interface PasskeysNeeds {
  store: FactorStore;
  notices: Pick<Notices, 'add'>;
  /** Reports whether this is the first use of a challenge on any replica. @throws StatusError 503, 504 */
  useOnce(text: string, expiresAt: Date, signal: AbortSignal): Promise<boolean>;
}

/** Never aborts: each call has its own timeout, and a client that disconnects must not leave a passkey half recorded. */
const signal = neverAborts;

/** Sets up and verifies passkeys. */
export class Passkeys {
  readonly relyingParty: RelyingParty | undefined;
  readonly #services: Services;
  readonly #needs: PasskeysNeeds;

  constructor(services: Services, needs: PasskeysNeeds) {
    this.#services = services;
    this.#needs = needs;
    this.relyingParty = relyingPartyOf(services.config.server.publicURL ?? 'http://0.0.0.0');
  }

  /** Returns options for `navigator.credentials.get`. A login by passkey alone names no credentials: the options suit all users. */
  requestOptions(challenge: string, credentials?: readonly CredentialDescriptor[]) {
    return {
      challenge,
      rpId: this.relyingParty?.id,
      timeout: timeoutMs,
      userVerification: credentials === undefined ? 'required' : 'preferred',
      allowCredentials: credentials ?? [],
    };
  }

  /** Returns options for `navigator.credentials.create`. @param title name of the installation */
  async creationOptions(owner: FactorOwner & { email: string }, challenge: string, title: string) {
    const known = await this.credentialsIn(await this.#needs.store.list(owner, signal));
    return {
      challenge,
      rp: { id: this.relyingParty?.id, name: title },
      user: { id: userHandle(owner), name: owner.email, displayName: owner.email },
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      timeout: timeoutMs,
      attestation: 'none',
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      excludeCredentials: known,
      extensions: { credProps: true },
    };
  }

  /** Returns the credentials of the passkeys that are valid on this host. @throws StatusError 503 while there is no key */
  async credentialsIn(factors: readonly Factor[]): Promise<CredentialDescriptor[]> {
    const usable = factors.filter((factor) => this.#counts(factor));
    const known = await Promise.all(usable.map(async (factor) => ({ factor, kept: await this.#contentOf(factor) })));
    return known.flatMap(({ factor, kept }) =>
      kept === undefined ? [] : [{ type: 'public-key', id: kept.credentialID, transports: factor.passkey?.transports ?? [] }],
    );
  }

  /** Finds the passkey that a response names, without verifying the response. @throws StatusError 503, 504 */
  async find({ assertion: field, challenge }: PasskeyProof): Promise<UsedPasskey | undefined> {
    const assertion = readAssertion(field);
    const factor = assertion && (await this.#needs.store.find(passkeyName(assertion.id), signal));
    return factor && { factor, assertion, challenge };
  }

  /** Verifies a response: the passkey is the user's, and the challenge was not used before. @throws StatusError 503, 504 */
  async verify(owner: FactorOwner, used: UsedPasskey, strictness: Strictness, origin: AuditOrigin): Promise<boolean> {
    const verified = await this.#verify(owner, used, strictness);
    if (verified === undefined) return false;
    const { text, expiresAt } = used.challenge;
    if (!(await this.#needs.useOnce(text, expiresAt, signal))) return false;
    return this.#note(owner, used.factor, verified, origin);
  }

  /**
   * Sets up a passkey.
   *
   * @param mayAdd for a passkey that replaces all other factors: called once it is verified
   * @throws StatusError 503, 504
   */
  async add(owner: FactorOwner, proof: PasskeyProof, name: string, origin: AuditOrigin, mayAdd?: () => Promise<boolean>): Promise<SetUp> {
    const { store, useOnce } = this.#needs;
    const { relyingParty } = this;
    const attestation = readAttestation(proof.assertion);
    if (relyingParty === undefined || attestation === undefined) return 'refused';
    const { text: challenge, expiresAt } = proof.challenge;
    const made = await verifyAttestation(attestation, { challenge, relyingParty, log: this.#services.log });
    if (made === undefined || !(await useOnce(challenge, expiresAt, signal))) return 'refused';
    const others = (await store.list(owner, signal)).filter(({ type }) => type === 'Passkey');
    if (mayAdd === undefined && others.length >= maxPasskeys) return 'tooMany';
    if (mayAdd !== undefined && (await store.find(passkeyName(made.credentialID), signal)) !== undefined) return 'known';
    if (mayAdd !== undefined && !(await mayAdd())) return 'overtaken';
    const { credentialID, publicKey, signCount, aaguid, isBackupEligible: backupEligible } = made;
    const discoverable = attestation.clientExtensionResults.credProps?.rk;
    const { transports } = attestation.response;
    const passkey = { rpID: relyingParty.id, aaguid, backupEligible, ...(discoverable !== undefined && { discoverable }), transports };
    const factor = await store.addPasskey(owner, { name, credentialID, content: { credentialID, publicKey }, passkey }, signal);
    if (factor === undefined) return 'known';
    if (signCount > 0) await store.use(factor, { signCount }, signal);
    this.#record('FactorAdded', owner, origin, 'success');
    await this.#needs.notices.add(owner, 'PasskeyAdded');
    return 'added';
  }

  /** Reports whether a passkey was created for this host and is not suspected to be cloned. */
  #counts({ type, passkey, status }: Factor): boolean {
    return type === 'Passkey' && passkey?.rpID === this.relyingParty?.id && status.suspectedTime === undefined;
  }

  async #verify(
    owner: FactorOwner,
    { factor, assertion, challenge }: UsedPasskey,
    { isAlone }: Strictness,
  ): Promise<VerifiedAssertion | undefined> {
    const { relyingParty } = this;
    if (relyingParty === undefined || !this.#counts(factor)) return undefined;
    const { userHandle: told } = assertion.response;
    const isOwners = factor.user === owner.name && factor.userUID === owner.uid;
    if (!isOwners || (told === undefined ? isAlone : told !== userHandle(owner))) return undefined;
    const kept = await this.#contentOf(factor);
    if (kept === undefined) return undefined;
    const expected = { challenge: challenge.text, relyingParty, log: this.#services.log };
    const verified = await verifyAssertion(assertion, { ...expected, publicKey: kept.publicKey, isUserVerified: isAlone });
    // The backup eligibility of a passkey never changes (WebAuthn 6.1.3).
    return verified?.isBackupEligible === (factor.passkey?.backupEligible ?? false) ? verified : undefined;
  }

  /** Records a use. The counter must increase, or always be 0; otherwise the passkey may have been cloned (WebAuthn 6.1.1). */
  async #note(owner: FactorOwner, factor: Factor, { signCount }: VerifiedAssertion, origin: AuditOrigin): Promise<boolean> {
    const { store } = this.#needs;
    let current: Factor | undefined = factor;
    for (let attempt = 0; attempt < maxAttempts && current !== undefined; attempt += 1) {
      const { signCount: last = 0, suspectedTime } = current.status;
      if (suspectedTime !== undefined) return false;
      if (signCount <= last && (signCount > 0 || last > 0)) {
        await store.suspect(current, signal);
        this.#record('FactorSuspected', owner, origin, 'failure');
        await this.#needs.notices.add(owner, 'PasskeySuspected');
        return false;
      }
      if (await store.use(current, { signCount }, signal)) return true;
      current = await store.find(factor.id, signal);
    }
    return false;
  }

  async #contentOf(factor: Factor): Promise<z.output<typeof content> | undefined> {
    return content.safeParse(await this.#needs.store.contentOf(factor)).data;
  }

  #record(audit: 'FactorAdded' | 'FactorSuspected', { name, uid }: FactorOwner, origin: AuditOrigin, outcome: 'success' | 'failure'): void {
    this.#services.audit.record({ audit, ...origin, target: { name, uid }, outcome, reason: 'Passkey' });
  }
}

/** Timeout of the browser for the user's action; a challenge has the same lifetime. */
const timeoutMs = 300_000;

/** Description by which browsers find a credential. */
interface CredentialDescriptor {
  type: 'public-key';
  /** base64url */
  id: string;
  transports: readonly string[];
}

/** Returns the user handle of a user's passkeys, which does not identify the user to strangers. */
const userHandle = ({ uid }: FactorOwner): string => Buffer.from(uid).toString('base64url');
