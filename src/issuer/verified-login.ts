import type { Identity } from '@atrium/http/caller.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { AdoptingSubject, Subject } from '../users/record/account.ts';
import { type ClaimedGroups, claimedGroups, identityOf, loginOf, mayAdopt } from './claims.ts';
import type { Issuer } from './issuer.ts';

/**
 * Verified claims with their issuer, and the values that the two decide. Each value is derived once. The verification of a token or the
 * opening of a session creates a `VerifiedLogin`, and passes it on.
 */
export class VerifiedLogin {
  readonly issuer: Issuer;
  readonly claims: VerifiedClaims;
  /** The account at the issuer. Undefined for the embedded issuer, whose `sub` names a record. */
  readonly subject: Subject | undefined;
  readonly isEmbedded: boolean;
  #groups: ClaimedGroups | undefined;
  #identity: Identity | undefined;
  #name: string | undefined;
  #adoptingSubject: AdoptingSubject | undefined;

  /** @param name login string, if the verification has derived it already */
  constructor(issuer: Issuer, claims: VerifiedClaims, name?: string) {
    this.issuer = issuer;
    this.claims = claims;
    this.#name = name;
    this.isEmbedded = issuer.settings.isEmbedded === true;
    this.subject = this.isEmbedded ? undefined : { issuer: claims.iss, sub: claims.sub };
  }

  /** Returns the caller in Kubernetes according to the claims. @throws StatusError 401 for claims that name no user */
  get identity(): Identity {
    this.#identity ??= identityOf(this.claims, this.issuer.settings, this.groups);
    return this.#identity;
  }

  /** Returns the groups of the claims. @throws StatusError 401 for a claim that is no list of texts */
  get groups(): ClaimedGroups {
    this.#groups ??= claimedGroups(this.claims, this.issuer.settings);
    return this.#groups;
  }

  /** Returns the login string that names the user's record. @throws StatusError 401 for claims that name no record */
  get name(): string {
    this.#name ??= loginOf(this.claims, this.issuer.settings);
    return this.#name;
  }

  /** Returns the account at the issuer, and whether it may adopt a record. @throws StatusError 401 for claims that name no record */
  get adoptingSubject(): AdoptingSubject | undefined {
    this.#adoptingSubject ??= this.subject && { ...this.subject, mayAdopt: mayAdopt(this.claims, this.issuer.settings, this.name) };
    return this.#adoptingSubject;
  }
}
