/**
 * ValidatingAdmissionPolicies with the features that an installation uses: expressions about the objects, the request and the caller's
 * permissions. Features that are not enforced are refused with 501 when a policy is written.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
 */
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { notImplemented, StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { Authorizer, policyEnvironment } from './admission-expressions.ts';
import { celValue } from './cel.ts';
import { compiledOnce } from './compiled.ts';
import type { KubernetesObject, StoredObject } from './objects.ts';
import type { Backend, ResourceType } from './resources.ts';
import type { UserInfo } from './tokens.ts';

const group = 'admissionregistration.k8s.io';
const codes = { Forbidden: 403, Invalid: 422, Unauthorized: 401, RequestEntityTooLarge: 413 } as const;

const rule = z.object({
  apiGroups: z.array(z.string()),
  apiVersions: z.array(z.string()),
  resources: z.array(z.string()),
  operations: z.array(z.enum(['*', 'CREATE', 'UPDATE', 'DELETE', 'CONNECT'])),
  scope: z.string().optional(),
  resourceNames: z.array(z.string()).default([]),
});

const nothing = z.object({}).strict().optional();

/** Features that are enforced. The schema refuses the other features of a policy. */
const policySchema = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), resourceVersion: z.string() }),
  spec: z.strictObject({
    failurePolicy: z.enum(['Fail', 'Ignore']).default('Fail'),
    matchConstraints: z.strictObject({
      resourceRules: z.array(rule),
      matchPolicy: z.enum(['Exact', 'Equivalent']).optional(),
      namespaceSelector: nothing,
      objectSelector: nothing,
    }),
    matchConditions: z.array(z.object({ name: z.string(), expression: z.string() })).default([]),
    variables: z.array(z.object({ name: z.string(), expression: z.string() })).default([]),
    validations: z.array(
      z.strictObject({
        expression: z.string(),
        message: z.string().optional(),
        messageExpression: z.string().optional(),
        reason: z.enum(['Forbidden', 'Invalid', 'Unauthorized', 'RequestEntityTooLarge']).default('Invalid'),
      }),
    ),
  }),
});
type Policy = z.infer<typeof policySchema>;

const bindingSchema = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.strictObject({ policyName: z.string(), validationActions: z.tuple([z.enum(['Deny', 'Warn'])]) }),
});

/** Write that has passed all other checks. */
export interface Admission {
  type: ResourceType;
  operation: 'CREATE' | 'UPDATE' | 'DELETE';
  subresource?: string | undefined;
  object: StoredObject | undefined;
  old: StoredObject | undefined;
  user: UserInfo;
  isDryRun: boolean;
  warn(text: string): void;
}

type Program = (context: Record<string, unknown>) => unknown;

interface Compiled extends Policy {
  conditions: Program[];
  named: [string, Program][];
  checks: { test: Program; message: Program | undefined; definition: Policy['spec']['validations'][number] }[];
}

/** Caches of compiled policies and parsed bindings. Stored objects never change. */
const compiled = new WeakMap<StoredObject, Compiled>();
const parsedBindings = new WeakMap<StoredObject, z.infer<typeof bindingSchema>>();

const checkOf = compiledOnce((expression) => policyEnvironment.check(expression));
const program = compiledOnce((expression): Program => policyEnvironment.parse(expression));

/** @throws StatusError 501 for features that are not enforced here */
export function validatePolicy(object: KubernetesObject): FieldError[] {
  const parsed = policySchema.safeParse(object);
  if (!parsed.success) throw notImplemented(`a ValidatingAdmissionPolicy with ${pathsOf(parsed.error)}`);
  return expressionsOf(parsed.data).flatMap(({ field, expression }) => {
    const { valid, error } = checkOf(expression);
    return valid ? [] : [invalidValue(field, expression, error?.summary ?? 'does not compile')];
  });
}

/** @throws StatusError 501 for features that are not enforced here */
export function validatePolicyBinding(object: KubernetesObject): FieldError[] {
  const parsed = bindingSchema.safeParse(object);
  if (!parsed.success) throw notImplemented(`a ValidatingAdmissionPolicyBinding with ${pathsOf(parsed.error)}`);
  return [];
}

const pathsOf = ({ issues }: z.ZodError) =>
  issues.map((issue) => [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys : [])].join('.')).join(', ');

function expressionsOf({ spec }: Policy): { field: string; expression: string }[] {
  const all = (name: 'matchConditions' | 'variables' | 'validations') =>
    spec[name].map(({ expression }, index) => ({ field: `spec.${name}[${index}].expression`, expression }));
  const messages = spec.validations.flatMap(({ messageExpression }, index) =>
    messageExpression === undefined ? [] : [{ field: `spec.validations[${index}].messageExpression`, expression: messageExpression }],
  );
  return [...all('matchConditions'), ...all('variables'), ...all('validations'), ...messages];
}

function compile(object: StoredObject): Compiled {
  const known = compiled.get(object);
  if (known !== undefined) return known;
  const policy = policySchema.parse(object);
  const { matchConditions, variables, validations } = policy.spec;
  const made = {
    ...policy,
    conditions: matchConditions.map(({ expression }) => program(expression)),
    named: variables.map(({ name, expression }): [string, Program] => [name, program(expression)]),
    checks: validations.map((definition) => ({
      definition,
      test: program(definition.expression),
      message: definition.messageExpression === undefined ? undefined : program(definition.messageExpression),
    })),
  };
  compiled.set(object, made);
  return made;
}

function parseBinding(object: StoredObject): z.infer<typeof bindingSchema> {
  const parsed = parsedBindings.get(object) ?? bindingSchema.parse(object);
  parsedBindings.set(object, parsed);
  return parsed;
}

/** @throws StatusError of the API server for a write that a policy refuses */
export function admitByPolicies(backend: Backend, admission: Admission): void {
  const list = (resource: string) => backend.store.list(`${group}/${resource}`) ?? [];
  if (admission.type.group === group) return;
  for (const binding of list('validatingadmissionpolicybindings')) {
    const { metadata, spec } = parseBinding(binding);
    const object = list('validatingadmissionpolicies').find((policy) => policy.metadata.name === spec.policyName);
    if (object === undefined) continue;
    const policy = compile(object);
    if (!policy.spec.matchConstraints.resourceRules.some((one) => matches(one, admission))) continue;
    const refusal = refusalBy(policy, contextOf(backend, policy, admission));
    if (refusal === undefined) continue;
    const names = { policy: policy.metadata.name, binding: metadata.name };
    if (spec.validationActions[0] === 'Deny') throw denied(admission, { ...refusal, ...names });
    admission.warn(`Validation failed for ValidatingAdmissionPolicy '${names.policy}' with binding '${names.binding}': ${refusal.message}`);
  }
}

const holds = (given: readonly string[], value: string) => given.includes('*') || given.includes(value);

function matches({ apiGroups, apiVersions, resources, operations, resourceNames }: z.infer<typeof rule>, admission: Admission): boolean {
  const { type, operation, subresource, object, old } = admission;
  const resource = subresource ? `${type.resource}/${subresource}` : type.resource;
  const isNamed = resourceNames.length === 0 || resourceNames.includes((object ?? old)?.metadata.name ?? '');
  return (
    holds(apiGroups, type.group) &&
    holds(apiVersions, type.version) &&
    holds(operations, operation) &&
    holds(resources, resource) &&
    isNamed
  );
}

function contextOf(backend: Backend, policy: Compiled, admission: Admission): Record<string, unknown> {
  const { type, operation, subresource = '', object, old, user, isDryRun } = admission;
  const { name, namespace = '' } = (object ?? old)?.metadata ?? {};
  const variables = {};
  const context = {
    object: celValue(object),
    oldObject: celValue(old),
    request: celValue({
      ...{ operation, name, namespace, subResource: subresource, dryRun: isDryRun },
      userInfo: user,
      resource: { group: type.group, version: type.version, resource: type.resource },
      kind: { group: type.group, version: type.version, kind: type.kind },
    }),
    authorizer: new Authorizer(user, (asked, access) => backend.rbac.authorize(asked, access).allowed),
    variables,
  };
  for (const [key, program] of policy.named) Object.defineProperty(variables, key, { enumerable: true, get: once(() => program(context)) });
  return context;
}

/** Computes a value at first use. */
function once(compute: () => unknown): () => unknown {
  let known: { value: unknown } | undefined;
  return () => {
    known ??= { value: compute() };
    return known.value;
  };
}

type Refusal = { message: string; reason: keyof typeof codes };

/** Returns the refusal of a write. An expression that fails to evaluate refuses the write unless the failure policy is `Ignore`. */
function refusalBy({ conditions, checks, spec }: Compiled, context: Record<string, unknown>): Refusal | undefined {
  let at = '';
  try {
    for (const condition of conditions) if (condition(context) !== true) return undefined;
    for (const { test, message, definition } of checks) {
      at = definition.expression;
      if (test(context) === true) continue;
      const said = message === undefined ? undefined : String(message(context));
      return { message: said ?? definition.message ?? `failed expression: ${definition.expression.trim()}`, reason: definition.reason };
    }
    return undefined;
  } catch (error) {
    if (spec.failurePolicy === 'Ignore') return undefined;
    const why = error instanceof Error ? error.message : String(error);
    return { message: `expression '${at}' resulted in error: ${why}`, reason: 'Invalid' };
  }
}

function denied(
  { type, object, old }: Admission,
  { policy, binding, message, reason }: Refusal & { policy: string; binding: string },
): StatusError {
  const { name = '' } = (object ?? old)?.metadata ?? {};
  const said = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${message}`;
  const subject = type.group ? `${type.resource}.${type.group}` : type.resource;
  return new StatusError(codes[reason], reason, `${subject} "${name}" is forbidden: ${said}`, {
    details: { name, ...(type.group && { group: type.group }), kind: type.resource, causes: [{ message: said }] },
  });
}
