/** One-time links of local users: forgotten password, invitation. */
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

/** A link that counts, and whose it is. */
export interface FoundLink {
  readonly link: Link;
  readonly email: string;
  readonly account: Account;
}

export interface LinksNeeds {
  /** Address of the embedded issuer. */
  issuerURL: string;
  notices: Pick<Notices, 'add'>;
  endAccess: EndUserAccess;
  passwordChange: Pick<PasswordChange, 'stateOf' | 'setByLink'>;
}

/** What was missed of second factors that count no longer, and the time of grace. */
const noMisses = { secondFactorFailures: null, isTOTPSuspended: null, factorsDueTime: null };

/** Makes links, and lets each of them be used once. */
export class Links {
  readonly #services: Services;
  readonly #needs: LinksNeeds;
  readonly #seal;

  constructor(services: Services, needs: LinksNeeds) {
    this.#services = services;
    this.#needs = needs;
    this.#seal = services.keyRing.sealFor('links');
  }

  /** The address comes from the configuration, whatever host the request names. @throws StatusError 503 */
  make(kind: LinkKind, state: PasswordState, seconds: number): MadeLink {
    const expiresAt = new Date((Math.floor(this.#services.now().getTime() / 1000) + seconds) * 1000);
    return { url: `${this.#needs.issuerURL}/link/${sealLink(this.#seal, kind, state, expiresAt)}`, expiresAt };
  }

  /** Spends nothing, so that a mail scanner may look. @returns undefined for one that counts no longer, or never did; @throws StatusError 503, 504 */
  async find(token: string): Promise<FoundLink | undefined> {
    const link = await openLink(this.#seal, token);
    const state = link && (await this.#needs.passwordChange.stateOf(link));
    if (link === undefined || state === undefined || !isCurrent(link, state, this.rules())) return undefined;
    const account = accountOf(state.object);
    return { link, email: account.email, account };
  }

  /** Sets the password: of two requests at once, on whatever replica, one does. @throws StatusError 429, 503, 504 */
  async setPassword(link: Link, password: string): Promise<ChangeVerdict> {
    const verdict = await this.#needs.passwordChange.setByLink(link, password, (state) => isCurrent(link, state, this.rules()));
    // Of an invitation it is the first one, which no other can know.
    if (verdict.outcome === 'changed' && link.kind !== 'invite') await this.#needs.notices.add(link, 'PasswordSetByLink');
    return verdict;
  }

  /**
   * Uses one up for a second factor, and ends all sessions and tokens of the user. Of two requests at once, on whatever replica, one does.
   *
   * @returns false if it counts no longer; @throws StatusError 503, 504
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
