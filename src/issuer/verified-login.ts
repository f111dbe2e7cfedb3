import type { Identity } from '../http/operation.ts';
import type { LinkingSubject, Subject } from '../users/record/account.ts';
import { identityOf, loginOf, mayLink, subjectOf } from './claims.ts';
import type { Issuer } from './issuer.ts';
import type { VerifiedClaims } from './types.ts';

/**
 * Verified claims, the issuer that they are of, and the values that the two decide. Each value is derived once. A `VerifiedLogin` is made
 * where a token is verified or a session is opened, and travels from there.
 */
export class VerifiedLogin {
  readonly issuer: Issuer;
  readonly claims: VerifiedClaims;
  /** The account at the issuer. Undefined for the embedded issuer, whose `sub` names a record. */
  readonly subject: Subject | undefined;
  #identity: Identity | undefined;
  #name: string | undefined;

  /** @param name the login string, where the verification has derived it */
  constructor(issuer: Issuer, claims: VerifiedClaims, name?: string) {
    this.issuer = issuer;
    this.claims = claims;
    this.#name = name;
    this.subject = subjectOf(claims, issuer.settings);
  }

  /** The caller in Kubernetes according to the claims. @throws StatusError 401 for claims that name no user */
  get identity(): Identity {
    this.#identity ??= identityOf(this.claims, this.issuer.settings);
    return this.#identity;
  }

  /** The login string that names the user's record. @throws StatusError 401 for claims that name no record */
  get name(): string {
    this.#name ??= loginOf(this.claims, this.issuer.settings);
    return this.#name;
  }

  /** The account at the issuer, and whether it may become that of a record. @throws StatusError 401 for claims that name no record */
  get linkingSubject(): LinkingSubject | undefined {
    return this.subject && { ...this.subject, mayLink: mayLink(this.claims, this.issuer.settings, this.name) };
  }

  get isEmbedded(): boolean {
    return this.issuer.settings.isEmbedded === true;
  }
}
