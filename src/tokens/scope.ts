/** Scopes of access tokens: the part of the owner's rights that a token has. They narrow, and never widen. */
import type { TokenScope, ViewedAccess } from '@atrium/http/caller.ts';
import { within } from '@atrium/http/client-address.ts';
import { discoveryPaths } from '@atrium/http/scope.ts';
import { runningSubresources } from '@atrium/kubernetes/opened-connection.ts';
import { policyRules, ruleAllows } from '@atrium/kubernetes/rbac/rules.ts';
import { z } from 'zod';
import { addressOrRange } from '../config/formats.ts';

const few = 20;
const words = (what: string, atLeast = 0) =>
  z
    .array(
      z
        .string()
        .max(253)
        .regex(/^[-\w.*/:]*$/, `must be ${what}`),
    )
    .min(atLeast, 'must not be empty')
    .max(few);

const rule = z.strictObject({
  verbs: words('a verb', 1),
  apiGroups: words('an API group, `""` for the core group').exactOptional(),
  resources: words('a resource, or `resource/subresource`').exactOptional(),
  resourceNames: words('the name of an object').exactOptional(),
  nonResourceURLs: words('a path').exactOptional(),
});

const members = {
  rules: z
    .array(rule)
    .min(1, 'must not be empty')
    .max(few)
    .exactOptional()
    .describe('Rules as in a ClusterRole. Default: all that the owner may do.'),
  namespaces: words('a namespace', 1)
    .max(100)
    .exactOptional()
    .describe('Namespaces of the objects. No object outside of a namespace is then in the scope, apart from these namespaces themselves.'),
  operations: words('an operation id', 1)
    .exactOptional()
    .describe('Ids of further operations of the service. Without `rules`, the token is for these alone.'),
  networks: z
    .array(addressOrRange())
    .min(1, 'must not be empty')
    .max(few)
    .exactOptional()
    .describe('Addresses and CIDR ranges of clients.'),
};

export const tokenScope = z
  .strictObject(members)
  .refine((scope) => Object.keys(scope).length > 0, 'must have rules, namespaces, operations or networks')
  .describe('Part of the rights of the owner that the token has. The API server itself refuses a token with a scope.');

/** Stored scope. A member of a later release makes the token invalid. */
export const storedScope = z.strictObject(members);

export type GivenScope = z.output<typeof storedScope>;

/** Returns a scope whose members are in a fixed order. */
export const canonicalScope = ({ rules, namespaces, operations, networks }: GivenScope): GivenScope =>
  JSON.parse(
    JSON.stringify({
      rules: rules?.map(({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }) => ({
        ...{ verbs, apiGroups, resources, resourceNames, nonResourceURLs },
      })),
      ...{ namespaces, operations, networks },
    }),
  );

/** Scope of a token, which doors compare with requests. */
export class AccessTokenScope implements TokenScope {
  readonly #given: GivenScope;
  readonly #rules: ReturnType<typeof policyRules> | undefined;
  readonly #isInNetworks: ReturnType<typeof within> | undefined;

  constructor(given: GivenScope) {
    this.#given = given;
    this.#rules = given.rules && policyRules(given.rules);
    this.#isInNetworks = given.networks && within(given.networks);
  }

  /** Reports whether a client may use the token. */
  isFrom(address: string): boolean {
    return this.#isInNetworks?.(address) ?? true;
  }

  opens({ id, usesKubernetes }: { id: string; usesKubernetes: boolean }): boolean {
    const { operations, rules } = this.#given;
    return operations?.includes(id) === true || (usesKubernetes && (operations === undefined || rules !== undefined));
  }

  permits(access: ViewedAccess): boolean {
    if ('path' in access) return discoveryPaths.test(access.path) ? access.verb === 'get' : this.#permitsPath(access);
    const { group, resource, namespace = '', subresource = '', name = '' } = access;
    if (access.verb === 'create' && group === 'authentication.k8s.io' && resource === 'selfsubjectreviews') return true;
    if (this.#given.namespaces?.includes(namespace) === false) return false;
    const verb = runningSubresources.includes(subresource) ? 'create' : access.verb;
    return this.#rules?.some((each) => ruleAllows(each, { verb, group, resource, subresource, namespace, name })) ?? true;
  }

  #permitsPath(access: { verb: string; path: string }): boolean {
    return this.#rules === undefined ? this.#given.namespaces === undefined : this.#rules.some((each) => ruleAllows(each, access));
  }
}
