import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { nameOf } from '../../service/users/a-user.ts';
import { group } from './choices.ts';
import { bearerHeaders, Hand, openAtIssuer, openLocal } from './hand.ts';
import { administrators, honest, honestPassword } from './people.ts';
import { type ApiStep, type As, type KubectlStep, placeholder, type Step } from './steps.ts';
import type { Call, World } from './world.ts';

const madeToken = z.object({ token: z.string() });
const renewed = z.object({ access_token: z.string().optional(), refresh_token: z.string().optional() });
const requestsThere = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string(), uid: z.string(), resourceVersion: z.string() }) })),
});
const stored = z.object({ metadata: z.object({ uid: z.string(), resourceVersion: z.string() }) });

/** Objects that the attacker has changed within the role. No guarantee applies to them any more. */
export interface Touched {
  /** Names of user records. */
  readonly records: Set<string>;
  /** Names of user records that may be deleted. */
  readonly removed: Set<string>;
  hasGroups: boolean;
  hasSessions: boolean;
  hasTokens: boolean;
}

/** Performs steps in a world, and keeps the credentials that the attacker gains. */
export class Attack {
  readonly hand = new Hand();
  readonly touched: Touched = { records: new Set(), removed: new Set(), hasGroups: false, hasSessions: false, hasTokens: false };
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** @returns a note on the outcome for the printed script */
  async perform(step: Step): Promise<string> {
    switch (step.do) {
      case 'kubectl':
        return this.#kubectl(step);
      case 'api':
        return this.#api(step);
      case 'login':
        return this.#world.isEmbedded ? this.#keep(await openLocal(this.#world, step)) : 'no login by passwords';
      case 'issuer':
        return this.#keep(await openAtIssuer(this.#world, step));
      case 'token':
        return this.#makeToken(step.as);
      case 'refresh':
      case 'logout':
        return this.#renew(step.do, step.as);
      case 'wait':
        await sleep(step.ms);
        return '';
      case 'clock':
        this.#world.clock.advance(step.seconds);
        return '';
      case 'restore':
        return this.#restore(step.email);
      case 'lend':
        await this.#world.lendBindings();
        return '';
      case 'look':
        return '';
      case 'race':
        return (await Promise.all(step.steps.map((one) => this.perform(one)))).join(' | ');
    }
  }

  #keep(credential: Awaited<ReturnType<typeof openLocal>>): string {
    if (credential === undefined) return 'refused';
    this.hand.add(credential);
    return 'logged in';
  }

  async #kubectl({ method, path, body, type, impersonate }: KubectlStep): Promise<string> {
    const headers = {
      ...bearerHeaders(this.#world.token),
      ...(type && { 'content-type': type }),
      ...(impersonate && { 'impersonate-user': impersonate }),
    };
    return this.#send({ to: 'cluster', method, path, body, headers });
  }

  async #api({ as, method, path, body, type }: ApiStep): Promise<string> {
    const headers = this.#headersOf(as);
    return this.#send({ to: 'service', method, path, body, headers: { ...headers, ...(type && { 'content-type': type }) } });
  }

  async #send(given: Call): Promise<string> {
    const path = await this.#filled(given.path);
    const text = JSON.stringify(given.body);
    const call = { ...given, path, ...(text !== undefined && { body: JSON.parse(await this.#filled(text)) }) };
    const { status, body: answer } = await this.#world.call(call);
    // The API server deletes a selection object by object, up to the first refusal, so a failed call may have changed records.
    const isSelection = call.method === 'DELETE' && /\/users(\?|$)/.test(call.path);
    if (isSelection || (status < 300 && call.method !== 'GET')) this.#touch(call);
    const message = typeof answer === 'object' && answer !== null && 'message' in answer ? ` ${String(answer.message).slice(0, 160)}` : '';
    return `${status}${status < 300 ? '' : message}`;
  }

  async #makeToken(as: As): Promise<string> {
    const headers = this.#headersOf(as);
    const of = as === 'token' ? 'manager' : (this.hand.find(as)?.of ?? as);
    const { status, body } = await this.#world.call({
      to: 'service',
      method: 'POST',
      path: '/auth/v1/accesstoken',
      headers,
      body: { description: 'x' },
    });
    if (status === 201) this.hand.add({ kind: 'access token', of, headers: bearerHeaders(madeToken.parse(body).token) });
    return String(status);
  }

  async #renew(what: 'refresh' | 'logout', as: As): Promise<string> {
    const credential = this.hand.find(as);
    if (credential?.refreshToken === undefined) return 'nothing to renew';
    const query = new URLSearchParams({ refresh_token: credential.refreshToken });
    const headers = credential.kind === 'cookie' ? credential.headers : {};
    const { status, body } = await this.#world.call({ to: 'service', method: 'GET', path: `/api/v2/token/${what}?${query}`, headers });
    if (status !== 200 || what === 'logout') return String(status);
    const { access_token, refresh_token } = renewed.parse(body);
    if (access_token !== undefined)
      this.hand.add({
        kind: 'bearer',
        of: credential.of,
        headers: bearerHeaders(access_token),
        ...(refresh_token && { refreshToken: refresh_token }),
      });
    return String(status);
  }

  async #restore(email: string): Promise<string> {
    this.touched.records.add(nameOf(email));
    this.touched.removed.add(nameOf(email));
    const path = `/apis/auth.platform.io/v1/users/${nameOf(email)}`;
    const { status } = await this.#world.admin.call('DELETE', path);
    if (status === 200) await this.#world.admin.call('PATCH', path, { metadata: { finalizers: null } }, mergePatch);
    await this.#world.makeHonest(email, honestPassword);
    return 'done';
  }

  #headersOf(as: As): Record<string, string> {
    return as === 'token' ? bearerHeaders(this.#world.token) : (this.hand.find(as)?.headers ?? {});
  }

  async #filled(text: string): Promise<string> {
    let filled = text;
    for (const [whole, what = '', name = ''] of text.matchAll(placeholder))
      filled = filled.replaceAll(whole, await this.#valueOf(what, name));
    return filled;
  }

  async #valueOf(what: string, name: string): Promise<string> {
    if (what === 'subject') return this.#world.subjectOf(name);
    if (what.startsWith('areq')) {
      const { body } = await this.#world.admin.call('GET', `${group}/accessrequests`);
      const found = requestsThere.parse(body).items.sort(byTime).at(Number(name))?.metadata;
      return (what === 'areq' ? found?.name : found?.uid) ?? 'none';
    }
    const { status, body: object } = await this.#world.admin.call('GET', `${group}/users/${name}`);
    const { uid, resourceVersion } = status === 200 ? stored.parse(object).metadata : { uid: 'none', resourceVersion: '1' };
    return what === 'uid' ? uid : resourceVersion;
  }

  #touch({ path, method, body }: Call): void {
    if (path.includes('dryRun=All')) return;
    const [, resource = '', name = ''] = /\/(users|groups|userbindings|sessions|accesstokens)(?:\/([^/?]+))?/.exec(path) ?? [];
    if (resource === 'sessions') this.touched.hasSessions = true;
    if (resource === 'accesstokens') this.touched.hasTokens = true;
    if (resource === 'groups' || resource === 'userbindings') this.touched.hasGroups = true;
    if (resource !== 'users') return;
    const names = name === '' && method === 'DELETE' ? honest.map(({ email }) => nameOf(email)) : [name];
    // The garbage collector deletes objects whose owners are all gone.
    const isRemoval = method === 'DELETE' || JSON.stringify(body)?.includes('ownerReferences') === true;
    for (const one of names.filter((some) => some !== '' && !administrators.includes(some))) {
      this.touched.records.add(one);
      if (isRemoval) this.touched.removed.add(one);
    }
  }
}

const byTime = (one: { metadata: { resourceVersion: string } }, other: { metadata: { resourceVersion: string } }) =>
  Number(other.metadata.resourceVersion) - Number(one.metadata.resourceVersion);

const mergePatch = { 'content-type': 'application/merge-patch+json' };
