import type { Caller } from '@atrium/http/caller.ts';
import { invalidValue } from '@atrium/objects/field-error.ts';
import { conflict, forbidden, invalid, notFound } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { AuditOrigin } from '../audit/audit.ts';
import { hasAddress, isMailSet } from '../mail/mailer.ts';
import type { Services } from '../services.ts';
import { requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { PasswordChange, PasswordState } from '../users/passwords/change.ts';
import type { Account } from '../users/record/account.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { isSelf } from '../users/record/subject-name.ts';
import { UserStatusWriter } from '../users/status.ts';
import type { SubjectRights } from '../users/subject-rights.ts';
import { type LinkKind, linkKinds, linksEndAt, type MadeLink, type OneTimeLinks, refusalOf } from './links.ts';
import type { LinkMail } from './mails.ts';

export const linkBody = z
  .strictObject({
    kind: z
      .enum(linkKinds)
      .describe('`password` replaces a forgotten password, `invite` sets the first one, `enrol` sets up a new second factor.'),
    seconds: z.int().exactOptional().describe('Lifetime in seconds: 300 to 1800, or to 604800 for `invite`. Default: the maximum.'),
    mail: z.boolean().exactOptional().describe('Mails the link to `spec.email` of the user, and does not return it.'),
  })
  .meta({ id: 'LinkRequest', examples: [{ kind: 'invite' }] });

export type LinkRequest = z.output<typeof linkBody>;

export const linkSchema = z
  .object({
    url: z.string().describe('Secret address for the user.'),
    expiresAt: z.iso.datetime(),
  })
  .meta({
    id: 'Link',
    examples: [{ url: 'https://console.example.com/identity/link/k1.c2VhbGVk', expiresAt: '2026-03-01T11:30:00Z' }],
  });

export const mailedSchema = linkSchema
  .pick({ expiresAt: true })
  .meta({ id: 'MailedLink', examples: [{ expiresAt: '2026-03-01T11:30:00Z' }] });

export interface LinkServiceNeeds {
  links: OneTimeLinks;
  linkMail: Pick<LinkMail, 'send' | 'stop'>;
  accounts: AccountLookup;
  rights: SubjectRights;
  passwordChange: Pick<PasswordChange, 'stateOf'>;
  /** Reports whether the user can set up a second factor. Undefined if second factors are off. */
  mayEnrol: ((account: Account) => boolean) | undefined;
}

interface Asked {
  caller: Caller;
  origin: AuditOrigin;
  signal: AbortSignal;
}

const minSeconds = 300;
const longestSeconds: Readonly<Record<LinkKind, number>> = { password: 1800, invite: 604_800, enrol: 1800 };

/** Creates and revokes links of other users. Requires the rights that a password reset requires. */
export class LinkService {
  readonly #services: Services;
  readonly #needs: LinkServiceNeeds;

  constructor(services: Services, needs: LinkServiceNeeds) {
    this.#services = services;
    this.#needs = needs;
  }

  /** Creates a link, and mails it on request. @throws StatusError 401, 403, 404, 409, 422, 429, 503, 504 */
  async make(name: string, request: LinkRequest, { caller, origin, signal }: Asked): Promise<MadeLink & { account: Account }> {
    const account = await this.#require(name, 'create', caller, signal, request.kind);
    const seconds = secondsOf(name, request);
    if (request.mail) this.#requireMail(account);
    const state = await this.#stateOf(account);
    const isOff = request.kind === 'enrol' && !this.#needs.mayEnrol?.(account);
    const refusal = isOff ? 'the user can set up no second factor' : refusalOf(request.kind, state, this.#needs.links.rules());
    if (refusal !== undefined) throw conflict(userResource, name, refusal);
    const link = this.#needs.links.make(request.kind, state, seconds);
    if (request.mail) await this.#needs.linkMail.send(account, request.kind, link, origin);
    return { ...link, account };
  }

  /** Revokes all links of the user. @throws StatusError 401, 403, 404, 409, 503, 504 */
  async end(name: string, caller: Caller, signal: AbortSignal): Promise<Account> {
    const account = await this.#require(name, 'delete', caller, signal);
    const state = await this.#stateOf(account);
    const status = new UserStatusWriter(this.#services, { isAudited: true });
    await status.patch(account, { linksNotBefore: linksEndAt(state, this.#services.now()) });
    return account;
  }

  /** Requires the rights of a password reset and a recent login, because a link sets the password. */
  async #require(name: string, verb: 'create' | 'delete', caller: Caller, signal: AbortSignal, kind?: LinkKind): Promise<Account> {
    const { accounts, rights } = this.#needs;
    const { access, config, now } = this.#services;
    requireAccounts(accounts);
    const account = accounts.get(name);
    await access.require(caller, { ...userResource, subresource: 'links', verb, name }, signal);
    await access.require(caller, { ...userResource, subresource: 'password', verb: 'update', name }, signal);
    // The new factor replaces the existing ones, so that the right to reset them is required, too.
    if (kind === 'enrol') await access.require(caller, { ...userResource, subresource: 'factors', verb: 'delete', name }, signal);
    if (account === undefined) throw notFound(userResource, name);
    if (isSelf(account, caller))
      throw forbidden({ ...userResource, subresource: 'links', verb, name, user: caller.identity.name }, [ownLinks]);
    await rights.requireForPassword(caller, account, signal);
    requireRecentLogin('links', caller, config.login.stepUp, now());
    return account;
  }

  /** @throws StatusError 422 */
  #requireMail(account: Account): void {
    const isSet = isMailSet(this.#services.config.smtp);
    if (isSet && hasAddress(account)) return;
    const why = isSet ? 'the user has no e-mail address' : 'there is no mail server (smtp.host)';
    throw invalid({ group: userResource.group, kind: 'User', name: account.name }, [invalidValue('mail', true, why)]);
  }

  async #stateOf(account: Account): Promise<PasswordState> {
    const state = await this.#needs.passwordChange.stateOf(account);
    if (state === undefined) throw conflict(userResource, account.name, 'the user was deleted meanwhile');
    return state;
  }
}

const ownLinks = { reason: 'OwnLinks', message: 'your own password is changed with the old password' };

function secondsOf(name: string, { kind, seconds = longestSeconds[kind] }: LinkRequest): number {
  const longest = longestSeconds[kind];
  if (seconds >= minSeconds && seconds <= longest) return seconds;
  const wrong = invalidValue('seconds', seconds, `must be ${minSeconds} to ${longest} for a link of the kind ${kind}`);
  throw invalid({ group: userResource.group, kind: 'User', name }, [wrong]);
}
