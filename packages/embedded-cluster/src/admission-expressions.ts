/**
 * Environment of an expression of an admission policy: the objects unchanged, and an authorizer that answers for the caller.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
 */
import { Environment } from '@marcbachmann/cel-js';
import type { AccessAttributes } from './rbac.ts';
import type { UserInfo } from './tokens.ts';

type May = (user: UserInfo, access: AccessAttributes) => boolean;

type Attributes = Omit<AccessAttributes, 'verb'>;

/** `authorizer`, with the attributes of the calls so far. */
export class Authorizer {
  readonly user: UserInfo;
  readonly may: May;
  readonly attributes: Attributes;

  constructor(user: UserInfo, may: May, attributes: Attributes = {}) {
    this.user = user;
    this.may = may;
    this.attributes = attributes;
  }
}

/** `authorizer.group(…)` */
class GroupCheck extends Authorizer {}
/** `authorizer.group(…).resource(…)`, to which a name, a namespace and a subresource may be added. */
class ResourceCheck extends Authorizer {}
/** `….check(…)` */
class Decision {
  readonly isAllowed: boolean;

  constructor(isAllowed: boolean) {
    this.isAllowed = isAllowed;
  }
}

const serviceAccount = (namespace: string, name: string): UserInfo => ({
  username: `system:serviceaccount:${namespace}:${name}`,
  uid: '',
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
});

const added = (given: Authorizer, attributes: Partial<AccessAttributes>) =>
  new ResourceCheck(given.user, given.may, { ...given.attributes, ...attributes });

/**
 * Environment in which the expressions of a policy are parsed. `request`, the objects and the variables of the policy are dynamically
 * typed.
 */
export const policyEnvironment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
  .registerType('Authorizer', { ctor: Authorizer, fields: {} })
  .registerType('GroupCheck', { ctor: GroupCheck, fields: {} })
  .registerType('ResourceCheck', { ctor: ResourceCheck, fields: {} })
  .registerType('Decision', { ctor: Decision, fields: {} })
  .registerVariable('object', 'dyn')
  .registerVariable('oldObject', 'dyn')
  .registerVariable('request', 'dyn')
  .registerVariable('variables', 'dyn')
  .registerVariable('authorizer', 'Authorizer')
  .registerFunction(
    'Authorizer.serviceAccount(string, string): Authorizer',
    ({ may }: Authorizer, namespace: string, name: string) => new Authorizer(serviceAccount(namespace, name), may),
  )
  .registerFunction(
    'Authorizer.group(string): GroupCheck',
    ({ user, may }: Authorizer, group: string) => new GroupCheck(user, may, { group }),
  )
  .registerFunction('GroupCheck.resource(string): ResourceCheck', (given: GroupCheck, resource: string) => added(given, { resource }))
  .registerFunction('ResourceCheck.subresource(string): ResourceCheck', (given: ResourceCheck, subresource: string) =>
    added(given, { subresource }),
  )
  .registerFunction('ResourceCheck.namespace(string): ResourceCheck', (given: ResourceCheck, namespace: string) =>
    added(given, { namespace }),
  )
  .registerFunction('ResourceCheck.name(string): ResourceCheck', (given: ResourceCheck, name: string) => added(given, { name }))
  .registerFunction(
    'ResourceCheck.check(string): Decision',
    ({ user, may, attributes }: ResourceCheck, verb: string) => new Decision(may(user, { version: '*', ...attributes, verb })),
  )
  .registerFunction('Decision.allowed(): bool', ({ isAllowed }: Decision) => isAllowed);
