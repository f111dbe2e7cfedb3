import type { Manifest } from '../../support/cluster-admin.ts';

/** A resource with the standard operations, and inputs that its rules accept and refuse. */
export interface StandardResourceCase {
  readonly kind: string;
  readonly plural: string;
  readonly path: string;
  /** A valid spec. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** Members of a spec that is refused, and the field of the cause. */
  readonly refused: { readonly spec: Readonly<Record<string, unknown>>; readonly field: string };
  /** A member of the spec with its next value. Undefined if objects cannot be changed. */
  readonly change?: { readonly member: string; readonly value: unknown };
}

/** All resources with the standard operations. A new resource adds itself. */
export const standardResources: readonly StandardResourceCase[] = [
  {
    kind: 'Group',
    plural: 'groups',
    path: '/auth/v1/groups',
    spec: { displayName: 'On call' },
    refused: { spec: { displayName: 'x'.repeat(129) }, field: 'spec.displayName' },
    change: { member: 'displayName', value: 'On duty' },
  },
  {
    kind: 'UserBinding',
    plural: 'userbindings',
    path: '/auth/v2/userbindings',
    spec: { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'platform' },
    refused: { spec: { scope: 'planet' }, field: 'spec.scope' },
  },
];

/** Returns an object as `kubectl apply` writes it. */
export const aResource = ({ kind, spec }: StandardResourceCase, name: string): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind,
  metadata: { name },
  spec,
});
