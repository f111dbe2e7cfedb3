/** Links that are valid once: forgotten password, invitation, second factor. */
import { conflict, StatusError } from '../api/status.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { Services } from '../services.ts';
import type { EndUserAccess } from '../users/end-access.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { ChangeVerdict, PasswordChange, PasswordState } from '../users/passwords/change.ts';
import { type Account, accountOf } from '../users/record/account.ts';
import { userResource } from '../users/record/resource.ts';
import { isCurrent, type Link, type LinkKind, type LinkRules, linksEndAt, openLink, sealLink } from './link.ts';

export interface MadeLink {
  url: string;
  expiresAt: Date;
}

/** Valid link and its user. */
export interface FoundLink {
  readonly link: Link;
  readonly email: string;
  readonly account: Account;
}

export interface OneTimeLinksNeeds {
  /** Address of the embedded issuer. */
  issuerURL: string;
  notices: Pick<Notices, 'add'>;
  endAccess: EndUserAccess;
  passwordChange: Pick<PasswordChange, 'stateOf' | 'setByLink'>;
}

/** Status members that clear the failures and the suspension of former second factors, and the deadline of the grace period. */
const noMisses = { secondFactorFailures: null, isTOTPSuspended: null, factorsDueTime: null };

/** Creates one-time links and redeems them. */
export class OneTimeLinks {
  readonly #services: Services;
  readonly #needs: OneTimeLinksNeeds;
  readonly #seal;

  constructor(services: Services, needs: OneTimeLinksNeeds) {
    this.#services = services;
    this.#needs = needs;
    this.#seal = services.keyRing.sealFor('links');
  }

  /** Creates a link. Its host comes from the configuration, never from the request. @throws StatusError 503 */
  make(kind: LinkKind, state: PasswordState, seconds: number): MadeLink {
    const expiresAt = new Date((Math.floor(this.#services.now().getTime() / 1000) + seconds) * 1000);
    return { url: `${this.#needs.issuerURL}/link/${sealLink(this.#seal, kind, state, expiresAt)}`, expiresAt };
  }

  /**
   * Looks up a link without redeeming it, because mail scanners open links.
   *
   * @returns undefined for an invalid link
   * @throws StatusError 503, 504
   */
  async find(token: string): Promise<FoundLink | undefined> {
    const link = await openLink(this.#seal, token);
    const state = link && (await this.#needs.passwordChange.stateOf(link));
    if (link === undefined || state === undefined || !isCurrent(link, state, this.rules())) return undefined;
    const account = accountOf(state.object);
    return { link, email: account.email, account };
  }

  /** Sets the password. Only one of several concurrent requests succeeds, also on other replicas. @throws StatusError 429, 503, 504 */
  async setPassword(link: Link, password: string): Promise<ChangeVerdict> {
    const verdict = await this.#needs.passwordChange.setByLink(link, password, (state) => isCurrent(link, state, this.rules()));
    // No notice for an invitation: it sets the first password, which only the user can know.
    if (verdict.outcome === 'changed' && link.kind !== 'invite') await this.#needs.notices.add(link, 'PasswordSetByLink');
    return verdict;
  }

  /**
   * Redeems a link for a second factor, and ends all sessions and tokens of the user. Only one of several concurrent requests succeeds,
   * also on other replicas.
   *
   * @returns false if the link is no longer valid
   * @throws StatusError 503, 504
   */
  async use(link: Link): Promise<boolean> {
    const { passwordChange, endAccess } = this.#needs;
    const state = await passwordChange.stateOf(link);
    if (state === undefined || !isCurrent(link, state, this.rules())) return false;
    const status = { linksNotBefore: linksEndAt(state, this.#services.now()), ...noMisses };
    try {
      const change = async (object: KubernetesObject) => {
        const now = await passwordChange.stateOf(link);
        if (!isCurrent(link, { object, stored: now?.stored }, this.rules()))
          throw conflict(userResource, link.name, 'the link is no longer valid');
        return status;
      };
      await endAccess({ user: link, change }, 'LinkUsed');
      return true;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 409) return false;
      throw error;
    }
  }

  rules(): LinkRules {
    return { now: this.#services.now(), idleDays: this.#services.config.users.idleDays };
  }
}
