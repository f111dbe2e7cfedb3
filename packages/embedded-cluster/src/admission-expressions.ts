/**
 * What an expression of an admission policy sees: the objects as they are, and an authorizer that answers for the caller.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
 */
import { Environment } from '@marcbachmann/cel-js';
import type { AccessAttributes } from './rbac.ts';

type May = (access: AccessAttributes) => boolean;

type Attributes = Omit<AccessAttributes, 'verb'>;

/** `authorizer`, with what was said so far. */
export class Authorizer {
  readonly may: May;
  readonly attributes: Attributes;

  constructor(may: May, attributes: Attributes = {}) {
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

const added = (given: Authorizer, attributes: Partial<AccessAttributes>) =>
  new ResourceCheck(given.may, { ...given.attributes, ...attributes });

/** Where the expressions of a policy are read: `request`, the objects and the policy's own variables are looked into as they come. */
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
  .registerFunction('Authorizer.group(string): GroupCheck', ({ may }: Authorizer, group: string) => new GroupCheck(may, { group }))
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
    ({ may, attributes }: ResourceCheck, verb: string) => new Decision(may({ version: '*', ...attributes, verb })),
  )
  .registerFunction('Decision.allowed(): bool', ({ isAllowed }: Decision) => isAllowed);
