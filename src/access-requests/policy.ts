/** AccessPolicies: their answers, and their cached part. Administrators write them with kubectl. */
import { isReservedName } from '@atrium/kubernetes/impersonation.ts';
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import type { ListProperties } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import { labelSelector as selector, selectorText } from '@atrium/objects/labels.ts';
import { conditions, objectMeta } from '@atrium/objects/object-schemas.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import { type StandardRow, standardRow } from '../collection/standard-row.ts';

export const accessPolicyResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'accesspolicies' };
export const accessPolicyKind: ResourceKind = { type: accessPolicyResource, kind: 'AccessPolicy' };
export const accessApiVersion = `${accessPolicyResource.group}/${accessPolicyResource.version}`;

const subject = z.object({ kind: z.enum(['User', 'Group']), name: z.string() });
const spec = z.object({
  displayName: z.string().optional().describe('Display name.'),
  description: z.string().optional().describe('Purpose of the policy.'),
  subjects: z.array(subject).optional().describe('Users and groups who may ask. Only for callers who may get the policy.'),
  roleRefs: z.array(z.string()).describe('ClusterRoles that can be requested.'),
  scope: z
    .object({
      cluster: z.literal(true).optional().describe('The whole platform, and any namespaces.'),
      namespaces: z
        .object({
          names: z.array(z.string()).optional(),
          selector: selector.optional().describe('Only for callers who may get the policy.'),
        })
        .optional(),
    })
    .describe('Places for which roles can be requested.'),
  maxSeconds: z.int().describe('Longest access, in seconds.'),
  approvals: z.int().describe('Number of approvers who must approve.'),
  approvers: z.array(subject).optional().describe('Users and groups who decide. Only for callers who may get the policy.'),
  requireReason: z.boolean().optional(),
  ticketPattern: z.string().optional().describe('Pattern (RE2) for the whole ticket.'),
  requireStepUp: z.boolean().optional().describe('Requester and approvers need a recent login.'),
  breakGlass: z.boolean().optional().describe('Subjects may also get a role at once, for an hour at most, without an approval.'),
});

const status = z.object({ observedGeneration: z.int().optional(), conditions: conditions.optional() });

export const accessPolicySchema = z
  .object({
    apiVersion: z.literal(accessApiVersion),
    kind: z.literal('AccessPolicy'),
    metadata: objectMeta,
    spec,
    status: status.optional(),
  })
  .meta({
    id: 'AccessPolicy',
    examples: [
      {
        apiVersion: accessApiVersion,
        kind: 'AccessPolicy',
        metadata: {
          name: 'shop-debug',
          uid: '7d3a1f60-52c1-4c5e-9a0e-3b0f6a2f5d11',
          resourceVersion: '52140',
          generation: 1,
          creationTimestamp: '2026-03-01T11:00:00Z',
        },
        spec: {
          displayName: 'Debug the shop',
          roleRefs: ['edit'],
          scope: { namespaces: { names: ['shop'] } },
          maxSeconds: 14400,
          approvals: 1,
          requireReason: true,
        },
      },
    ],
  });

const storedPolicy = z.object({ spec });
type PolicySpec = z.output<typeof spec>;

/** A user or group as Kubernetes sees it. */
export interface PolicySubject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

/** Label selector of a policy, or its namespaces by name, or everything. */
type PolicyScope =
  | { readonly kind: 'cluster' }
  | { readonly kind: 'names'; readonly names: ReadonlySet<string> }
  | { readonly kind: 'selector'; readonly labelSelector: string };

/** The cached part of an AccessPolicy. */
export interface PolicyRow extends StandardRow {
  readonly generation: number;
  readonly subjects: readonly PolicySubject[];
  readonly approvers: readonly PolicySubject[];
  readonly roleRefs: readonly string[];
  readonly scope: PolicyScope | undefined;
  readonly maxSeconds: number;
  readonly approvals: number;
  readonly requireReason: boolean;
  readonly requireStepUp: boolean;
  readonly breakGlass: boolean;
  readonly ticketPattern: string | undefined;
  readonly displayName: string;
  /** True once the controller has found and may bind the roles of this generation. */
  readonly isReady: boolean;
}

/** Returns the row of a policy. A policy that no definition of ours would accept fits no user. */
export function policyRow(object: KubernetesObject): PolicyRow {
  const { annotations: _annotations, ...metadata } = object.metadata;
  const { spec: read } = storedPolicy.safeParse(object).data ?? {};
  return {
    ...standardRow(accessPolicyKind, { ...object, metadata }),
    generation: metadata.generation ?? 0,
    subjects: read?.subjects ?? [],
    approvers: (read?.approvers ?? []).filter(({ name }) => !isReservedName(name)),
    roleRefs: read?.roleRefs ?? [],
    scope: scopeOf(read?.scope),
    maxSeconds: read?.maxSeconds ?? 0,
    approvals: read?.approvals ?? Number.POSITIVE_INFINITY,
    requireReason: read?.requireReason !== false,
    requireStepUp: read?.requireStepUp === true,
    breakGlass: read?.breakGlass === true,
    ticketPattern: read?.ticketPattern,
    displayName: folded(read?.displayName ?? ''),
    isReady: isReady(object),
  };
}

function isReady({ metadata, status: written }: KubernetesObject): boolean {
  const { observedGeneration, conditions: known = [] } = status.safeParse(written).data ?? {};
  return observedGeneration === metadata.generation && known.some(({ type, status: value }) => type === 'Ready' && value === 'True');
}

/** Returns the JSON of a policy for callers whom it lets ask, without subjects, approvers and selector. */
export function publicText(text: string): string {
  const { metadata = {}, spec: whole = {}, ...parts } = partsOf(JSON.parse(text));
  const { subjects: _subjects, approvers: _approvers, ...shown } = whole;
  const { cluster, namespaces } = storedPolicy.safeParse({ spec: whole }).data?.spec.scope ?? {};
  const covered = namespaces?.names === undefined ? {} : { names: namespaces.names };
  const scope = cluster === true ? { cluster } : { namespaces: covered };
  return JSON.stringify({ apiVersion: accessApiVersion, kind: 'AccessPolicy', metadata, spec: { ...shown, scope }, ...parts });
}

function scopeOf(read: PolicySpec['scope'] | undefined): PolicyScope | undefined {
  if (read?.cluster === true) return { kind: 'cluster' };
  const { names, selector: labels } = read?.namespaces ?? {};
  if (names !== undefined) return { kind: 'names', names: new Set(names) };
  const labelSelector = labels && selectorText(labels);
  return labelSelector ? { kind: 'selector', labelSelector } : undefined;
}

/** Properties that select, filter and sort policies. Subjects and approvers are none of them, as some callers may not see these. */
export const policyProperties: ListProperties<PolicyRow> = {
  searched: new Map<string, (row: PolicyRow) => string | readonly string[]>([
    ['name', (row) => row.name],
    ['displayName', (row) => row.displayName],
    ['roleRef', (row) => row.roleRefs.map((role) => folded(role))],
  ]),
  search: ['name', 'displayName', 'roleRef'],
  compared: new Map(),
  sorted: new Map<string, (row: PolicyRow) => string | number>([
    ['name', (row) => row.name],
    ['approvals', (row) => row.approvals],
    ['maxSeconds', (row) => row.maxSeconds],
  ]),
  selectable: new Map<string, (row: PolicyRow) => string>([['metadata.name', (row) => row.name]]),
  defaultSort: 'a,name',
};
