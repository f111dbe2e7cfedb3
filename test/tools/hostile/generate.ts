/** Generates random steps, the same ones for the same seed. */
import { nameOf } from '../../service/users/a-user.ts';
import { accessMove, askForHeld } from './access-moves.ts';
import { Choices, group } from './choices.ts';
import { directSequence, opening } from './direct.ts';
import { administrators, attacker } from './people.ts';
import {
  bindingNames,
  bySub,
  forbidden,
  groupNames,
  mergePatch,
  metadata,
  neverRight,
  passwords,
  patchTypes,
  removals,
  restored,
  roles,
  sources,
  specs,
  statuses,
} from './pools.ts';
import type { Step } from './steps.ts';

export class Generator extends Choices {
  sequence(length: number): Step[] {
    const steps: Step[] = [...(this.isOnce(0.3) ? [{ do: 'lend' } as const] : []), ...opening(this), askForHeld];
    while (steps.length < length) steps.push(...this.#next());
    return steps.slice(0, length);
  }

  #next(): Step[] {
    if (this.isOnce(0.06)) return [this.#race()];
    if (this.isOnce(0.1)) return directSequence(this);
    return this.isOnce(0.1) ? accessMove(this) : [this.#step()];
  }

  #race(): Step {
    return { do: 'race', steps: Array.from({ length: this.isOnce(0.3) ? 3 : 2 }, () => this.#oneStepOfRace()) };
  }

  /** Returns a step without a login at the test provider, which has one user at a time. */
  #oneStepOfRace(): Step {
    const step = this.#step();
    return step.do === 'issuer' || step.do === 'restore' ? this.#user() : step;
  }

  /** Sends some requests of kubectl through the service instead, with a credential of the attacker. */
  #step(): Step {
    const step = this.#oneStep();
    if (step.do !== 'kubectl' || step.impersonate !== undefined || !this.isOnce(0.15)) return step;
    const { method, path, body, type } = step;
    return {
      ...{ do: 'api', as: this.as(), method, path: `/api/kubernetes${path}` },
      ...(body !== undefined && { body }),
      ...(type !== undefined && { type }),
    };
  }

  #oneStep(): Step {
    return this.weighted<Step>([
      [38, () => this.#user()],
      [12, () => this.#password()],
      [this.isEmbedded ? 16 : 4, () => this.#login()],
      [this.isEmbedded ? 0 : 14, () => this.#atIssuer()],
      [5, () => ({ do: 'token', as: this.as() })],
      [3, () => ({ do: this.isOnce(0.7) ? 'refresh' : 'logout', as: this.as() })],
      [8, () => this.#group()],
      [7, () => this.#binding()],
      [4, () => ({ do: 'kubectl', ...this.oneOf(forbidden) })],
      [6, () => this.#other()],
      [2, () => ({ do: 'wait', ms: this.oneOf([20, 200, 1_300]) })],
      [2, () => ({ do: 'clock', seconds: this.oneOf([1, 30, 61, 125, 1_300]) })],
      [2, () => ({ do: 'restore', email: this.oneOf(restored) })],
    ]);
  }

  #user(): Step {
    return this.weighted<Step>([
      [24, () => this.#kubectlCreate()],
      [26, () => this.#kubectlPatch()],
      [14, () => this.#kubectlDelete()],
      [
        this.isBroad ? 2 : 0,
        () => ({
          do: 'kubectl',
          method: 'DELETE',
          path: `${group}/users?labelSelector=auth.platform.io/user.state%3D${this.oneOf(['active', 'inactive'])}`,
        }),
      ],
      [4, () => this.#kubectlReplace()],
      [
        4,
        () => ({
          do: 'kubectl',
          method: 'PATCH',
          path: `${this.record()}/status`,
          type: mergePatch,
          body: { status: this.oneOf(statuses) },
        }),
      ],
      [14, () => this.#apiCreate()],
      [10, () => this.#apiPatch()],
      [10, () => ({ do: 'api', as: this.as(), method: 'DELETE', path: `/auth/v1/users/${this.name()}${this.dry(0.05)}` })],
      [
        3,
        () => ({
          do: 'api',
          as: 'token',
          method: 'DELETE',
          path: `/auth/v1/users${this.dry(0.2)}`,
          body: !this.isBroad || this.isOnce(0.7) ? { names: this.someNames() } : { labelSelector: 'auth.platform.io/user.state=active' },
        }),
      ],
    ]);
  }

  #kubectlCreate(): Step {
    const email = this.email();
    const spec = {
      email,
      username: this.email(),
      ...this.oneOf(sources),
      is_admin: this.isOnce(0.08),
      ...(this.isOnce(0.2) && this.oneOf(specs)),
    };
    const name = this.isOnce(0.65) ? nameOf(email) : this.name();
    const body = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'User',
      metadata: { name, ...(this.isOnce(0.3) && this.oneOf(metadata)) },
      spec: { ...spec, email },
      ...(this.isOnce(0.2) && { status: this.oneOf(statuses) }),
    };
    return { do: 'kubectl', method: 'POST', path: `${group}/users${this.dry(0.05)}`, body };
  }

  #kubectlPatch(): Step {
    const body = this.weighted<unknown>([
      [4, () => ({ metadata: this.oneOf(metadata) })],
      [1, () => ({ metadata: this.oneOf(removals) })],
      [4, () => ({ spec: this.oneOf(specs) })],
      [1, () => ({ metadata: this.oneOf(metadata), spec: this.oneOf(specs), status: this.oneOf(statuses) })],
    ]);
    return { do: 'kubectl', method: 'PATCH', path: `${this.record()}${this.dry(0.03)}`, type: mergePatch, body };
  }

  #kubectlReplace(): Step {
    const email = this.email();
    const name = nameOf(email);
    const spec = { email, username: '', ...this.oneOf(sources), is_admin: false, ...(this.isOnce(0.5) && this.oneOf(specs)) };
    const body = { apiVersion: 'auth.platform.io/v1', kind: 'User', metadata: { name, resourceVersion: `$rv(${name})` }, spec };
    return { do: 'kubectl', method: 'PUT', path: `${group}/users/${name}`, body };
  }

  #kubectlDelete(): Step {
    const body = this.isOnce(0.3) ? { body: { propagationPolicy: this.oneOf(['Foreground', 'Background', 'Orphan']) } } : {};
    return { do: 'kubectl', method: 'DELETE', path: this.record(), ...body };
  }

  #apiCreate(): Step {
    const spec = { email: this.email(), password: this.knownPassword(), ...(this.isOnce(0.2) && this.oneOf(specs)) };
    return { do: 'api', as: this.as(), method: 'POST', path: `/auth/v1/users${this.dry(0.05)}`, body: { spec } };
  }

  #apiPatch(): Step {
    const body = this.isOnce(0.8) ? { spec: this.oneOf(specs) } : { metadata: this.oneOf(metadata) };
    return {
      do: 'api',
      as: this.as(),
      method: 'PATCH',
      path: `/auth/v1/users/${this.name()}${this.dry(0.05)}`,
      type: this.oneOf(patchTypes),
      body,
    };
  }

  #password(): Step {
    const password = this.knownPassword();
    const old = this.isOnce(0.15) ? { old_password: this.oneOf(passwords) } : {};
    return { do: 'api', as: this.as(), method: 'PATCH', path: `/auth/v1/users/${this.name()}`, body: { spec: { password, ...old } } };
  }

  #login(): Step {
    const password = this.isOnce(0.98) ? this.knownPassword() : this.oneOf(neverRight);
    return { do: 'login', email: this.email(), password, storage: this.storage() };
  }

  /** Logs in at the issuer. The issuer has verified only the attacker's own address; the attacker chose the other claims. */
  #atIssuer(): Step {
    const isOwn = this.isOnce(0.2);
    const email = isOwn ? 'mallory@example.com' : this.email();
    const claims = {
      sub: this.oneOf(bySub),
      email,
      ...this.#verified(email, isOwn),
      ...(this.isOnce(0.5) && { preferred_username: this.email() }),
      ...(this.isOnce(0.3) && { name: this.email() }),
      ...(this.isOnce(0.1) && { groups: ['local:crew', 'system:masters'] }),
    };
    return { do: 'issuer', claims, storage: this.isOnce(0.3) ? 'bearer' : this.storage() };
  }

  /**
   * Returns the claim `email_verified`. In `external email` a verified address names the user, so only foreign addresses of
   * administrators are claimed as anything but unverified.
   */
  #verified(email: string, isOwn: boolean): { email_verified?: boolean } {
    if (isOwn) return { email_verified: true };
    const isOfOther = this.variant === 'external email' && !administrators.includes(nameOf(email));
    if (isOfOther || this.isOnce(0.6)) return { email_verified: false };
    return this.variant === 'external email' && this.isOnce(0.5) ? { email_verified: true } : {};
  }

  #group(): Step {
    const name = this.oneOf(groupNames);
    const spec = {
      displayName: name,
      ...(this.isOnce(0.6) && { users: this.someNames().map((one) => ({ name: one })) }),
      ...(this.isOnce(0.1) && { refConnector: { id: 'corp-ldap', type: 'ldap' } }),
    };
    const body = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'Group',
      metadata: { name, ...(this.isOnce(0.2) && this.oneOf(metadata)) },
      spec,
    };
    return this.weighted<Step>([
      [4, () => ({ do: 'kubectl', method: 'POST', path: `${group}/groups`, body })],
      [3, () => ({ do: 'kubectl', method: 'PATCH', path: `${group}/groups/${name}`, type: mergePatch, body: { spec } })],
      [2, () => ({ do: 'kubectl', method: 'DELETE', path: `${group}/groups/${name}` })],
      [2, () => ({ do: 'api', as: this.as(), method: 'POST', path: '/auth/v1/groups', body: { metadata: { name }, spec } })],
      [
        3,
        () => ({
          do: 'api',
          as: this.as(),
          method: this.oneOf(['POST', 'DELETE']),
          path: `/auth/v1/groups/${name}/members`,
          body: { names: this.someNames() },
        }),
      ],
      [1, () => ({ do: 'api', as: this.as(), method: 'DELETE', path: `/auth/v1/groups/${name}` })],
    ]);
  }

  #binding(): Step {
    const name = this.oneOf(bindingNames);
    const subjects = [
      {
        kind: this.oneOf(['User', 'Group']),
        name: this.isOnce(0.5) ? this.name() : this.oneOf(['team', 'crew', attacker, 'nova', 'dev']),
      },
    ];
    const spec = { scope: 'platform', roleRef: this.oneOf(roles), subjects };
    const body = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'UserBinding',
      metadata: { name, ...(this.isOnce(0.2) && this.oneOf(metadata)) },
      spec,
    };
    return this.weighted<Step>([
      [3, () => ({ do: 'kubectl', method: 'POST', path: `${group}/userbindings`, body })],
      [
        3,
        () => ({
          do: 'kubectl',
          method: 'PATCH',
          path: `${group}/userbindings/${name}`,
          type: mergePatch,
          body: this.isOnce(0.6) ? { spec: { subjects } } : { metadata: this.oneOf([...metadata, ...removals]) },
        }),
      ],
      [2, () => ({ do: 'kubectl', method: 'DELETE', path: `${group}/userbindings/${name}` })],
      [2, () => ({ do: 'api', as: this.as(), method: 'POST', path: '/auth/v2/userbindings', body })],
      [1, () => ({ do: 'api', as: this.as(), method: 'DELETE', path: `/auth/v2/userbindings/${name}` })],
    ]);
  }

  #other(): Step {
    const api = (method: string, path: string, body?: unknown): Step => ({
      do: 'api',
      as: this.as(),
      method,
      path,
      ...(body !== undefined && { body }),
    });
    return this.weighted<Step>([
      [2, () => api('POST', '/auth/v1/authorize', { spec: { user: this.name(), ...(this.isOnce(0.3) && { groups: ['dev'] }) } })],
      [1, () => api('POST', '/auth/v1/authorize', {})],
      [2, () => api('DELETE', `/auth/v1/users/${this.name()}/subjects`)],
      [this.isBroad ? 1 : 0, () => api('DELETE', `/auth/v1/sessions?user=${this.name()}`)],
      [1, () => api('PUT', '/auth/v1/users/sync', {})],
      [1, () => api('GET', '/auth/v1/kubeconfig?mode=token')],
      [1, () => api('GET', `/auth/v1/usersroles?name=${this.name()}`)],
      [2, () => ({ do: 'kubectl', method: 'GET', path: `${group}/users`, impersonate: this.email() })],
      [this.isBroad ? 1 : 0, () => ({ do: 'kubectl', method: 'DELETE', path: `${group}/namespaces/atrium-system/sessions` })],
    ]);
  }
}
