/** Links that are valid once: forgotten password, invitation, second factor. */
import type { Seal } from '@atrium/http/seal.ts';
import { nextSecond, timestamp } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { conflict, StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import type { EndUserAccess } from '../users/ended-access.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { ChangeVerdict, PasswordChange, PasswordState } from '../users/passwords/change.ts';
import { type Account, accountOf } from '../users/record/account.ts';
import { phaseOf } from '../users/record/conditions.ts';
import { readUser, userResource } from '../users/record/schema.ts';
import { noFactors } from '../users/status.ts';

/** Purposes of a link: a forgotten password, the first password of a new user, or a second factor besides the password. */
export const linkKinds = ['password', 'invite', 'enrol'] as const;
/** Reasons in the audit trail, by kind. */
export const auditReasons = { password: 'Password', invite: 'Invite', enrol: 'Enrol' } as const;

export type LinkKind = (typeof linkKinds)[number];

const linkSchema = z.object({
  kind: z.enum(linkKinds),
  name: z.string(),
  uid: z.string(),
  /** Password and link state of the user when the link was made. The link is invalid once they have changed. */
  state: z.array(z.string()),
  /** Unix seconds. */
  exp: z.number(),
});

/**
 * Content of a link, sealed into its token and stored nowhere. Using the link changes the state of the user, which invalidates the token.
 */
export type Link = Readonly<z.output<typeof linkSchema>>;

/** Returns when the password was changed, according to its Secret and to the record, and the time before which links are void. */
function stateOf({ object, stored }: PasswordState): string[] {
  const { status: { passwordChangedTime = '', linksNotBefore = '' } = {} } = readUser(object);
  return [stored === undefined ? 'none' : stored.changedAt, passwordChangedTime, linksNotBefore];
}

/** Seals a link into a token for a URL. The link is valid as long as the state of the user does not change. @throws StatusError 503 */
export function sealLink(seal: Seal, kind: LinkKind, state: PasswordState, expiresAt: Date): string {
  const { name, uid } = state.object.metadata;
  const link: Link = { kind, name, uid, state: stateOf(state), exp: Math.floor(expiresAt.getTime() / 1000) };
  return seal.seal(JSON.stringify(link));
}

/** Returns undefined for a forged token. */
export async function openLink(seal: Seal, token: string): Promise<Link | undefined> {
  const text = await seal.open(token);
  return text === undefined ? undefined : linkSchema.safeParse(JSON.parse(text)).data;
}

export interface LinkRules {
  now: Date;
  idleDays: number;
}

/** Reports whether a link is still valid for the present state of the user. */
export function isCurrent(link: Link, state: PasswordState, rules: LinkRules): boolean {
  const isSame = stateOf(state).every((part, index) => part === link.state[index]);
  const isOver = rules.now.getTime() / 1000 >= link.exp;
  return isSame && !isOver && refusalOf(link.kind, state, rules) === undefined;
}

/** Returns why the user cannot have a link of that kind, or undefined if there is no reason. */
export function refusalOf(kind: LinkKind, { object }: PasswordState, { now, idleDays }: LinkRules): string | undefined {
  const account = accountOf(object);
  // Directory users set up second factors here, too.
  const isHere = account.connectorType === 'local' || (kind === 'enrol' && account.connectorType === 'ldap');
  if (!isHere) return 'the user is not local: the password is kept at the source';
  if (!mayHaveLink(account, { now, idleDays })) return 'the user may not log in';
  const hasLoggedIn = readUser(object).status?.lastLoginTime !== undefined;
  return kind === 'invite' && hasLoggedIn ? 'the user has logged in already: make a link of the kind password' : undefined;
}

/**
 * Reports whether the phase of the user permits a link. A locked user may have one, because a lock is often the reason for a new password.
 */
function mayHaveLink(account: Account, { now, idleDays }: LinkRules): boolean {
  const { phase } = phaseOf(account, now, idleDays);
  return phase === 'Normal' || phase === 'Locked';
}

/** Returns the next `linksNotBefore`. A change of the value voids all links of the user, and so it is always later than the present one. */
export function linksEndAt({ object }: PasswordState, now: Date): string {
  const last = Date.parse(readUser(object).status?.linksNotBefore ?? '');
  const next = nextSecond(now).getTime();
  return timestamp(new Date(Number.isNaN(last) ? next : Math.max(next, last + 1000)));
}

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

  /** Returns the present address of the user of a link, undefined for a link that is no longer valid. @throws StatusError 503, 504 */
  async emailOf({ url }: Pick<MadeLink, 'url'>): Promise<string | undefined> {
    return (await this.find(url.slice(url.lastIndexOf('/') + 1)))?.email;
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
    const status = { linksNotBefore: linksEndAt(state, this.#services.now()), ...noFactors };
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
